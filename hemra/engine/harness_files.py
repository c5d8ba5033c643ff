"""Harnesses by what the user calls them, with the errors that a user is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hemra.errors import NotFound, UsageError

if TYPE_CHECKING:
    from harnesses.base import Harness


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


def installed_of(harness: Harness) -> dict[str, Any] | None:
    """What of a harness `hemra harness install` put there, as it is now; None for other programs. Raises HemraError
    where that cannot be told."""
    from harnesses.agent import AgentHarness

    if not isinstance(harness, AgentHarness) or harness.place is None:
        return None
    from hemra.installing.record import record

    return record(harness.recipe.name, harness.recipe.version)
