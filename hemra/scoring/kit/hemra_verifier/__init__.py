"""What verifiers of tasks have in common: reading an answer, the recorded calls, the workspace, and running code.

    from hemra_verifier import answer, failed, passed, showed, states

The scoring process puts this package beside a verifier. Standard library only. Nothing here raises for what a
harness said or left behind: odd input reads as "not there".
"""

from .limited import Ran, run
from .plaintext import as_text, plain
from .recorded import answer, calls, showed
from .values import denies, numbers, states
from .verdicts import failed, passed, skipped
from .workspace import read, text, tree

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
