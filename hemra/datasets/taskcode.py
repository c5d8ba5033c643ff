"""Running a task's own code (`prepare.py`, `verifier.py`) where it can do no harm to the product.

A fresh `python -I -S -B` under a launcher of its own, in a private folder that is removed afterwards, with
an almost empty environment, limits, and a pipe for the result that is not stdout. Whatever the code
does (prints, hangs, exits, forks, floods, kills its parent) ends in a `Ran` that says so; nothing it started
is left, and the launcher ends it all when this process dies.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hemra.errors import NotFound
from hemra.sandboxes.base import MARKER, ExecSpec
from hemra.sandboxes.enclosed import enclosed
from hemra.sandboxes.launched import Exited, Launched, Started, StartFailed
from hemra.sandboxes.leftovers import end_marked, end_orphans, marked
from hemra.sandboxes.pipes import ByteSource
from hemra.sandboxes.scratch import private_folder
from hemra.sandboxes.starter import HostStarter

CHILD = Path(__file__).with_name("taskcode_child.py")
#: Bytes of the result, and of everything printed, that are accepted.
MAX_RESULT = 1024 * 1024
MAX_PRINTED = 1024 * 1024
#: The code may not write a larger file, nor use more address space (bytes).
MAX_FILE = 256 * 1024 * 1024
MAX_MEMORY = 2 * 1024 * 1024 * 1024
_PRINTED_KEPT = 2000
#: A launcher that has not ended everything within this time is ended itself, and the rest without it.
_KILL_WAIT_S = 2.0
#: How long what was printed is still read when nothing is left that could print.
_DRAIN_S = 1.0
#: The process ends itself this many seconds after its time limit, should the product have died meanwhile.
_BACKSTOP_S = 10.0
#: Its private folder is `<PURPOSE>-<pid>/<random>` in the scratch folder, and so is its marker.
PURPOSE = "code"


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


@dataclass
class _Collector:
    """The end of what comes through pipes, and whether it was more than `limit` bytes."""

    limit: int
    data: bytearray = field(default_factory=bytearray)
    overflow: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, source: ByteSource) -> None:
        """Read until the pipe's end or until it is too much."""
        while not self.overflow.is_set() and (piece := await source.read()):
            self.data += piece
            if len(self.data) > self.limit:
                del self.data[: -self.limit]
                self.overflow.set()


async def run_task_code(
    source: bytes,
    target: str,
    workspace: Path,
    argument: Any,
    *,
    timeout_s: float,
    named: Mapping[str, Any] | None = None,
    beside: Mapping[str, bytes] | None = None,
    also: Sequence[Path] = (),
) -> Ran:
    """Call `target` ("file.py:function") of the Python code `source` as `function(workspace, argument)`.

    `argument`, and further arguments by name (`named`), are anything JSON can hold (bytes excepted). `beside`
    are modules that it may import, content by path. Neither the code nor the arguments can be read on disk once
    the function runs. `also` are more folders that it may look into. Never raises for what the code does;
    SandboxError or OSError when the process cannot be started.
    """
    ran = await _run_calls(source, target, [(workspace, argument)], timeout_s, named, beside, also)
    return ran if ran.error else _one(ran, ran.value[0])


async def run_task_code_often(
    source: bytes,
    target: str,
    calls: Sequence[tuple[Path, Any]],
    *,
    timeout_s: float,
    beside: Mapping[str, bytes] | None = None,
    also: Sequence[Path] = (),
) -> list[Ran]:
    """As `run_task_code`, for several (workspace, argument), one after the other in one process: for trying a
    task's code, where a process each would take too long. `timeout_s` is for all; what ends the process ends all.
    """
    ran = await _run_calls(source, target, calls, timeout_s, None, beside, also)
    return [ran] * len(calls) if ran.error else [_one(ran, outcome) for outcome in ran.value]


def _one(ran: Ran, outcome: Any) -> Ran:
    """One call's part of what a process gave."""
    value, error = _unpacked(outcome)
    return replace(ran, value=value, error=error, text=json.dumps(outcome))


async def _run_calls(
    source: bytes,
    target: str,
    calls: Sequence[tuple[Path, Any]],
    timeout_s: float,
    named: Mapping[str, Any] | None,
    beside: Mapping[str, bytes] | None,
    also: Sequence[Path] = (),
) -> Ran:
    filename, _, function = target.partition(":")
    with private_folder(PURPOSE) as folder:
        for name, content in {filename: source, **(beside or {})}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        job = {
            "file": str(folder / filename),
            "function": function,
            "calls": [(str(workspace.absolute()), argument) for workspace, argument in calls],
            "named": dict(named or {}),
            "modules": str(folder) if beside else None,
            "file_bytes": MAX_FILE,
            "memory_bytes": MAX_MEMORY,
            "backstop_s": timeout_s + _BACKSTOP_S,
        }
        (folder / "job.json").write_text(json.dumps(job), encoding="ascii")
        ran = await _run(folder, [*(workspace for workspace, _ in calls), *also], timeout_s)
        if ran.error is None and not (isinstance(ran.value, list) and len(ran.value) == len(calls)):
            return replace(ran, value=None, error="gave a result that is not of this process")
        return ran


