"""One command in namespaces of its own, where bubblewrap works: for code that is not trusted and not a trial's.

A verifier may run what a harness left in the workspace, or read what that left links to. In here it sees the
system read-only, its own folder and the workspace; it reaches no network and no other process.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from hemra.sandboxes import needs
from hemra.sandboxes.bwrap_check import CLOSED, why_nested, why_not
from hemra.sandboxes.mounts import View

#: Memory that it may fill by /tmp. Bytes.
TEMPORARY_BYTES = 64 << 20


def enclosed(
    command: Sequence[str],
    *,
    writable: Sequence[Path],
    readable: Sequence[Path],
    hidden: Sequence[Path],
    cwd: Path,
) -> list[str] | None:
    """The command line that runs `command` in there; None where that cannot be done.

    A signal that ends the command is told as exit code 128 + signal. Descriptors are handed down.
    """
    program = shutil.which("bwrap")
    if program is None or why_not() is not None:
        return None
    shown = [*needs.of_interpreter(), *(path for path in readable if not needs.in_system(path))]
    own = sorted({Path(os.path.abspath(folder)) for folder in writable}, key=lambda folder: len(folder.parts))
    view = View()
    view.system()
    view.temporary("/tmp", TEMPORARY_BYTES)
    view.show(shown, [*hidden, Path.home()])
    for folder in own:
        if folder.is_dir():
            view.open(folder, str(folder))
    view.close()
    # As process 1 it cannot be ended or traced from inside, and nothing that can stands beside it.
    namespaces = ("--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1", "--new-session")
    closed = CLOSED if why_nested() is None else ()
    return [
        program,
        *namespaces,
        *closed,
        "--cap-drop",
        "ALL",
        *view.arguments,
        "--chdir",
        str(cwd),
        "--",
        *command,
    ]
