"""Finds and ends processes of a trial that are out of reach of its launcher, by the marker they carry.

The launcher ends everything below itself. What is left for this module: a launcher that was killed (its
orphans become children of the engine, which is a child subreaper too), and an engine that was killed. Every
process of a trial carries the trial's token in its environment; a program that gave its children another
environment *and* killed its launcher is not found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

from hemra.sandboxes.base import MARKER
from hemra.telemetry.process_tree import read_process, tree

_PREFIX = f"{MARKER}=".encode()


def become_subreaper() -> bool:
    """Let orphans of killed launchers become children of this process. True where the system can do that."""
    if sys.platform != "linux":
        return False
    import ctypes

    pr_set_child_subreaper = 36
    return bool(ctypes.CDLL(None, use_errno=True).prctl(pr_set_child_subreaper, 1, 0, 0, 0) == 0)


def marked(matches: Callable[[str], bool]) -> Iterator[int]:
    """Pids of living processes whose token `matches`. Processes that may not be looked at are left out."""
    for pid, token in _tokens_by_proc() if sys.platform == "linux" else _tokens_by_psutil():
        if pid != os.getpid() and matches(token):
            yield pid


def _tokens_by_proc() -> Iterator[tuple[int, str]]:
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                environment = file.read()
        except OSError:
            continue  # it ended, or belongs to somebody else
        at = environment.find(_PREFIX)
        if at == 0 or (at > 0 and environment[at - 1] == 0):
            value = environment[at + len(_PREFIX) :].partition(b"\0")[0]
            yield int(name), value.decode("utf-8", "replace")


def _tokens_by_psutil() -> Iterator[tuple[int, str]]:
    import psutil

    for process in psutil.process_iter():
        try:
            token = process.environ().get(MARKER)
        except (psutil.Error, OSError):
            continue  # it ended, or belongs to somebody else
        if token is not None:
            yield process.pid, token


def end_marked(matches: Callable[[str], bool], *, seconds: float = 5.0) -> tuple[int, int]:
    """Kill every process whose token `matches`, and what they start meanwhile, until none is left.

    Returns (how many were killed, how many are still there after `seconds`). Looks at least once more after
    the last kill, so a process that was being started is found too.
    """
    killed: set[int] = set()
    deadline = time.monotonic() + seconds
    while True:
        living = list(marked(matches))
        if not living:
            return len(killed), 0
        if time.monotonic() > deadline:
            return len(killed), len(living)
        for pid in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        collect(living)


def end_orphans(pids: set[int]) -> int:
    """Kill processes that stood below a launcher which was killed, and all below them. Returns how many.

    A pid counts only while it is a child of this process, which inherits them, or of another of the pids:
    the number may belong to somebody else by now.
    """
    living: set[int] = set()
    for pid in pids:
        use = read_process(pid) if sys.platform == "linux" else None
        if use is not None and (use.parent == os.getpid() or use.parent in pids):
            living |= {below.pid for below in tree(pid) if not below.zombie}
    for pid in living:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    collect([*living, *pids])
    return len(living)


def collect(pids: list[int]) -> None:
    """Wait a moment for killed processes to be gone, and reap those that became this process's children."""
    deadline = time.monotonic() + 0.2
    waiting = set(pids)
    while waiting and time.monotonic() < deadline:
        for pid in sorted(waiting):
            try:
                if os.waitpid(pid, os.WNOHANG)[0] == pid:
                    waiting.discard(pid)
            except ChildProcessError:  # somebody else's child: its own parent collects it
                use = read_process(pid) if sys.platform == "linux" else None
                if use is None or use.zombie:
                    waiting.discard(pid)
        if waiting:
            time.sleep(0.002)
