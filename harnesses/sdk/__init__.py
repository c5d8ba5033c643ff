"""A single-file SDK for programs that speak the harness protocol."""
