"""One harness a module: how to start it, how to read what it says; the harness protocol and its SDK."""
