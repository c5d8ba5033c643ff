"""Starting a launcher: what that takes, and how it is done on this machine itself."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hemra.sandboxes.base import ExecSpec
from hemra.sandboxes.child import Child
from hemra.sandboxes.compiled import in_memory
from hemra.sandboxes.pipes import open_terminal

LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True)
class Streams:
    """Descriptors that become a program's own, or `subprocess.DEVNULL`."""

    stdin: int
    stdout: int
    stderr: int


class Held(Protocol):
    """A launcher that was started. `pid` is its number on this machine."""

    @property
    def pid(self) -> int:
        """Pid of the launcher, as this process sees it."""

    def number_here(self, pid: int) -> int:
        """The pid, as this process sees it, of a process that the launcher calls `pid`."""

    def send(self, number: int) -> None:
        """Send it a signal; nothing happens when it is gone. Safe in a signal handler."""

    async def wait(self) -> int:
        """Until it is gone: its exit code, or -signal."""


class Starter(Protocol):
    """Where launchers are started."""

    @property
    def stands(self) -> bool:
        """Whether the place is still there: who ends a launcher in a place that stands is in it, as far as is known."""

    async def start(self, settings: str, spec: ExecSpec, streams: Streams, fds: Mapping[str, int]) -> Held:
        """Start a launcher for a program with these streams; it gets the descriptors `fds`, and is told by
        `<name>=<number>` where they are. Raises OSError or ValueError when it cannot be started."""

    async def terminal(self, columns: int, rows: int) -> tuple[int, int]:
        """A new pseudo-terminal that has a name where the program runs, as (engine's side, program's side)."""


class HeldProcess:
    """A launcher that is a child of this process."""

    def __init__(self, process: Child) -> None:
        self._process = process
        self.pid = process.pid

    def number_here(self, pid: int) -> int:
        """The same number: nothing is between."""
        return pid

    def send(self, number: int) -> None:
        """See `Held.send`."""
        self._process.send(number)

    async def wait(self) -> int:
        """See `Held.wait`."""
        return await self._process.wait()


class HostStarter:
    """Starts launchers as children of this process. `pass_fds`: descriptors that the program gets too."""

    stands = True

    def __init__(self, pass_fds: tuple[int, ...] = ()) -> None:
        self._pass_fds = pass_fds

    async def start(self, settings: str, spec: ExecSpec, streams: Streams, fds: Mapping[str, int]) -> Held:
        """See `Starter.start`."""
        code = in_memory(LAUNCHER)
        own = {} if code is None else {"code": code}
        program = str(LAUNCHER) if code is None else f"/proc/self/fd/{code}"
        words = ",".join([settings, *(f"{name}={fd}" for name, fd in {**fds, **own}.items())])
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", program, words, *spec.argv],
            stdin=streams.stdin,
            stdout=streams.stdout,
            stderr=streams.stderr,
            cwd=spec.cwd,
            env=spec.env,
            pass_fds=(*fds.values(), *own.values(), *self._pass_fds),
            start_new_session=True,
        )
        return HeldProcess(Child(process))

    async def terminal(self, columns: int, rows: int) -> tuple[int, int]:
        """See `Starter.terminal`."""
        return open_terminal(columns, rows)


@contextlib.contextmanager
def opened(files: Mapping[str, Path]) -> Iterator[dict[str, int]]:
    """Files open for writing, by name, for as long as it takes to hand them over. Raises OSError."""
    fds: dict[str, int] = {}
    try:
        for name, file in files.items():
            fds[name] = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
        yield fds
    finally:
        for fd in fds.values():
            os.close(fd)
