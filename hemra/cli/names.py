"""Names of runs: what may be one, so that it can be typed in place of an id and means one run only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hemra.errors import UsageError

if TYPE_CHECKING:
    from eventlog.store import Store

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: What every command takes for something else.
_TAKEN = ("latest", "catalog")
#: A run id, or the beginning of one, which any command takes for the run.
_ID = re.compile(r"\d{1,8}|\d{8}-\d{0,6}|\d{8}-\d{6}-[a-z0-9]{0,6}")


def check_name(name: str) -> None:
    """Refuse (UsageError) a name that could not be used in place of a run's id."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--name {name!r}: a name has 1 to 64 letters (a to z), digits, dots, dashes and underscores, "
            "and begins with a letter or digit"
        )
    if name in _TAKEN:
        raise UsageError(f"--name {name}: {name!r} means something else to every command; choose another")
    if _ID.fullmatch(name):
        raise UsageError(f"--name {name}: it looks like a run's id or the beginning of one; choose another")


def check_unused(store: Store, name: str) -> None:
    """Refuse (UsageError) a name that a run of the store has."""
    from projections.query import runs_named

    taken = runs_named(store, name)
    if taken:
        raise UsageError(f"--name {name}: run {taken[0]} has this name; choose another")
