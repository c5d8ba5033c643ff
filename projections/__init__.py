"""The read side: events in, tables and figures out. Writes no event."""
