"""Starting a stream's recorder and learning whether it came up.

The recorder says in one line on its standard output that it is ready, or why it is not; the end of that
pipe is the end of the process. So the starter waits for a fact and never for a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import eventlog
from eventlog import errors
from eventlog.store import Store

_LINE_MAX = 64 * 1024
#: Where programs, libraries and sockets are, the language, the time zone, and settings of our own and of tests.
_KEPT = re.compile(
    r"(PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|TZ|TMPDIR|(LC|XDG|LD|DYLD|PYTHON|HEMRA|FAKETIME|COVERAGE).*)$"
)
_SECRET = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)


def start_recorder(store: Store, stream: str, *, holder_pid: int, deadline: float) -> None:
    """Start `python -m eventlog.recorder` and return once it listens.

    It outlives a Ctrl-C in this terminal and ends by itself when no holder is alive. Raises what kept it
    from starting (StreamBusy, StreamNotFound, DamageError's text as LogError, …), RecorderUnavailable when
    it says nothing by `deadline` (monotonic seconds).
    """
    argv = [sys.executable, "-P", "-m", "eventlog.recorder", "--store", str(store.path), "--stream", stream,
            "--holder-pid", str(holder_pid)]  # fmt: skip
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            cwd="/",
            env=_environment(),
            start_new_session=True,
            bufsize=0,
        )
        # Somebody has to take the exit status when it ends, maybe days from now: no zombie, no polling.
        threading.Thread(target=process.wait, name="recorder-reaper", daemon=True).start()
        assert process.stdout is not None
        with process.stdout as pipe:
            said = _first_line(pipe.fileno(), deadline)
        if said is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            raise errors.RecorderUnavailable(
                f"the recorder of {stream} (process {process.pid}) did not come up in time"
            )
        _check_report(stream, said, complaints)


def _environment() -> dict[str, str]:
    """What the recorder needs of the caller's environment to find the same `eventlog` and the same sockets: it outlives
    its caller, and anybody of this user can read it, so that no key belongs there."""
    home = str(Path(eventlog.__file__).parent.parent)
    paths = [home, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    kept = {
        name: value for name, value in os.environ.items() if _KEPT.match(name) and not _SECRET.search(name)
    }
    return {**kept, "PYTHONPATH": os.pathsep.join(paths)}


def _first_line(fd: int, deadline: float) -> bytes | None:
    """What the recorder says before it closes its end; None when the deadline passed first."""
    said = b""
    while not said.endswith(b"\n") and len(said) < _LINE_MAX:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([fd], [], [], max(0.0, left))
        if not ready:
            return None
        piece = os.read(fd, 4096)
        if not piece:
            break
        said += piece
    return said


def _check_report(stream: str, said: bytes, complaints: Any) -> None:
    """Raise what the recorder reports, as the error class that it names."""
    try:
        report = json.loads(said)
    except ValueError:
        complaints.seek(0)
        text = complaints.read()[-2000:].decode("utf-8", "replace").strip()
        last = text.splitlines()[-1] if text else "it said nothing"
        raise errors.RecorderUnavailable(f"the recorder of {stream} did not start: {last}") from None
    if report.get("ready"):
        return
    known = getattr(errors, str(report.get("error")), errors.LogError)
    if known is errors.DamageError:
        raise errors.DamageError(Path(report["path"]), int(report["offset"]), str(report["cause"]))
    raise known(str(report.get("message")))
