"""Where a trial runs, and what that place enforces: `base` is the interface, `registry` opens one by kind."""
