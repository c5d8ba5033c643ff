"""What a task has beside its workspace while a trial lasts: the mock web (web, site) and its world (world)."""
