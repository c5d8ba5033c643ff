"""What verifiers of tasks have in common: reading an answer, the recorded calls, the workspace, and running code.

    from hemra_verifier import answer, failed, passed, showed, states

What few verifiers need is in modules of its own: `functions` judges functions that an agent wrote, `memory` and `todo`
read what those tools did.

The scoring process puts this package beside a verifier. Standard library only. Nothing here raises for what a
harness said or left behind: odd input reads as "not there".
"""

from typing import TYPE_CHECKING, Any

from .plaintext import as_text, plain
from .recorded import answer, calls, showed
from .values import denies, numbers, states
from .verdicts import failed, passed, skipped
from .workspace import read, text, tree

if TYPE_CHECKING:
    from .limited import Ran, run

__all__ = [
    "Ran",
    "answer",
    "as_text",
    "calls",
    "denies",
    "failed",
    "numbers",
    "passed",
    "plain",
    "read",
    "run",
    "showed",
    "skipped",
    "states",
    "text",
    "tree",
]


def __getattr__(name: str) -> Any:
    """`run` and `Ran` when they are asked for: what they need takes half of the time that all of this takes to import,
    and most verifiers run nothing."""
    if name not in ("Ran", "run"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import limited

    return getattr(limited, name)
