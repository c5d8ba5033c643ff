"""One control group's folder: who is in it, what its files say, and how everything in it is ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from hemra.telemetry.process_tree import read_process

#: How long a killed group may take to be empty, and to be removed.
PATIENCE_SECONDS = 5.0
PAUSE_SECONDS = 0.002


def pids(folder: Path) -> list[int]:
    """Processes in a group, zombies included; none when it is gone."""
    try:
        return [int(word) for word in (folder / "cgroup.procs").read_text("ascii").split()]
    except OSError:
        return []


def keyed(file: Path, key: str) -> int:
    """The number behind a name in a file of many; 0 where it is not told."""
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text("ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == key:
                return int(value)
    return 0


def number(file: Path) -> int | None:
    """The number that a file holds; None where it is not told."""
    try:
        return int(file.read_text("ascii"))
    except (OSError, ValueError):
        return None


def order_end(folder: Path) -> bool:
    """Whether the kernel is ending everything in a group now, and what that starts meanwhile."""
    with contextlib.suppress(OSError):
        if (folder / "cgroup.kill").exists():
            (folder / "cgroup.kill").write_text("1", "ascii")
            return True
    return False


def signal_all(folder: Path) -> None:
    """SIGKILL to everything that is in a group now."""
    for pid in pids(folder):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def end_all(folder: Path) -> bool:
    """End everything in a group; False when something is still there after some seconds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    frozen = folder / "freezer.state"
    order_end(folder)
    while left := pids(folder):
        with contextlib.suppress(OSError):
            frozen.write_text("FROZEN", "ascii")
        signal_all(folder)
        with contextlib.suppress(OSError):
            frozen.write_text("THAWED", "ascii")
        if time.monotonic() > deadline or all(is_zombie(pid) for pid in left):
            return not any(not is_zombie(pid) for pid in pids(folder))
        time.sleep(PAUSE_SECONDS)
    return True


def is_zombie(pid: int) -> bool:
    """Whether a process has ended, collected or not."""
    use = read_process(pid)
    return use is None or use.zombie


def remove(folder: Path, *, kill: bool = True) -> bool:
    """Remove a group, which the kernel allows a moment after the last of it has ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            folder.rmdir()
            return True
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() > deadline:
                return False
        if kill:
            end_all(folder)
        time.sleep(PAUSE_SECONDS)
