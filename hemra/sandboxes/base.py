"""What a sandbox is: where one trial runs, what it is asked to do, and what it answers.

A sandbox is made for one try of one trial. It is created, runs programs (several at the same time, if asked
to: they see each other), is stopped and destroyed; each of these may be asked for again without harm.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from eventlog.schemas.conversation import TelemetrySampled
from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Enforcement, LimitFired
from hemra.errors import HemraError

#: Environment variable that marks every process of a trial, `<run>/<trial>.<try>/<random>`, and of a task's own
#: code, `code-<pid>/<random>`: their folder in the scratch folder first.
MARKER = "HEMRA_TRIAL_TOKEN"

#: What every sandbox says about itself, in this order, and what each of these means.
ENFORCEMENTS = {
    "wall_time": "a program that takes too long is ended",
    "cpu_time": "CPU seconds of all its processes together",
    "cpus": "processors that all its processes use at a time",
    "output": "bytes printed",
    "memory": "memory of all its processes together",
    "processes": "number of processes; a fork bomb is held",
    "file_size": "size of one file",
    "workspace_size": "bytes in workspace, HOME and temporary folder together",
    "file_system": "nothing outside the trial's own folders can be written",
    "user_home": "the user's own home cannot be read",
    "store_hidden": "the store cannot be read",
    "verifier_hidden": "the task's verifier and solution cannot be read",
    "other_trials": "workspaces of other trials cannot be read",
    "host_processes": "processes outside the trial cannot be seen, signalled or traced",
    "network": "the network is held to what the trial was given",
    "host_services": "services on this machine's loopback cannot be reached, but for those given",
    "cloud_metadata": "the metadata address of a cloud cannot be reached",
    "user_sockets": "ssh agent, keyring, session bus and container engine of the user cannot be reached",
    "environment": "nothing of the user's environment is there but an allow-list",
    "privileges": "no program can gain privileges",
    "user_namespaces": "programs cannot make user namespaces, in which they would be root to more of the kernel",
    "process_cleanup": "nothing outlives the trial",
}
#: What a sandbox calls its holding of a limit. The others only a harness can hold: a sandbox sees
#: processes and bytes, not turns.
HELD_AS = {
    "wall_seconds": "wall_time",
    "cpu_seconds": "cpu_time",
    "cpus": "cpus",
    "output_bytes": "output",
    "memory_bytes": "memory",
    "processes": "processes",
    "file_bytes": "file_size",
    "workspace_bytes": "workspace_size",
}

#: `none`: no network. `gateway`: the endpoints of `SandboxSpec.reach` and nothing else. `full`: the network of
#: this machine.
Network = Literal["none", "gateway", "full"]

#: Where files of the task that its programs may see are put, in the harness's own folder.
TASK_FILES = "task"

OnStart = Callable[[int], Awaitable[None]]
OnOutput = Callable[[str, bytes], Awaitable[None]]
OnSample = Callable[[TelemetrySampled], None]


class SandboxError(HemraError):
    """The sandbox itself could not do its part; the message names what and the remedy.

    `evidence` is what was measured when a sandbox was lost, as JSON. `infra`: what failed is outside the sandbox
    (a registry, a daemon), so that the trial is an `infra_error`.
    """

    def __init__(self, message: str, *, evidence: dict[str, Any] | None = None, infra: bool = False) -> None:
        super().__init__(message)
        self.evidence = evidence or {}
        self.infra = infra


@dataclass(frozen=True, order=True)
class Endpoint:
    """A TCP service: host name or address, and port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class LoginFile:
    """A file of the user's that a harness needs to log in: `source` on this machine, `target` relative to the
    trial's HOME. It is put there read-only, as a copy or as a mount."""

    source: Path
    target: str


@dataclass(frozen=True, kw_only=True)
class SandboxSpec:
    """What a sandbox is made for.

    - `environment`: extra environment, values resolved
    - `root`: parent folder of everything that the sandbox puts on this machine
    - `network`, `reach`: the network that the trial gets, and the endpoints that `gateway` lets through. They are
      as a program of this machine reaches them (mostly 127.0.0.1); `Sandbox.address` says how one of the trial
      does.
    - `read_only`: files and folders of this machine that the harness needs, at the same place, read-only
    - `hidden`: what must not be seen even where it lies in a folder that is visible: the store, the tasks
    - `solution`: the task's reference solution, visible (at the same place, read-only) where it is given
    - `login_files`: exactly these of the user's files
    - `quotas`: folders of the workspace, relative, and the bytes that each holds and no more; they begin empty and
      go with the trial. Where `SandboxTraits.holds_quotas` is false they are plain folders
    - `option`: what stood behind the colon of `--sandbox KIND:OPTION`; null without
    - `task`: the task's folder, for what describes its environment; no program of the trial may see it
    - `store`: id of the store, for labels on what outlives this process
    - `task_files`: files of the task will be put into the folder TASK_FILES of `Sandbox.harness_dir`: programs of the
      trial are to read and not to change them
    """

    run: str
    trial: str
    try_no: int
    limits: Limits
    environment: dict[str, str] = field(default_factory=dict)
    root: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    network: Network = "full"
    reach: tuple[Endpoint, ...] = ()
    read_only: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    solution: Path | None = None
    login_files: tuple[LoginFile, ...] = ()
    quotas: dict[str, int] = field(default_factory=dict)
    option: str | None = None
    task: Path | None = None
    store: str = ""
    task_files: bool = False


