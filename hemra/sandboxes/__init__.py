"""Where a trial runs, and what that place enforces."""
