"""What every event schema has: a dotted past-tense type, a version, and typed fields.

A schema is a frozen msgspec Struct. Its fields are the keys of the event's `data`. A field that may
be unknown is `T | None` and is written as null; it is never left out and never 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import msgspec


class EventData(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all event payloads. `type` and `v` are fixed by the subclass."""

    type: ClassVar[str]
    v: ClassVar[int] = 1


S = TypeVar("S", bound=type[EventData])

#: (type, version) -> schema. The newest version of a type is the one that is written.
SCHEMAS: dict[tuple[str, int], type[EventData]] = {}

_NEWEST: dict[str, int] = {}

#: (type, old version) -> function that makes the data of the next version from it.
UPCASTS: dict[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}


def event(name: str, *, v: int = 1) -> Callable[[S], S]:
    """Register a schema under its event type and version."""

    def register(cls: S) -> S:
        if (name, v) in SCHEMAS:
            raise ValueError(f"event type {name} version {v} is defined twice")
        cls.type = name
        cls.v = v
        SCHEMAS[name, v] = cls
        _NEWEST[name] = max(v, _NEWEST.get(name, 0))
        return cls

    return register


def newest(name: str, unknown: int) -> int:
    """The newest version of event type `name` that this code knows; `unknown` for a type that it does not know."""
    found = _NEWEST.get(name)
    return unknown if found is None else found


def upcast(name: str, v: int, data: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Bring `data` of version `v` to the newest version this code knows; newer data stays as it is."""
    while (name, v) in UPCASTS:
        data = UPCASTS[name, v](data)
        v += 1
    return v, data
