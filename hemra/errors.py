"""What the product tells a user when it cannot do its job.

    HemraError (exit code 1)
    |- UsageError        2   bad flags, bad configuration, nothing matched
    |- DatasetChanged    2   a pinned task is not on disk as it was pinned
    |- NotFound          5   no such run, trial, task, dataset or harness
    |- GateMissed       10   `--fail-under` was not reached
    `- Interrupted     130   a person stopped it; it can be resumed

The message is one line that names the thing and the remedy; the exit code belongs to the class.
"""

from __future__ import annotations


class HemraError(Exception):
    """Base of every error that is shown to the user as one line."""

    exit_code = 1


class UsageError(HemraError):
    """The command line, a file given to it, or the selection cannot be used."""

    exit_code = 2


class DatasetChanged(HemraError):
    """The content of a pinned task differs from what was pinned."""

    exit_code = 2


class NotFound(HemraError):
    """What was named does not exist."""

    exit_code = 5


class GateMissed(HemraError):
    """The run finished, but below the score that was asked for."""

    exit_code = 10


class Interrupted(HemraError):
    """Stopped by a person; everything recorded so far is kept."""

    exit_code = 130


def combined(problems: list[HemraError]) -> HemraError:
    """One error that names every problem; alone, a problem is told as it is."""
    if len(problems) == 1:
        return problems[0]
    lines = "".join(f"\n  - {problem}" for problem in problems)
    return UsageError(f"{len(problems)} problems keep this run from starting:{lines}")
