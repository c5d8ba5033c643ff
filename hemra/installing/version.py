"""Asks a harness for its version: a short program with a time limit whose first line on stdout is the answer."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hemra.sandboxes.environment import trial_environment
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
    """Run `argv` in an empty folder with no input and give back the first line that it printed: on stdout, and only
    where nothing came there on stderr, on which others complain before they answer.

    Its HOME is its own, as in a trial: several agents fill theirs even when they only say their version.

    Everything that it started is ended. A program that is missing, fails, says nothing or does not end
    in `seconds` (by default SECONDS) gives no version.
    """
    seconds = SECONDS if seconds is None else seconds
    shown = " ".join(argv)
    with private_folder("version") as folder:
        try:
            child = subprocess.Popen(
                list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                cwd=folder, env=_environment(folder), start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            text = getattr(error, "strerror", None) or error
            return Answer(None, f"`{shown}` cannot be started: {text}")
        (stdout, stderr), timely = _first_bytes(child, seconds)
    if not timely:
        return Answer(None, f"`{shown}` did not end within {seconds:g} s and was ended")
    code = child.returncode
    if code > 0:
        why = _first_line(stderr) or _first_line(stdout) or "no output"
        return Answer(None, f"`{shown}` ended with exit code {code}: {why}")
    line = _first_line(stdout) or _first_line(stderr)
    return Answer(line, None) if line else Answer(None, f"`{shown}` printed nothing")


def _environment(folder: Path) -> dict[str, str]:
    """The user's environment, but for what says where a program keeps its files."""
    home, tmp = folder / "home", folder / "tmp"
    for each in (home, tmp):
        each.mkdir()
    return dict(os.environ) | trial_environment(os.environ, home=home, tmp=tmp, workspace=folder)


def _first_line(output: bytes) -> str:
    lines = (line.strip() for line in output.decode("utf-8", "replace").splitlines())
    return next(filter(None, lines), "")[:_MOST_CHARS]


def _first_bytes(child: subprocess.Popen[bytes], seconds: float) -> tuple[list[bytes], bool]:
    """What it printed on stdout and on stderr before it ended, said enough, or ran out of time; and whether it was
    in time.

    Its end counts, not the end of its output: whatever it started may hold that open.
    """
    assert child.stdout is not None
    assert child.stderr is not None
    pipes = (child.stdout, child.stderr)
    outputs = [bytearray() for _ in pipes]

    def take(pipe: int, output: bytearray) -> None:
        while len(output) < _MOST_BYTES and (piece := os.read(pipe, _MOST_BYTES)):
            output.extend(piece)
        if len(output) >= _MOST_BYTES:
            _end_group(child)

    readers = [
        threading.Thread(target=take, args=(pipe.fileno(), output), name="version", daemon=True)
        for pipe, output in zip(pipes, outputs, strict=True)
    ]
    for reader in readers:
        reader.start()
    try:
        child.wait(seconds)
        timely = True
    except subprocess.TimeoutExpired:
        timely = False
    _end_group(child)
    child.wait()
    for reader, pipe in zip(readers, pipes, strict=True):
        reader.join(_DRAIN_SECONDS)
        if not reader.is_alive():
            pipe.close()
    return [bytes(output) for output in outputs], timely


def _end_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
