"""A program under its launcher, as the engine holds it: its streams, and what the launcher reports."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from hemra.sandboxes.base import ExecSpec
from hemra.sandboxes.pipes import ByteSource, OpenEnds, open_terminal

LAUNCHER = Path(__file__).with_name("launcher.py")


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


class StartFailed(Exception):
    """The program could not be started; the message says why."""


class Launched:
    """One program under one launcher. Make it with `start`; `close` it when done."""

    def __init__(self, ends: OpenEnds, control: int, report: ByteSource) -> None:
        self._ends = ends
        self._control = control
        self._report = report
        self._rest = b""
        self._process: asyncio.subprocess.Process | None = None
        self.outputs: dict[str, ByteSource] = {}
        self.stdin_fd: int | None = None
        self.terminal_fd: int | None = None
        self.failure: str | None = None

    @classmethod
    async def start(
        cls,
        spec: ExecSpec,
        *,
        file_bytes: int | None = None,
        processes: int | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> Launched:
        """Start the launcher; the program gets `pass_fds` too. Raises StartFailed when not even that is
        possible."""
        ends = OpenEnds()
        report_read, report_write = ends.pipe()
        control_read, control_write = ends.pipe()
        program = cls(ends, control_write, ByteSource(ends.give(report_read)))
        theirs = program._open_streams(spec)
        settings = {
            "report": report_write,
            "control": control_read,
            "grace": int(spec.grace_seconds * 1000),
            "file_bytes": file_bytes or 0,
            "processes": processes or 0,
            "tty": int(spec.pty is not None),
        }
        words = ",".join(f"{key}={value}" for key, value in settings.items())
        try:
            program._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", "-B", str(LAUNCHER), words, *spec.argv),
                stdin=theirs["stdin"],
                stdout=theirs["stdout"],
                stderr=theirs["stderr"],
                cwd=spec.cwd,
                env=spec.env,
                pass_fds=(report_write, control_read, *pass_fds),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            await program.close()
            raise StartFailed(start_error(spec, error)) from error
        ends.close(report_write, control_read)
        if spec.pty is None:
            ends.close(*(fd for fd in theirs.values() if fd >= 0))
        return program

    def _open_streams(self, spec: ExecSpec) -> dict[str, int]:
        """Make the program's three streams. Returns its ends of them."""
        theirs = {"stdin": asyncio.subprocess.DEVNULL}
        if spec.stdin is not None:
            theirs["stdin"], writing = self._ends.pipe()
            self.stdin_fd = self._ends.give(writing)
        if spec.pty is not None:
            ours, terminal = open_terminal(*spec.pty)
            # The terminal must not be without a user before the program has opened it.
            self.terminal_fd = theirs["stdout"] = theirs["stderr"] = self._ends.hold(terminal)
            self.outputs["stdout"] = ByteSource(ours)
            return theirs
        for stream in ("stdout", "stderr"):
            reading, theirs[stream] = self._ends.pipe()
            self.outputs[stream] = ByteSource(self._ends.give(reading))
        return theirs

    @property
    def launcher_pid(self) -> int:
        """Pid of the launcher."""
        assert self._process is not None
        return self._process.pid

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
            return Started(*numbers)
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
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(OSError):
                os.kill(self._process.pid, signal.SIGCONT)

    def kill_launcher(self) -> None:
        """End a launcher that does not answer."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def gone(self) -> int:
        """Wait until the launcher, which has nothing more to do, is gone. Its exit code, or -signal."""
        assert self._process is not None
        return await self._process.wait()

    async def close(self) -> None:
        """Wait for the launcher and close everything that is open."""
        self._ends.close()
        self._report.close()
        for source in self.outputs.values():
            source.close()
        if self.stdin_fd is not None:
            os.close(self.stdin_fd)
            self.stdin_fd = None
        if self._process is not None:
            await self._process.wait()


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
