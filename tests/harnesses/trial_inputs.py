"""A trial's input as the engine would give it, for tests that start no trial."""

from __future__ import annotations

from typing import Any

from eventlog.schemas.runs import Limits
from harnesses.base import TrialInput


def trial_input(**changes: Any) -> TrialInput:
    """An ordinary trial, with some things changed."""
    plain: dict[str, Any] = {
        "run": "20261130-194512-abcdef",
        "trial": "0001",
        "task": "t01/echo",
        "instruction": "Say hello to Zoë ☕.",
        "workspace": "/scratch/workspace",
        "home": "/scratch/home",
        "harness_dir": "/scratch/harness",
        "seed": 7,
        "attempt": 2,
        "limits": Limits(wall_seconds=60.0),
    }
    return TrialInput(**(plain | changes))
