"""Tests of the sandboxes that isolate: against real engines and namespaces."""
