"""What a failure is called and which exit code it has. The one place that knows every error family."""

from __future__ import annotations

import os

from hemra.errors import HemraError, NotFound, UsageError


def exit_code_of(error: Exception) -> int:
    """The documented exit code for an error; 1 for whatever is not foreseen."""
    from eventlog.errors import BadFilter, NotABundle, StreamNotFound
    from harnesses.errors import HarnessFileError, HarnessNotFound
    from projections.errors import BadComparison, NoSuchHarness, RunNotFound

    if isinstance(error, HemraError):
        return error.exit_code
    if isinstance(error, StreamNotFound | RunNotFound | HarnessNotFound | NoSuchHarness):
        return NotFound.exit_code
    if isinstance(error, BadFilter | BadComparison | HarnessFileError | NotABundle):
        return UsageError.exit_code
    return HemraError.exit_code


def is_foreseen(error: Exception) -> bool:
    """Whether the message was written for the user, so that its type adds nothing."""
    from eventlog.errors import LogError
    from harnesses.errors import HarnessError
    from projections.errors import ProjectionError

    return isinstance(error, HemraError | LogError | HarnessError | ProjectionError)


def _remedy(error: Exception) -> str:
    """What helps against damage in a stream; the error itself knows the file and no command."""
    from eventlog.errors import DamageError

    if not isinstance(error, DamageError):
        return ""
    folder = error.path if error.path.parent.name == "log" else error.path.parent
    if folder.parent.name != "log":
        return ""
    return f"; `hemra log repair {folder.name}` copies what is left"


def line_of(error: Exception) -> str:
    """The one line (or the list of problems) that a user can act on."""
    if is_foreseen(error):
        return str(error) + _remedy(error)
    if isinstance(error, OSError) and error.errno is not None:
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{where}{error.strerror}"
    detail = str(error).strip().splitlines()
    return f"unexpected {type(error).__name__}: {detail[0] if detail else 'no detail'} (--debug shows where)"
