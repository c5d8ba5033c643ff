"""The product: command line, engine, datasets, sandboxes, scoring, reports."""

__version__ = "0.1.0"