class Input(Protocol):
    """What is written to a program's stdin while it runs."""

    async def read(self) -> bytes:
        """The next bytes, waited for; empty when there are no more: stdin is closed then."""

    def close(self) -> None:
        """The program takes no more; no error when that was said before."""

    async def farewell(self) -> None:
        """The program is about to be ended in order: say what may make it end by itself, and wait for that. It is
        cancelled when that takes too long."""


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
    stdin: bytes | Input | None = None
    pty: tuple[int, int] | None = None
    wall_seconds: float | None = None
    output_bytes: int | None = None
    grace_seconds: float = 2.0
    ended: Callable[[], bool] | None = None
    hang_grace_seconds: float = 10.0


#: Flags of a program that was ended from outside for another reason than a limit: how it ended says nothing of it.
ENDED_BY_US = frozenset(("hang_after_result", "stdin_close_ignored", "stopped"))


@dataclass(kw_only=True)
class ExecResult:
    """How a program ended.

    `started` is false when it could not be started, and `error` says why. At most one of `exit_code` and
    `exit_signal` is set. `duration_ns` runs from the start of the program to its exit; `ended_ns` to the
    moment when it said that it was done. `leftover_processes` outlived it and were ended. Flags:

    - `hang_after_result`: it said that it was done and did not exit
    - `stdin_close_ignored`: the same of a program that is talked to, and whose stdin was closed to tell it to exit
    - `slow_exit`: it said that it was done and took more than a second to exit
    - `stopped`: `Sandbox.stop` ended it
    - `stdin_unread`: it ended or was ended before all of its stdin could be written
    - `no_output`: it was stopped for its time and had printed nothing at all
    - `file_size_limit`: it or a process below it was seen to be ended by the kernel for writing a file past
      the limit; `limit` names it too when it was the program itself
    - `launcher_killed`: the process that watched it was killed, as far as is known by the program itself, which was
      ended then
    - `launcher_lost`: the process that watched it was killed from outside with all that was there, so how it would
      have ended is not known
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


@dataclass(frozen=True)
class Entry:
    """One path of a workspace: kind (file, link, folder, special), size in bytes. `mark` changes whenever its
    content may have changed; it says nothing else."""

    kind: str
    size: int
    mark: tuple[int | str, ...]


#: Relative path -> entry. Folders are entries too: an empty one may be what a task asks for.
Snapshot = dict[str, Entry]


def _usable(option: str | None) -> str | None:
    return None


def _nothing_left(store: str) -> list[str]:
    return []


@dataclass(frozen=True, kw_only=True)
class SandboxTraits:
    """What a kind of sandboxes may say of itself, before there is one. Each of these has a default.

    - `why_not(option)`: why it cannot be used here with what stood behind the colon of `--sandbox KIND:OPTION`, one
      line; None when it can, as far as it knows
    - `brings_programs`: a trial's programs come from an image and not from this machine
    - `holds_quotas`: a folder of `SandboxSpec.quotas` holds that much and no more
    - `reclaim(store)`: removes what processes that died left of a store's sandboxes; a line for each thing that it
      removed. Raises SandboxError naming what it cannot remove
    """

    why_not: Callable[[str | None], str | None] = _usable
    brings_programs: bool = False
    holds_quotas: bool = False
    reclaim: Callable[[str], list[str]] = _nothing_left


class Sandbox(Protocol):
    """One try of one trial. Its class is the kind: it has `traits`, and is called with a SandboxSpec.

    `workspace`, `home` and `harness_dir` (the harness's own folder, outside the workspace) are folders of this
    machine: the engine fills them after `create` and before the first `exec`, and looks into them after `stop`.
    `inside` says where programs of the trial see them. `details` is what else is to be recorded of the sandbox, as
    JSON: an image and its digest, say.
    """

    traits: ClassVar[SandboxTraits]
    kind: str
    workspace: Path
    home: Path
    harness_dir: Path
    details: dict[str, Any]

    def __init__(self, spec: SandboxSpec) -> None:
        """Nothing is made yet."""

    async def create(self) -> None:
        """Make the folders and whatever else is needed. Raises SandboxError."""

    def enforcement(self) -> dict[str, Enforcement]:
        """How each of `ENFORCEMENTS` is held here, for this spec: what it claims. What is recorded is never
        more than what the probe showed."""

    def environment(self) -> dict[str, str]:
        """The environment that programs of this trial start with."""

    def inside(self, path: Path) -> str:
        """Where programs of the trial see a file or folder of this machine: one of the trial's folders, what is
        in them, or the solution."""

    def address(self, endpoint: Endpoint) -> Endpoint:
        """Where programs of the trial reach an endpoint of `SandboxSpec.reach`. Known from `create` on."""

    async def put(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """Write a file of the trial: `path` as its programs see it, below one of its folders, or relative to the
        workspace. Folders are made. Raises SandboxError when it is elsewhere or a link stands in the way."""

    async def get(self, path: str, limit: int) -> bytes | None:
        """At most `limit` bytes of a regular file of the trial; None when there is none. No symbolic link is
        followed, neither in the name nor before it. Raises SandboxError when it is elsewhere or larger."""

    async def snapshot(self) -> Snapshot:
        """Everything below the workspace; no link is followed, what cannot be read is left out."""

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
