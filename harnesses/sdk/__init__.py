"""What programs that speak the harness protocol are given: `hemra_protocol`, a single-file SDK, and for the programs of
tasks `hemra_tools`."""
