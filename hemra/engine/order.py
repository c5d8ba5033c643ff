"""The trials of a plan, in the order in which they are started.

Attempt first, then task, then harness: what changes while a run goes on (load, heat, a provider's
mood) meets all harnesses alike, and a run that is stopped early has compared what it has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from hemra.engine.ids import trial_id

#: Seeds stay below 2**48: exact in JSON readers that keep numbers as doubles.
SEED_BITS = 48


@dataclass(frozen=True)
class Slot:
    """One planned trial by indices into the plan's tasks and harnesses. `attempt` counts from 1."""

    trial: str
    position: int
    attempt: int
    task: int
    harness: int
    seed: int


def trial_seed(run_seed: int, task_id: str, attempt: int) -> int:
    """The seed of an attempt at a task: the same for every harness, so that all face the same values."""
    text = f"{run_seed}\0{task_id}\0{attempt}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest(), "big") >> (256 - SEED_BITS)


def slots(tasks: Sequence[str], harnesses: int, attempts: int, run_seed: int) -> list[Slot]:
    """Every trial of the plan in starting order. `tasks` are ids."""
    planned: list[Slot] = []
    for attempt in range(1, attempts + 1):
        for task, task_id in enumerate(tasks):
            seed = trial_seed(run_seed, task_id, attempt)
            for harness in range(harnesses):
                position = len(planned) + 1
                planned.append(Slot(trial_id(position), position, attempt, task, harness, seed))
    return planned
