"""What a task has beside its workspace while a trial lasts: the mock web (web, site), its
MCP servers (mcp) and its world (world)."""

#: Code of the note that holds what a service was asked.
SERVICE_ASKED = "service_asked"
