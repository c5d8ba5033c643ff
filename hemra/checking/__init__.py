"""Runs a harness once against a model that is a script, and tells what it did: files, calls, usage, outside traffic."""
