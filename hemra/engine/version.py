"""Asks a harness for its version: a short program with a time limit whose first line is the answer."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from hemra.sandboxes.scratch import private_folder

SECONDS = 15.0
#: A version is a short line; more is never read.
_MOST_BYTES = 4096
_MOST_CHARS = 200
#: Seconds for what is still in the pipe after its end; longer only where something of it holds the pipe open.
_DRAIN_SECONDS = 1.0


@dataclass(frozen=True)
class Answer:
    """`version` is null when the program gave none; `problem` then says why in one line."""

    version: str | None
    problem: str | None = None


def ask_version(argv: Sequence[str], *, seconds: float | None = None) -> Answer:
    """Run `argv` in an empty folder with no input and give back the first line that it printed.

    Everything that it started is ended. A program that is missing, fails, says nothing or does not end
    in `seconds` (by default SECONDS) gives no version.
    """
    seconds = SECONDS if seconds is None else seconds
    shown = " ".join(argv)
    with private_folder("version") as folder:
        try:
            child = subprocess.Popen(
                list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                cwd=folder, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            text = getattr(error, "strerror", None) or error
            return Answer(None, f"`{shown}` cannot be started: {text}")
        output, timely = _first_bytes(child, seconds)
    line = next((line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()), "")
    if not timely:
        return Answer(None, f"`{shown}` did not end within {seconds:g} s and was ended")
    code = child.returncode
    if code > 0:
        return Answer(None, f"`{shown}` ended with exit code {code}: {line[:_MOST_CHARS] or 'no output'}")
    return Answer(line[:_MOST_CHARS], None) if line else Answer(None, f"`{shown}` printed nothing")


def _first_bytes(child: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bool]:
    """What it printed before it ended, said enough, or ran out of time; and whether it was in time.

    Its end counts, not the end of its output: whatever it started may hold that open.
    """
    assert child.stdout is not None
    pipe = child.stdout.fileno()
    output = bytearray()

    def take() -> None:
        while len(output) < _MOST_BYTES and (piece := os.read(pipe, _MOST_BYTES)):
            output.extend(piece)
        if len(output) >= _MOST_BYTES:
            _end_group(child)

    reader = threading.Thread(target=take, name="version", daemon=True)
    reader.start()
    try:
        child.wait(seconds)
        timely = True
    except subprocess.TimeoutExpired:
        timely = False
    _end_group(child)
    child.wait()
    reader.join(_DRAIN_SECONDS)
    if not reader.is_alive():
        child.stdout.close()
    return bytes(output), timely


def _end_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
