"""Who needs a recorder: processes told apart by pid *and* start time, as a pid may be used again."""

from __future__ import annotations

import time

import psutil

#: The place of the process that started the recorder, until it says hello itself, which it does at once.
_STARTER = b"starter"
#: One that gave up meanwhile (its time was over, say) never will, and may live for long. Seconds.
STARTER_S = 15.0


class Holders:
    """The holders of one recorder."""

    def __init__(self, starter_pid: int) -> None:
        self._holders: dict[bytes, psutil.Process] = {}
        self._started = time.monotonic()
        self.add(_STARTER, starter_pid)

    def add(self, holder: bytes, pid: int) -> None:
        """Process `pid` needs the recorder until `remove(holder)` or its death; a dead one is not taken."""
        starter = self._holders.get(_STARTER)
        if starter is not None and starter.pid == pid and holder != _STARTER:
            del self._holders[_STARTER]
        try:
            self._holders[holder] = psutil.Process(pid)
        except (psutil.Error, ValueError, OverflowError):
            self._holders.pop(holder, None)

    def remove(self, holder: bytes) -> None:
        """The holder said bye."""
        self._holders.pop(holder, None)

    def any_alive(self) -> bool:
        """Whether at least one holder's process still runs; the dead ones are forgotten."""
        late = time.monotonic() - self._started >= STARTER_S
        for holder, process in list(self._holders.items()):
            if not _runs(process) or (late and holder == _STARTER):
                del self._holders[holder]
        return bool(self._holders)

    def pids(self) -> list[int]:
        """Process ids of the holders, as far as known."""
        return sorted({process.pid for process in self._holders.values()})


def _runs(process: psutil.Process) -> bool:
    """Whether it is the same process and more than a zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True  # it exists but may not be looked at: rather stay than go
