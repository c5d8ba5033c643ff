"""One engine a run: a lock on `engine.lock` in the run's stream folder.

The lock is flock(2): it dies with its holder, whatever kills that. The file says who holds it, so
that `hemra cancel` can find the engine; without the lock its content means nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from hemra.errors import HemraError

NAME = "engine.lock"
#: How long a lock may outlive its holder.
DYING_SECONDS = 2.0


class EngineBusy(HemraError):
    """Another engine carries this run out."""

    def __init__(self, run: str, holder: Holder | None) -> None:
        who = f"process {holder.pid}" if holder else "another process"
        super().__init__(
            f"run {run} is being carried out by {who}; "
            f"watch it with `hemra tail {run} -f` or stop it with `hemra cancel {run}`"
        )
        self.holder = holder


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock; `started` (seconds since the epoch) tells it from a later one."""

    pid: int
    started: float

    def alive(self) -> bool:
        """Whether that very process still exists."""
        import psutil

        try:
            return bool(abs(psutil.Process(self.pid).create_time() - self.started) < 1.0)
        except psutil.Error:
            return False


class EngineLock:
    """The right to carry out a run. Take it with `acquire`, give it back with `release` or by dying."""

    def __init__(self, folder: Path, run: str) -> None:
        self._path = folder / NAME
        self._run = run
        self._fd: int | None = None

    def acquire(self) -> None:
        """Take the lock and sign it; EngineBusy, at once, if another engine has it.

        What a killed engine was just starting has its lock for another moment: that is waited for.
        """
        deadline = time.monotonic() + DYING_SECONDS
        while not self._try(fcntl.LOCK_EX | fcntl.LOCK_NB):
            holder = self.holder()
            if time.monotonic() > deadline or (holder is not None and holder.alive()):
                raise EngineBusy(self._run, holder)
            time.sleep(0.005)
        import psutil

        assert self._fd is not None
        me = psutil.Process()
        text = json.dumps({"pid": me.pid, "started": me.create_time()}).encode()
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, text, 0)

    def wait_free(self, seconds: float) -> bool:
        """Wait until whoever holds the lock lets go, then hold it; False if that takes longer."""
        got = threading.Event()

        def take() -> None:
            if self._try(fcntl.LOCK_EX):
                got.set()

        # flock has no time limit of its own; a thread that is left behind ends with the process.
        threading.Thread(target=take, name="engine-lock", daemon=True).start()
        return got.wait(seconds)

    def holder(self) -> Holder | None:
        """Who signed the file; None where it is absent or says nothing."""
        try:
            found = json.loads(self._path.read_bytes())
            return Holder(int(found["pid"]), float(found["started"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None

    def _try(self, operation: int) -> bool:
        if self._fd is not None:
            return True
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise HemraError(f"{self._path}: cannot open the run's lock: {error.strerror}") from error
        try:
            fcntl.flock(fd, operation)
        except BlockingIOError:
            os.close(fd)
            return False
        except OSError as error:
            os.close(fd)
            raise HemraError(
                f"{self._path}: this file system cannot lock files ({error.strerror}); "
                "put the store on a local disk with --store"
            ) from error
        self._fd = fd
        return True
