"""Sandboxes by name: `KIND` or `KIND:OPTION`. Other packages add kinds by the entry point group `hemra.sandboxes`.

A kind is a class of sandboxes; see `hemra.sandboxes.base.Sandbox`.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from hemra.errors import UsageError
from hemra.sandboxes.base import Sandbox, SandboxSpec, SandboxTraits

#: kind -> where what makes it is, loaded when it is asked for; and what it is, in one line.
BUILTIN = {
    "host": ("hemra.sandboxes.host:HostSandbox", "this machine itself: limits and clean-up, no isolation"),
    "bwrap": ("hemra.sandboxes.bwrap:BwrapSandbox", "namespaces made by bubblewrap: isolates, needs no root"),
    "docker": ("hemra.sandboxes.docker:DockerSandbox", "a container; docker:IMAGE names the image"),
}
ENTRY_POINTS = "hemra.sandboxes"
#: Asks for the strongest that works and needs no set-up.
AUTO = "auto"
_BY_DEFAULT = ("bwrap", "host")


def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS) if point.name not in BUILTIN}


def sandbox_kinds() -> list[str]:
    """Every kind that can be asked for, the built-in ones first."""
    return [*BUILTIN, *sorted(_points())]


def split(ref: str) -> tuple[str, str | None]:
    """The kind and the option of `KIND[:OPTION]`."""
    kind, colon, option = ref.partition(":")
    return kind, option if colon else None


def class_of(kind: str) -> type[Sandbox]:
    """The class of a kind. Raises UsageError when there is none, or when it cannot be loaded."""
    if kind in BUILTIN:
        module, _, name = BUILTIN[kind][0].partition(":")
        return cast(type[Sandbox], getattr(importlib.import_module(module), name))
    point = _points().get(kind)
    if point is None:
        kinds = sandbox_kinds()
        near = difflib.get_close_matches(kind, kinds, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(kinds)}"
        raise UsageError(f"no sandbox {kind!r}: {hint}")
    whose = f"sandbox {kind!r} ({point.value})"
    try:
        loaded = point.load()
    except Exception as error:  # somebody else's module may fail in any way
        raise UsageError(f"{whose} cannot be loaded: {error}") from error
    if not isinstance(getattr(loaded, "traits", None), SandboxTraits):
        raise UsageError(f"{whose} is none for this hemra: it has no `traits`, see docs/sandboxes.md")
    return cast(type[Sandbox], loaded)


def open_sandbox(ref: str, spec: SandboxSpec) -> Sandbox:
    """A sandbox of that kind, not yet created. Raises UsageError when there is no such kind."""
    kind, option = split(ref)
    return class_of(kind)(replace(spec, option=option))


def why_not(ref: str) -> str | None:
    """Why a sandbox cannot be used here, as its kind says; None when it can, or when the kind does not say.

    Raises UsageError when there is no such kind.
    """
    kind, option = split(ref)
    return class_of(kind).traits.why_not(option)


def choose(ref: str | None) -> tuple[str, str | None]:
    """The sandbox to use, and, where a weaker one had to be chosen, why. Null or `auto`: the first that works."""
    if ref not in (None, AUTO):
        return str(ref), None
    problems: list[str] = []
    for kind in _BY_DEFAULT:
        problem = why_not(kind)
        if problem is None:
            return kind, "; ".join(problems) or None
        problems.append(f"no {kind} sandbox: {problem}")
    return _BY_DEFAULT[-1], "; ".join(problems)


def reclaim(refs: Iterable[str], store: str) -> list[str]:
    """Remove what processes of ours that died left in sandboxes of these kinds. A line for each thing.

    Raises SandboxError naming what cannot be removed.
    """
    told: list[str] = []
    for kind in dict.fromkeys(split(ref)[0] for ref in refs):
        told += class_of(kind).traits.reclaim(store)
    return told
