"""What a sandbox is: where one trial runs, what it is asked to do, and what it answers.

A sandbox is made for one try of one trial. It is created, runs programs, is stopped and destroyed; each of
these may be asked for again without harm.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from eventlog.schemas.conversation import TelemetrySampled
from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Enforcement, LimitFired
from hemra.errors import HemraError

#: Environment variable that marks every process of a trial, `<run>/<trial>.<try>/<random>`, and of a task's own
#: code, `code-<pid>/<random>`: their folder in the scratch folder first.
MARKER = "HEMRA_TRIAL_TOKEN"

#: What every sandbox says about itself, in this order.
ENFORCEMENTS = (
    "wall_time",
    "output",
    "memory",
    "processes",
    "file_size",
    "workspace_size",
    "network",
    "file_system",
    "user_home",
    "verifier_hidden",
    "process_cleanup",
    "environment",
)

OnStart = Callable[[int], Awaitable[None]]
OnOutput = Callable[[str, bytes], Awaitable[None]]
OnSample = Callable[[TelemetrySampled], None]


class SandboxError(HemraError):
    """The sandbox itself could not do its part; the message names what and the remedy."""


@dataclass(frozen=True, kw_only=True)
class SandboxSpec:
    """What a sandbox is made for. `environment` is extra environment, values resolved; `root` the parent
    folder for everything that the sandbox puts on this machine."""

    run: str
    trial: str
    try_no: int
    limits: Limits
    environment: dict[str, str] = field(default_factory=dict)
    root: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))


@dataclass(frozen=True, kw_only=True)
class ExecSpec:
    """One program to run. Times in seconds, sizes in bytes, null = no limit.

    `stdin` is written and then closed; without it stdin is empty. `pty` is (columns, rows): stdout and stderr
    are then one terminal, reported as `stdout`. `ended` tells whether the program has said that it is done;
    from then on it has `hang_grace_seconds` to exit.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: str
    stdin: bytes | None = None
    pty: tuple[int, int] | None = None
    wall_seconds: float | None = None
    output_bytes: int | None = None
    grace_seconds: float = 2.0
    ended: Callable[[], bool] | None = None
    hang_grace_seconds: float = 10.0


@dataclass(kw_only=True)
class ExecResult:
    """How a program ended.

    `started` is false when it could not be started, and `error` says why. At most one of `exit_code` and
    `exit_signal` is set. `duration_ns` runs from the start of the program to its exit; `ended_ns` to the
    moment when it said that it was done. `leftover_processes` outlived it and were ended. Flags:

    - `hang_after_result`: it said that it was done and did not exit
    - `slow_exit`: it said that it was done and took more than a second to exit
    - `stopped`: `Sandbox.stop` ended it
    - `stdin_unread`: it ended or was ended before all of its stdin could be written
    - `no_output`: it was stopped for its time and had printed nothing at all
    - `file_size_limit`: it or a process below it was seen to be ended by the kernel for writing a file past
      the limit; `limit` names it too when it was the program itself
    - `launcher_lost`: the process that watched it was killed, so how it ended is not known
    - `output_held_open`: something that could not be ended still holds its output open
    - `unkillable_processes`: something did not end even by SIGKILL
    """

    exit_code: int | None = None
    exit_signal: int | None = None
    limit: LimitFired | None = None
    duration_ns: int = 0
    ended_ns: int | None = None
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    leftover_processes: int = 0
    flags: list[str] = field(default_factory=list)
    peak_memory_bytes: int | None = None
    cpu_ns: int | None = None
    started: bool = False
    error: str | None = None


class Sandbox(Protocol):
    """One try of one trial. `harness_dir` is the harness's own folder, outside the workspace."""

    kind: str
    workspace: Path
    home: Path
    harness_dir: Path

    async def create(self) -> None:
        """Make the folders and whatever else is needed. Raises SandboxError."""

    def enforcement(self) -> dict[str, Enforcement]:
        """How each of `ENFORCEMENTS` is held here."""

    def environment(self) -> dict[str, str]:
        """The environment that programs of this trial start with."""

    async def exec(
        self, spec: ExecSpec, on_start: OnStart, on_output: OnOutput, on_sample: OnSample
    ) -> ExecResult:
        """Run one program to its end and end everything that it started.

        `on_start(pid)` is awaited before any output is delivered; `on_output(stream, chunk)` is awaited for
        every chunk, one at a time, and holds the program back while it works. What a callback raises is
        raised here after the program was ended. A cancelled call ends the program first, in order; a second
        cancel ends it at once.
        """

    async def stop(self) -> int:
        """End every process of the trial. Returns how many had to be killed."""

    async def destroy(self) -> None:
        """Remove everything that the sandbox put on this machine. Raises SandboxError naming what is left."""

    def kill_now(self) -> None:
        """Order the end of every process and return at once; safe in a signal handler."""
