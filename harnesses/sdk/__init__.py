"""A single-file SDK, `hemra_protocol`, for programs that speak the harness protocol."""
