"""Attempts to get out of a sandbox, in every sandbox that isolates: each fails, and the machine is as before."""
