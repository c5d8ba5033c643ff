"""Sandboxes by kind. Other packages add theirs by the entry point group `hemra.sandboxes`."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from importlib.metadata import entry_points

from hemra.errors import UsageError
from hemra.sandboxes.base import Sandbox, SandboxSpec
from hemra.sandboxes.host import HostSandbox

#: kind -> what makes a sandbox of it from a spec.
SANDBOXES: dict[str, Callable[[SandboxSpec], Sandbox]] = {"host": HostSandbox}
ENTRY_POINTS = "hemra.sandboxes"


def sandbox_kinds() -> list[str]:
    """Every kind that can be asked for, the built-in ones first."""
    return [*SANDBOXES, *sorted({point.name for point in entry_points(group=ENTRY_POINTS)} - set(SANDBOXES))]


def open_sandbox(kind: str, spec: SandboxSpec) -> Sandbox:
    """A sandbox of that kind, not yet created. Raises UsageError when there is no such kind."""
    if kind in SANDBOXES:
        return SANDBOXES[kind](spec)
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == kind:
            made: Sandbox = point.load()(spec)
            return made
    kinds = sandbox_kinds()
    near = difflib.get_close_matches(kind, kinds, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(kinds)}"
    raise UsageError(f"no sandbox {kind!r}: {hint}")
