"""What the trial used of the machine."""
