"""Loads every module of recipes, so that each enters its own into the book."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path


def load() -> None:
    """Import the modules of this package whose names begin as a category's does (`t01_…`)."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name.startswith("t"):
            importlib.import_module(f"{__package__}.{module.name}")