async def _run(folder: Path, open_to: Sequence[Path], timeout_s: float) -> Ran:
    """The process, in namespaces of its own where that is possible: it may run what a harness left behind."""
    started = time.monotonic_ns()
    reading, writing = os.pipe()
    source = ByteSource(reading)
    try:
        environment = _environment(folder)
        argv = [sys.executable, "-I", "-S", "-B", "-X", "utf8", str(CHILD), "job.json", str(writing)]
        closed = enclosed(argv, writable=[folder, *open_to], readable=[CHILD], hidden=_hidden(), cwd=folder)
        spec = ExecSpec(argv=closed or argv, env=environment, cwd=str(folder), grace_seconds=0)
        try:
            program = await Launched.start(spec, starter=HostStarter(pass_fds=(writing,)))
        except StartFailed as error:
            raise OSError(str(error)) from error
        finally:
            os.close(writing)
        watch = _Watch(program, source, environment[MARKER], timeout_s, enclosed=closed is not None)
        return await watch.to_its_end(started)
    finally:
        source.close()


def _hidden() -> list[Path]:
    """In an installed package the bundled tasks lie where Python itself does."""
    from hemra.datasets.load import bundled_root

    try:
        return [bundled_root()]
    except NotFound:
        return []


def _environment(folder: Path) -> dict[str, str]:
    place = str(folder)
    token = f"{folder.parent.name}/{folder.name}"
    return {"PATH": os.defpath, "HOME": place, "TMPDIR": place, "LANG": "C.UTF-8", MARKER: token}


class _Watch:
    """One process of task code, from its start until nothing of it is left."""

    def __init__(
        self, program: Launched, source: ByteSource, token: str, timeout_s: float, *, enclosed: bool
    ) -> None:
        self._program = program
        self._token = token
        self._timeout_s = timeout_s
        self._enclosed = enclosed
        self._pid = 0
        self._result, self._printed = _Collector(MAX_RESULT), _Collector(MAX_PRINTED)
        self._reading = [
            asyncio.ensure_future(self._result.take(source)),
            *(asyncio.ensure_future(self._printed.take(each)) for each in program.outputs.values()),
        ]

    async def to_its_end(self, started: int) -> Ran:
        """Wait for its end, its time or its limit, then end what is left. `started` in monotonic ns."""
        ending = asyncio.ensure_future(self._status())
        try:
            stopped = await self._first(ending)
        finally:
            await self._end(ending)
        said = self._printed.data[-_PRINTED_KEPT:].decode("utf-8", "replace")
        text = self._result.data.decode("ascii", "replace")
        value, error = (None, stopped) if stopped else _outcome(text, ending.result())
        if self._program.failure is not None:
            error = f"could not be started: {self._program.failure}"
        return Ran(value, error, text, said, time.monotonic_ns() - started)

    async def _status(self) -> int | None:
        """Its wait status; None when the launcher is gone and nobody knows."""
        while (fact := await self._program.reported()) is not None:
            if isinstance(fact, Started):
                self._pid = fact.pid
            elif isinstance(fact, Exited):
                return _own_status(fact.status) if self._enclosed else fact.status
        return None

    async def _first(self, ending: asyncio.Task[int | None]) -> str | None:
        """Why it must be stopped before its own end, if it must."""
        waits: dict[asyncio.Future[Any], str | None] = {
            ending: None,
            asyncio.ensure_future(self._result.overflow.wait()): f"returned more than {MAX_RESULT} bytes",
            asyncio.ensure_future(self._printed.overflow.wait()): f"printed more than {MAX_PRINTED} bytes",
        }
        try:
            done, _ = await asyncio.wait(waits, timeout=self._timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                if task is not ending:
                    task.cancel()
        if not done:
            return f"did not finish within {self._timeout_s:g} s"
        return next((waits[task] for task in done if waits[task]), None)

    async def _end(self, ending: asyncio.Task[int | None]) -> None:
        """End whatever is left of it and what it started elsewhere; take what is still in the pipes."""
        program = self._program
        program.order(b"K")
        try:
            await asyncio.wait_for(program.gone(), _KILL_WAIT_S)
        except TimeoutError:
            program.kill_launcher()
        await program.gone()
        await asyncio.wait([ending])
        if (
            ending.result() is None and self._pid
        ):  # it killed its launcher: its children are ours, or nobody's
            await asyncio.to_thread(end_orphans, {self._pid})
        if any(marked(self._token.__eq__)):
            await asyncio.to_thread(end_marked, self._token.__eq__, seconds=_KILL_WAIT_S)
        await asyncio.wait(self._reading, timeout=_DRAIN_S)
        for task in self._reading:
            task.cancel()
        await asyncio.gather(*self._reading, return_exceptions=True)
        await program.close()


def _own_status(status: int) -> int:
    """The wait status of a command from that of what it was enclosed in."""
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0
    return code - 128 if code > 128 and code - 128 in signal.valid_signals() else status


def _outcome(text: str, status: int | None) -> tuple[Any, str | None]:
    """(value, None) from a whole result, else (None, what went wrong). `status` as by waitpid."""
    if status is None:
        return None, "ended the process that watched over it"
    if os.WIFSIGNALED(status):
        return None, f"was killed by signal {os.WTERMSIG(status)} before it gave a result"
    if not text:
        return None, f"exited with code {os.WEXITSTATUS(status)} without a result"
    try:
        outcome = json.loads(text)
    except ValueError:
        return None, "gave a result that is cut or garbled"
    return _unpacked(outcome)


def _unpacked(outcome: Any) -> tuple[Any, str | None]:
    """(value, None) of what a function returned, else (None, what it raised)."""
    if not isinstance(outcome, dict) or len(outcome.keys() & {"returned", "raised"}) != 1:
        return None, "gave a result that is not of this process"
    if "raised" in outcome:
        return None, f"raised {outcome['raised']} ({outcome.get('at')})"
    return outcome["returned"], None
