"""Harnesses by what the user calls them, with the errors that a user is shown."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hemra.errors import NotFound, UsageError
from hemra.secrets import secret_values

if TYPE_CHECKING:
    from harnesses.base import Harness


def secrets_of(harness: Harness) -> dict[str, str]:
    """Values that a harness is given and that nobody may read in the record, by name."""
    file = getattr(harness, "file", None)  # built-in harnesses have none, and are given nothing
    return secret_values(file.env, os.environ) if file is not None else {}


def harness_of(ref: str) -> Harness:
    """A built-in harness or the one in a harness file. NotFound or UsageError."""
    from harnesses.errors import HarnessError, HarnessNotFound
    from harnesses.registry import load_harness

    try:
        return load_harness(ref)
    except HarnessNotFound as error:
        raise NotFound(str(error)) from error
    except HarnessError as error:
        raise UsageError(str(error)) from error
