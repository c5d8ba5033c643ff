"""One prepared trial of a task outside a run: a program plays it, and its trace and workspace can be scored."""

from __future__ import annotations

import asyncio
import copy
import itertools
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from eventlog.envelope import Event
from harnesses.base import TrialInput
from harnesses.protocol import ProtocolInterpreter, solution_launch
from hemra.datasets.prepare import draw
from hemra.errors import HemraError
from hemra.sandboxes.base import ExecSpec, SandboxSpec
from hemra.sandboxes.host import HostSandbox
from hemra.sandboxes.scratch import scratch_parent
from hemra.scoring.trace import build_trace
from hemra.services.attendants import Attendants, Fill

if TYPE_CHECKING:
    from types import TracebackType

    from eventlog.schemas.base import EventData
    from eventlog.schemas.conversation import TelemetrySampled
    from hemra.datasets.model import Task
    from hemra.datasets.prepare import Prepared

PROGRAM_SECONDS = 60.0
_numbers = itertools.count(1)


@dataclass
class Played:
    """How a program went: what a verifier would be told of it, and why it may not have gone as meant."""

    trace: dict[str, Any]
    problem: str | None
    printed: str


@dataclass
class _Heard:
    """What the program says, as the engine would hear it."""

    interpreter: ProtocolInterpreter = field(default_factory=ProtocolInterpreter)
    events: list[EventData] = field(default_factory=list)
    errors: bytearray = field(default_factory=bytearray)

    async def output(self, stream: str, chunk: bytes) -> None:
        self.events += self.interpreter.feed(stream, chunk)
        if stream == "stderr" and len(self.errors) < 1 << 16:
            self.errors += chunk


class Stage:
    """A trial on this machine: enter it to have the workspace prepared, leave it and nothing is left."""

    def __init__(self, task: Task, seed: int, filled: Fill = draw) -> None:
        self.task = task
        self.seed = seed
        spec = SandboxSpec(
            run=f"gates-{os.getpid()}", trial=f"{next(_numbers):06d}", try_no=1,
            limits=task.spec.limits.as_limits(), root=scratch_parent(),
        )  # fmt: skip
        self._sandbox = HostSandbox(spec)
        self._attendants = Attendants(task, seed, filled)
        self.prepared: Prepared

    async def __aenter__(self) -> Stage:
        try:
            await self._attendants.open()
            await self._sandbox.create()
            self.prepared = await self._attendants.prepare(self._sandbox)
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()
        await self._sandbox.destroy()

    async def stop(self) -> None:
        """End what runs, world and services too; the workspace stays."""
        await self._sandbox.stop()
        await self._attendants.close()

    @property
    def workspace(self) -> Path:
        """The prepared folder."""
        return self._sandbox.workspace

    @property
    def home(self) -> Path:
        """The trial's HOME."""
        return self._sandbox.home

    def blank_trace(self) -> dict[str, Any]:
        """The trace of a harness that did nothing at all."""
        return self._trace([], exit_code=0)

    async def play(self, program: Path) -> Played:
        """Run a protocol program (`solution/solve.py`, `checks/*.py`) as the engine runs the solution."""
        heard = _Heard()
        sandbox = self._sandbox
        folder = sandbox.harness_dir / "program"
        folder.mkdir(exist_ok=True)
        file = folder / program.name
        file.write_bytes(program.read_bytes())
        launch = solution_launch(str(file), self._input())
        for name, content in launch.files.items():
            (sandbox.harness_dir / name).write_bytes(content)
        spec = ExecSpec(
            argv=launch.argv, env=sandbox.environment() | self._attendants.environment() | launch.env,
            cwd=str(sandbox.workspace), stdin=launch.stdin, ended=lambda: heard.interpreter.ended,
            wall_seconds=self.task.spec.limits.wall_seconds or PROGRAM_SECONDS,
        )  # fmt: skip
        result = await sandbox.exec(spec, _started, heard.output, _sampled)
        events, said = heard.interpreter.finish(result.exit_code, result.exit_signal)
        printed = bytes(heard.errors[-2000:]).decode("utf-8", "replace").strip()
        problem = None
        if result.limit is not None:
            problem = f"was stopped for its {result.limit.name}"
        elif said.outcome is not None:
            problem = said.reason or said.outcome
        elif result.exit_code:
            problem = f"exited with {result.exit_code}"
        return Played(self._trace([*heard.events, *events], result.exit_code), problem, printed)

    def _input(self) -> TrialInput:
        spec = self.task.spec
        return TrialInput(
            run="gates", trial="0001", task=self.task.id, instruction=self.prepared.instruction,
            workspace=str(self.workspace), home=str(self.home), harness_dir=str(self._sandbox.harness_dir),
            seed=self.seed, attempt=1, limits=spec.limits.as_limits(),
            allowed_tools=list(spec.allowed_tools), forbidden_tools=list(spec.forbidden_tools),
            solution_dir=str(self.task.path / "solution"), mcp_servers=self._attendants.mcp_servers,
        )  # fmt: skip

    def _trace(self, events: list[EventData], exit_code: int | None) -> dict[str, Any]:
        recorded = [
            Event(seq, "", "", 0, event.type, event.v, "gates", "0001", msgspec.to_builtins(event))
            for seq, event in enumerate(events, 1)
        ]
        trace = build_trace(recorded, lambda value: value, tools_recorded=True, outcome="completed")
        return trace | {
            "task": self.task.id, "instruction": self.prepared.instruction, "values": self.prepared.values,
            "seed": self.seed, "exit_code": exit_code, "home": str(self.home),
            "workspace": str(self.workspace), "services": self._attendants.served(),
        }  # fmt: skip


class Copies:
    """Fills workspaces: the first with a seed by the task's own code, the others with copies of that one, for
    prepare.py gives the same every time (a test holds that) and takes longer than all the rest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._drawn: dict[int, dict[str, Any]] = {}

    async def __call__(self, task: Task, workspace: Path, seed: int) -> dict[str, Any]:
        """As `draw`."""
        master = self._folder / str(seed)
        if seed in self._drawn:
            try:
                await asyncio.to_thread(_copy, master, workspace)
                return copy.deepcopy(self._drawn[seed])
            except OSError:  # something that cannot be copied, or not by this user
                await asyncio.to_thread(_empty, workspace)
        values = await draw(task, workspace, seed)
        if seed not in self._drawn:
            try:
                await asyncio.to_thread(_copy, workspace, master)
                self._drawn[seed] = copy.deepcopy(values)
            except OSError:
                await asyncio.to_thread(_empty, master)
        return values


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)


def _empty(folder: Path) -> None:
    for entry in list(folder.iterdir()) if folder.is_dir() else ():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def need(path: Path) -> Path:
    """The path, if there is a file. Raises HemraError."""
    if not path.is_file():
        raise HemraError(f"{path} is missing")
    return path


async def _started(pid: int) -> None:
    """Nobody has to be told."""


def _sampled(sample: TelemetrySampled) -> None:
    """Nobody looks at what it costs."""
