"""How the bundled tasks are done, a module a category: what the solver plays and the saboteur spoils."""
