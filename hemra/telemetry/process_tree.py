"""Which processes stand below one process, and what each of them uses.

On Linux this reads the kernel's own lists of children, so that its cost follows the size of the tree and not
the number of processes on the machine; elsewhere it asks psutil. A process that ends while it is looked at is
left out; it never ends the look.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

if sys.platform == "linux":
    TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """One process: resident bytes, its CPU time, and that of the children it has waited for, in ns."""

    pid: int
    parent: int
    zombie: bool
    rss_bytes: int
    cpu_ns: int
    children_cpu_ns: int


def read_process(pid: int) -> ProcessUse | None:
    """Use of one process, or None when it is gone (Linux)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name stands in brackets and may itself hold blanks and brackets.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) < 22:
        return None
    return ProcessUse(
        pid=pid,
        parent=int(fields[1]),
        # One whose first thread has ended lives as long as another of its threads.
        zombie=fields[0] in (b"Z", b"X") and int(fields[17]) < 2,
        rss_bytes=int(fields[21]) * PAGE_BYTES,
        cpu_ns=(int(fields[11]) + int(fields[12])) * TICK_NS,
        children_cpu_ns=(int(fields[13]) + int(fields[14])) * TICK_NS,
    )


def children(pid: int) -> list[int]:
    """Direct children of a process by the kernel's list; empty when it is gone (Linux). Raises
    NotImplementedError on a kernel that keeps no such lists."""
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += [int(word) for word in file.read().split()]
        except FileNotFoundError:
            if os.path.exists(f"/proc/{pid}/task/{task}/stat"):
                raise NotImplementedError("this kernel keeps no lists of children") from None
        except OSError:
            continue  # the thread ended while it was read
    return found


def tree(root: int) -> list[ProcessUse]:
    """The process `root` and all below it, in no certain order; empty when `root` is gone."""
    if sys.platform == "linux":
        try:
            return _tree_by_lists(root)
        except NotImplementedError:
            pass  # the slower way below works on every kernel
    return _tree_by_psutil(root)


def _tree_by_lists(root: int) -> list[ProcessUse]:
    found: dict[int, ProcessUse] = {}
    queue = [root]
    while queue:
        pid = queue.pop()
        use = read_process(pid) if pid not in found else None
        if use is not None:
            found[pid] = use
            queue += children(pid)
    return list(found.values())


def _tree_by_psutil(root: int) -> list[ProcessUse]:
    import psutil

    try:
        top = psutil.Process(root)
        members = [top, *top.children(recursive=True)]
    except psutil.Error:
        return []
    found = []
    for process in members:
        try:
            with process.oneshot():
                times, memory, state = process.cpu_times(), process.memory_info(), process.status()
                parent = process.ppid()
        except psutil.Error:
            continue  # it ended, or belongs to somebody else
        found.append(
            ProcessUse(
                pid=process.pid,
                parent=parent,
                zombie=state == psutil.STATUS_ZOMBIE,
                rss_bytes=memory.rss,
                cpu_ns=int((times.user + times.system) * 1e9),
                children_cpu_ns=int(
                    (getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)) * 1e9
                ),
            )
        )
    return found


def proportional_bytes(pids: list[int]) -> int | None:
    """Memory of some processes with shared pages counted once (Linux), or None where that cannot be read.

    Slower than resident sizes, which count a page that ten processes share ten times.
    """
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
                lines = file.read().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            if sys.platform != "linux":
                return None
            continue  # it ended
        except OSError:
            return None
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:"))
    return total
