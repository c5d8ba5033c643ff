"""Limits of a trial: the task's own, overridden by the run's, checked, and what nobody enforces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Enforcement, Usage
from hemra.reports.numbers import limit_value
from hemra.sandboxes.base import HELD_AS

#: What the model gateway holds: it sees every call.
BUDGET = ("calls", "tokens", "input_tokens", "output_tokens", "cost_usd")
NAMES = Limits.__struct_fields__

#: Below this, no harness can start; it is surely a slip (seconds given as minutes, MB as bytes).
SMALLEST = {
    "memory_bytes": 16 << 20,
    "output_bytes": 1,
    "file_bytes": 1,
    "workspace_bytes": 1,
    "processes": 1,
    "cpus": 0.01,
}

#: Above this a limit is surely a slip as well, and past what the system can be told.
LARGEST = {
    "wall_seconds": 366 * 86400,
    "cpu_seconds": 366 * 86400,
    "memory_bytes": 1 << 50,
    "output_bytes": 1 << 50,
    "file_bytes": 1 << 50,
    "workspace_bytes": 1 << 50,
    "processes": 1 << 22,
    "cpus": 1 << 16,
    "turns": 1 << 53,
    "tokens": 1 << 53,
    "calls": 1 << 53,
    "input_tokens": 1 << 53,
    "output_tokens": 1 << 53,
    "cost_usd": 1 << 53,
}


def merge(task: Limits, run: Limits) -> Limits:
    """The task's limits with every limit that the run sets put over them."""
    given = {name: getattr(run, name) for name in NAMES if getattr(run, name) is not None}
    return msgspec.structs.replace(task, **given)


def problems(limits: Limits, *, whose: str) -> list[str]:
    """What is wrong with `limits`, one line each."""
    found = []
    for name in NAMES:
        value = getattr(limits, name)
        if value is None:
            continue
        if isinstance(value, float) and not math.isfinite(value):
            found.append(f"{whose}: limit {name} is {value}; leave it out for no limit")
        elif value <= 0:
            found.append(f"{whose}: limit {name} is {_short(name, value)}; a limit is more than 0")
        elif value < SMALLEST.get(name, 0):
            found.append(
                f"{whose}: limit {name} is {_short(name, value)}; with less than "
                f"{_short(name, SMALLEST[name])} nothing can start"
            )
        elif value > LARGEST[name]:
            found.append(
                f"{whose}: limit {name} is {_short(name, value)}, more than "
                f"{_short(name, LARGEST[name])}; leave it out for no limit"
            )
    return found


def _short(name: str, value: float) -> str:
    """A limit as it is told, also one that no float can be."""
    if abs(value) < 1e300:
        return limit_value(name, value)
    text = str(value)
    return f"{text[:12]}… ({len(text.lstrip('-'))} digits)"


def not_enforced(
    limits: Limits, enforcement: Mapping[str, Enforcement], harness_enforces: Iterable[str]
) -> list[str]:
    """Names of the limits that are set and that neither the sandbox nor the harness holds."""
    by_harness = set(harness_enforces)
    loose = []
    for name in NAMES:
        if getattr(limits, name) is None or name in by_harness:
            continue
        held = enforcement.get(HELD_AS.get(name, ""))
        if held is None or held.status == "not enforced":
            loose.append(name)
    return loose


def passed(limits: Limits, *, turns: int | None, usage: Usage | None) -> list[str]:
    """Flags for limits that only a harness can hold and that it passed by its own word. Null = not told."""
    found = []
    if limits.turns is not None and turns is not None and turns > limits.turns:
        found.append("over_turn_limit")
    told = [] if usage is None else [usage.input_tokens, usage.output_tokens]
    if limits.tokens is not None and sum(count or 0 for count in told) > limits.tokens:
        found.append("over_token_limit")
    return found
