"""Running a task's own code (`prepare.py`, `verifier.py`) where it can do no harm to the product.

A fresh `python -I -S -B` in a process group of its own, in a private folder that is removed afterwards, with
an almost empty environment, limits, and a pipe for the result that is not stdout. Whatever the code
does (prints, hangs, exits, forks, floods) ends in a `Ran` that says so; nothing it started is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHILD = Path(__file__).with_name("taskcode_child.py")
#: Bytes of the result, and of everything printed, that are accepted.
MAX_RESULT = 1024 * 1024
MAX_PRINTED = 1024 * 1024
#: The code may not write a larger file, nor use more address space (bytes).
MAX_FILE = 256 * 1024 * 1024
MAX_MEMORY = 2 * 1024 * 1024 * 1024
_PRINTED_KEPT = 2000
#: A process that cannot be killed within this time (stuck in the kernel) is not waited for any longer.
_KILL_WAIT_S = 2.0
#: The process ends itself this many seconds after its time limit, should the product have died meanwhile.
_BACKSTOP_S = 10.0
_TOKEN = "HEMRA_TASK_CODE"


@dataclass(frozen=True)
class Ran:
    """How the code ended. `error` is None exactly when `value` is what the function returned.

    `text` is the raw JSON of the result as it came, `printed` the end of what was printed (for people).
    """

    value: Any
    error: str | None
    text: str
    printed: str
    duration_ns: int


class _Collector:
    """Reads a pipe as bytes arrive, without ever waiting for its end (a forked process may keep it open)."""

    def __init__(self, limit: int) -> None:
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._limit = limit
        self.data = bytearray()
        self.overflow = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reader, self._read)

    def _read(self) -> bool:
        """Take one piece; False when nothing is there now."""
        try:
            piece = os.read(self._reader, 65536)
        except BlockingIOError:
            return False
        if not piece:
            self._loop.remove_reader(self._reader)
            return False
        self.data += piece
        if len(self.data) > self._limit:
            del self.data[: -self._limit]
            self.overflow.set()
        return True

    def close_writer(self) -> None:
        """Give up this side's end; the child has its own."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def finish(self) -> None:
        """Take what is still in the pipe, then close it."""
        self.close_writer()
        while not self.overflow.is_set() and self._read():
            pass
        self._loop.remove_reader(self._reader)
        os.close(self._reader)


async def run_task_code(
    source: bytes, target: str, workspace: Path, argument: Any, *, timeout_s: float
) -> Ran:
    """Call `target` ("file.py:function") of the Python code `source` as `function(workspace, argument)`.

    `argument` is anything JSON can hold (bytes excepted). Never raises for what the code does; OSError
    when the process cannot be started.
    """
    filename, _, function = target.partition(":")
    with tempfile.TemporaryDirectory(prefix="hemra-code-", ignore_cleanup_errors=True) as private:
        folder = Path(private)
        (folder / filename).write_bytes(source)
        job = {
            "file": str(folder / filename),
            "function": function,
            "workspace": str(workspace.absolute()),
            "argument": argument,
            "file_bytes": MAX_FILE,
            "memory_bytes": MAX_MEMORY,
            "backstop_s": timeout_s + _BACKSTOP_S,
        }
        (folder / "job.json").write_text(json.dumps(job), encoding="ascii")
        return await _run(folder, timeout_s)


async def _run(folder: Path, timeout_s: float) -> Ran:
    token = secrets.token_hex(16)
    started = time.monotonic_ns()
    result, printed = _Collector(MAX_RESULT), _Collector(MAX_PRINTED)
    process = None
    try:
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-I", "-S", "-B", "-X", "utf8", str(CHILD), "job.json", str(result.writer)],
            cwd=folder,
            env=_environment(folder, token),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=printed.writer,
            stderr=printed.writer,
            pass_fds=(result.writer,),
            start_new_session=True,
        )
        result.close_writer()
        printed.close_writer()
        stopped = await _until_end(process, result, printed, timeout_s)
    finally:
        if process is not None:
            await _end(process, token)
        result.finish()
        printed.finish()
    said = printed.data[-_PRINTED_KEPT:].decode("utf-8", "replace")
    text = result.data.decode("ascii", "replace")
    value, error = (None, stopped) if stopped else _outcome(text, process.returncode)
    return Ran(value, error, text, said, time.monotonic_ns() - started)


def _environment(folder: Path, token: str) -> dict[str, str]:
    place = str(folder)
    return {"PATH": os.defpath, "HOME": place, "TMPDIR": place, "LANG": "C.UTF-8", _TOKEN: token}


async def _until_end(
    process: asyncio.subprocess.Process, result: _Collector, printed: _Collector, timeout_s: float
) -> str | None:
    """Wait for the process; the reason, if it must be stopped before its own end."""
    waits = {
        asyncio.ensure_future(process.wait()): None,
        asyncio.ensure_future(result.overflow.wait()): f"returned more than {MAX_RESULT} bytes",
        asyncio.ensure_future(printed.overflow.wait()): f"printed more than {MAX_PRINTED} bytes",
    }
    try:
        done, _ = await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waits:
            task.cancel()
    if not done:
        return f"did not finish within {timeout_s:g} s"
    return next((waits[task] for task in done if waits[task]), None)


async def _end(process: asyncio.subprocess.Process, token: str) -> None:
    """Kill whatever is left of the process, its group, and what it started elsewhere; wait for its end."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    give_up = time.monotonic() + _KILL_WAIT_S
    while (left := _marked(token)) and time.monotonic() < give_up:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.002)  # a killed process is gone when the system gets to it; look again


def _marked(token: str) -> list[int]:
    """Processes that carry this run's token in their environment (Linux; elsewhere the group must do)."""
    mark, found = f"{_TOKEN}={token}".encode(), []
    with contextlib.suppress(FileNotFoundError), os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                with contextlib.suppress(OSError), open(f"/proc/{entry.name}/environ", "rb") as file:
                    if mark in file.read():
                        found.append(int(entry.name))
    return found


def _outcome(text: str, returncode: int | None) -> tuple[Any, str | None]:
    """(value, None) from a whole result, else (None, what went wrong)."""
    if returncode is not None and returncode < 0:
        return None, f"was killed by signal {-returncode} before it gave a result"
    if not text:
        return None, f"exited with code {returncode} without a result"
    try:
        outcome = json.loads(text)
    except ValueError:
        return None, "gave a result that is cut or garbled"
    if not isinstance(outcome, dict) or len(outcome.keys() & {"returned", "raised"}) != 1:
        return None, "gave a result that is not of this process"
    if "raised" in outcome:
        return None, f"raised {outcome['raised']} ({outcome.get('at')})"
    return outcome["returned"], None
