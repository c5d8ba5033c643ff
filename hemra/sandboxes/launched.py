"""A program under its launcher, as the engine holds it: its streams, and what the launcher reports."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
from dataclasses import dataclass

from hemra.sandboxes.base import ExecSpec
from hemra.sandboxes.cgroups import Group
from hemra.sandboxes.pipes import ByteSource, OpenEnds
from hemra.sandboxes.starter import Held, HostStarter, Starter, Streams, opened


@dataclass(frozen=True)
class Started:
    """The program runs. `mono` is the launcher's monotonic clock in ns."""

    pid: int
    mono: int


@dataclass(frozen=True)
class Exited:
    """The program ended with a wait status."""

    status: int
    mono: int


@dataclass(frozen=True)
class Done:
    """Everything below the launcher is gone, `alive` excepted. `oversized` children wrote too large a file.
    Peaks in bytes, CPU in ns."""

    leftover: int
    killed: int
    alive: int
    oversized: int
    peak_bytes: int
    own_peak_bytes: int
    cpu_ns: int


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a launcher is told of limits, 0 = none: bytes of one file, processes of the trial, CPU seconds and
    bytes of private memory of one process, and how many tasks this user has (0: the launcher looks itself)."""

    file_bytes: int = 0
    processes: int = 0
    cpu_seconds: int = 0
    data_bytes: int = 0
    tasks: int = 0

    def words(self, spec: ExecSpec) -> str:
        """As the launcher is told."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values |= {"grace": int(spec.grace_seconds * 1000), "tty": int(spec.pty is not None)}
        return ",".join(f"{name}={value}" for name, value in values.items())


class StartFailed(Exception):
    """The program could not be started; the message says why."""


class Launched:
    """One program under one launcher. Make it with `start`; `close` it when done."""

    def __init__(self, ends: OpenEnds, control: int, report: ByteSource) -> None:
        self._ends = ends
        self._control = control
        self._report = report
        self._rest = b""
        self._held: Held | None = None
        self.outputs: dict[str, ByteSource] = {}
        self.stdin_fd: int | None = None
        self.terminal_fd: int | None = None
        self.failure: str | None = None

    @classmethod
    async def start(
        cls,
        spec: ExecSpec,
        *,
        settings: Settings | None = None,
        starter: Starter | None = None,
        group: Group | None = None,
    ) -> Launched:
        """Start the launcher, on this machine or where `starter` does; the program begins in `group`.

        Raises StartFailed when not even that is possible.
        """
        ends = OpenEnds()
        report_read, report_write = ends.pipe()
        control_read, control_write = ends.pipe()
        program = cls(ends, control_write, ByteSource(ends.give(report_read)))
        starter = starter or HostStarter()
        words = (settings or Settings()).words(spec)
        groups = {} if group is None else group.doors()
        try:
            theirs = await program._open_streams(spec, starter)
            with opened(groups) as doors:
                program._held = await starter.start(
                    words, spec, theirs, {"report": report_write, "control": control_read, **doors}
                )
        except (OSError, ValueError) as error:
            await program.close()
            raise StartFailed(start_error(spec, error)) from error
        except BaseException:
            await program.close()
            raise
        ends.close(report_write, control_read)
        if spec.pty is None:
            ends.close(*(fd for fd in (theirs.stdin, theirs.stdout, theirs.stderr) if fd >= 0))
        return program

    async def _open_streams(self, spec: ExecSpec, starter: Starter) -> Streams:
        """Make the program's three streams. Returns its ends of them."""
        stdin = subprocess.DEVNULL
        if spec.stdin is not None:
            stdin, writing = self._ends.pipe()
            self.stdin_fd = self._ends.give(writing)
        if spec.pty is not None:
            ours, terminal = await starter.terminal(*spec.pty)
            # The terminal must not be without a user before the program has opened it.
            self.terminal_fd = self._ends.hold(terminal)
            self.outputs["stdout"] = ByteSource(ours)
            return Streams(stdin, terminal, terminal)
        ends = {}
        for stream in ("stdout", "stderr"):
            reading, ends[stream] = self._ends.pipe()
            self.outputs[stream] = ByteSource(self._ends.give(reading))
        return Streams(stdin, ends["stdout"], ends["stderr"])

    @property
    def launcher_pid(self) -> int:
        """Pid of the launcher."""
        assert self._held is not None
        return self._held.pid

    async def reported(self) -> Started | Exited | Done | None:
        """The launcher's next word, in the order started, exited, done. None when there is no more: after
        done, when the program could not be started (`failure` says why), or when the launcher was killed."""
        while b"\n" not in self._rest:
            chunk = await self._report.read()
            if not chunk:
                return None
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        word, *values = line.decode("utf-8", "replace").split(" ")
        if word == "failed":
            self.failure = f"{values[0]} {' '.join(values[1:])}"
            return None
        numbers = [int(value) for value in values]
        if word == "started":
            self._leave_terminal()
            assert self._held is not None
            return Started(self._held.number_here(numbers[0]), numbers[1])
        return Exited(*numbers) if word == "exited" else Done(*numbers)

    def _leave_terminal(self) -> None:
        if self.terminal_fd is not None:
            self._ends.close(self.terminal_fd)
            self.terminal_fd = None

    def order(self, letter: bytes) -> None:
        """Tell the launcher to end everything: b"T" in order, b"K" at once. Safe in a signal handler."""
        with contextlib.suppress(OSError):
            os.write(self._control, letter)
        self.wake()

    def wake(self) -> None:
        """Let the launcher go on, should the program have stopped it."""
        if self._held is not None:
            self._held.send(signal.SIGCONT)

    def kill_launcher(self) -> None:
        """End a launcher that does not answer."""
        if self._held is not None:
            self._held.send(signal.SIGKILL)

    async def gone(self) -> int:
        """Wait until the launcher, which has nothing more to do, is gone. Its exit code, or -signal."""
        assert self._held is not None
        return await self._held.wait()

    async def close(self) -> None:
        """Wait for the launcher and close everything that is open."""
        self._ends.close()
        self._report.close()
        for source in self.outputs.values():
            source.close()
        if self.stdin_fd is not None:
            os.close(self.stdin_fd)
            self.stdin_fd = None
        if self._held is not None:
            await self._held.wait()


def start_error(spec: ExecSpec, error: OSError | ValueError) -> str:
    """Why a program could not be started, with the remedy where there is one."""
    if not isinstance(error, OSError):
        return start_failure(spec.argv[0], None, str(error))
    if error.filename == spec.cwd:
        return f"cannot start {spec.argv[0]!r}: its working folder {spec.cwd}: {error.strerror}"
    return start_failure(spec.argv[0], error.errno, error.strerror or str(error))


def start_failure(program: str, number: int | None, text: str) -> str:
    """The same from an error number and its text."""
    if number == errno.EACCES and "/" not in program:
        text = "not found in a folder of PATH that may be entered"
        return f"cannot start {program!r}: {text}; is it installed?"
    remedy = {
        errno.ENOENT: "; is it installed, on PATH, and is the program its first line names there?",
        errno.EACCES: "; is it executable?",
        errno.ENOEXEC: "; a script needs a first line such as #!/bin/sh",
        errno.E2BIG: "; pass long text by stdin or file, not as an argument",
    }.get(number or 0, "")
    return f"cannot start {program!r}: {text}{remedy}"
