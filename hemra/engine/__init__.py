"""Plan, schedule, carry out and resume runs."""
