"""A control group for one trial: what the kernel itself holds of its limits, and who belongs to it.

    <parent>/hemra-<pid namespace>-<pid>-<start time>/launchers            of this process: who watches
    <parent>/hemra-<pid namespace>-<pid>-<start time>/<run>.<trial>.<try>  what is watched

A launcher enters the trial's group, starts the program, and goes to the launchers' group: the program and all
that it starts are in the trial's group from their first instruction on, and nobody else is. What a process that
died left is found by the name.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import LimitFired
from hemra.sandboxes import group_folder
from hemra.sandboxes.hierarchies import Parent, find
from hemra.telemetry.process_tree import read_process

PREFIX = "hemra-"
LAUNCHERS = "launchers"
#: A quota of CPU time is one for so many microseconds.
_PERIOD_US = 100_000
#: Held while a trial's group is made or removed: the group around them goes with the last one.
_BASE = threading.Lock()
#: Held while it is found out what works: two at once would be in each other's way.
_LOOKING = threading.Lock()


def usable() -> dict[str, Parent]:
    """For each use where groups can be made: shown by making one, putting a process into it and reading back."""
    with _LOOKING:
        return _usable()


@cache
def _usable() -> dict[str, Parent]:
    return {use: parent for use, parent in find().items() if _works(use, parent)}


def _works(use: str, parent: Parent) -> bool:
    folder = parent.folder / f"{PREFIX}probe-{os.getpid()}-{use}"
    child: subprocess.Popen[bytes] | None = None
    try:
        folder.mkdir()
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        (folder / "cgroup.procs").write_text(str(child.pid), "ascii")
        if str(child.pid) not in (folder / "cgroup.procs").read_text("ascii").split():
            return False
        return all((folder / name).exists() for name in _NEEDED[parent.version, use])
    except OSError:
        return False
    finally:
        if child is not None:
            child.communicate()
        with contextlib.suppress(OSError):
            group_folder.remove(folder)


#: Files that a group must have to be of use.
_NEEDED: dict[tuple[int, str], tuple[str, ...]] = {
    (2, "memory"): ("memory.max", "memory.events"),
    (2, "processes"): ("pids.max", "pids.events"),
    (2, "cpu"): ("cpu.stat",),
    (2, "cpus"): ("cpu.max",),
    (2, "track"): ("cgroup.kill",),
    (1, "memory"): ("memory.limit_in_bytes", "memory.oom_control"),
    (1, "processes"): ("pids.max", "pids.events"),
    (1, "cpu"): ("cpuacct.usage",),
    (1, "cpus"): ("cpu.cfs_quota_us", "cpu.cfs_period_us"),
    (1, "track"): ("freezer.state",),
}


def _own_name() -> str:
    return f"{PREFIX}{_pid_namespace()}-{os.getpid()}-{_start_time(os.getpid())}"


def _pid_namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def _start_time(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return int(text.rpartition(b")")[2].split()[19])


@dataclass
class Group:
    """The control groups of one trial: `folders` has one for each use, in as many hierarchies as it takes.

    `tracked` is false where something else knows every process of the trial: then there is no group for that alone.
    """

    name: str
    limits: Limits
    tracked: bool = True
    folders: dict[str, Path] = field(default_factory=dict)
    made: bool = False
    _versions: dict[str, int] = field(default_factory=dict)
    _before: dict[str, int] = field(default_factory=dict)

    def create(self) -> None:
        """Make them and set the limits. What cannot be made is left out: `folders` says what there is."""
        self.made = True
        for use, parent in self._wanted().items():
            base = parent.folder / _own_name()
            try:
                with _BASE:
                    _make(base)
                    if parent.version == 2:
                        _hand_down(base)
                    _make(base / LAUNCHERS)
                    _make(base / self.name)
                self.folders[use], self._versions[use] = base / self.name, parent.version
                self._limit(use, base / self.name)
            except OSError:
                self.folders.pop(use, None)
        self._before = {use: self._count(use) for use in ("memory", "processes")}

    def _wanted(self) -> dict[str, Parent]:
        """Where groups are made. To enter one takes time, in version 2 the kernel 10 ms: none is made for a use
        alone that this trial has no use for."""
        found = usable()
        unused = {"cpus"} if self.limits.cpus is None else set()
        unused |= set() if self.tracked else {"track"}
        kept = {parent for use, parent in found.items() if use not in unused}
        return {use: parent for use, parent in found.items() if parent in kept}

    def _limit(self, use: str, folder: Path) -> None:
        version = self._versions[use]
        if use == "memory" and self.limits.memory_bytes is not None:
            value = str(self.limits.memory_bytes)
            (folder / ("memory.max" if version == 2 else "memory.limit_in_bytes")).write_text(value, "ascii")
            # Without this, what is over the limit goes to swap. A kernel without swap accounting has no such file.
            with contextlib.suppress(OSError):
                name, swap = (
                    ("memory.swap.max", "0") if version == 2 else ("memory.memsw.limit_in_bytes", value)
                )
                (folder / name).write_text(swap, "ascii")
        if use == "processes" and self.limits.processes is not None:
            (folder / "pids.max").write_text(str(_tasks(self.limits.processes)), "ascii")
        if use == "cpus" and self.limits.cpus is not None:
            quota = round(self.limits.cpus * _PERIOD_US)
            if version == 2:
                (folder / "cpu.max").write_text(f"{quota} {_PERIOD_US}", "ascii")
            else:
                (folder / "cpu.cfs_period_us").write_text(str(_PERIOD_US), "ascii")
                (folder / "cpu.cfs_quota_us").write_text(str(quota), "ascii")

    @property
    def uses(self) -> frozenset[str]:
        """What is held by them: once they were made, by those that there are; before, by those that can be. A limit
        that the trial has not got is held as well as it can be."""
        if not self.made:
            return frozenset(usable())
        return frozenset(self.folders) | (
            frozenset(usable()) & {"cpus"} if self.limits.cpus is None else set()
        )

    def doors(self) -> dict[str, Path]:
        """Files to which a process of one thread writes 0: `enter…` to be in the group, one a hierarchy, and `leave…`
        to be with the launchers."""
        doors = {}
        versions = {folder: self._versions[use] for use, folder in self.folders.items()}
        for number, (folder, version) in enumerate(versions.items()):
            # For `tasks` the kernel does not have to keep every process of the machine from forking meanwhile, which
            # takes it milliseconds. Version 2 moves no thread alone.
            file = "tasks" if version == 1 else "cgroup.procs"
            doors[f"enter{number}"] = folder / file
            doors[f"leave{number}"] = folder.parent / LAUNCHERS / file
        return doors

    def _count(self, use: str) -> int:
        """How often the kernel has held a limit: processes killed for memory, starts refused."""
        folder, version = self.folders.get(use), self._versions.get(use)
        if folder is None:
            return 0
        name, key = {
            ("memory", 2): ("memory.events", "oom_kill"),
            ("memory", 1): ("memory.oom_control", "oom_kill"),
            ("processes", 1): ("pids.events", "max"),
            ("processes", 2): ("pids.events", "max"),
        }[use, version or 1]
        return group_folder.keyed(folder / name, key)

    def fired(self) -> LimitFired | None:
        """A limit that the kernel had to hold since the group was made."""
        limit = self.limits.memory_bytes
        if limit is not None and self._count("memory") > self._before.get("memory", 0):
            measured = max(limit, self._peak() or 0)
            return LimitFired(name="memory_bytes", value=limit, measured=measured, unit="bytes")
        most = self.limits.processes
        if most is not None and self._count("processes") > self._before.get("processes", 0):
            return LimitFired(name="processes", value=most, measured=_tasks(most), unit="processes")
        return None

    def _peak(self) -> int | None:
        folder = self.folders.get("memory")
        if folder is None:
            return None
        name = "memory.peak" if self._versions["memory"] == 2 else "memory.max_usage_in_bytes"
        return group_folder.number(folder / name)

    def cpu_ns(self) -> int | None:
        """CPU time of everything that ever was in the group; None where it is not counted."""
        folder = self.folders.get("cpu")
        if folder is None:
            return None
        if self._versions["cpu"] == 2:
            return group_folder.keyed(folder / "cpu.stat", "usage_usec") * 1000
        return group_folder.number(folder / "cpuacct.usage")

    def living(self) -> set[int]:
        """Pids in the group that have not ended."""
        found = {pid for folder in self.folders.values() for pid in group_folder.pids(folder)}
        return {pid for pid in found if (use := read_process(pid)) is not None and not use.zombie}

    def kill(self) -> int:
        """End everything in the group, and what it starts meanwhile (blocking). Returns how many lived."""
        living = self.living()
        if living:
            for folder in dict.fromkeys(self.folders.values()):
                group_folder.end_all(folder)
        return len(living)

    def kill_now(self) -> None:
        """The same without waiting; safe in a signal handler. Where the kernel does not do that in one step, nothing
        more is started in the group from now on."""
        folders = [
            folder for folder in dict.fromkeys(self.folders.values()) if not group_folder.order_end(folder)
        ]
        for folder in folders:
            group_folder.signal_all(folder)
        if (counting := self.folders.get("processes")) in folders and counting is not None:
            with contextlib.suppress(OSError):
                (counting / "pids.max").write_text("0", "ascii")
            group_folder.signal_all(counting)

    def destroy(self) -> list[str]:
        """End what is in it and remove it (blocking). Names what could not be removed."""
        self.kill()
        left = []
        for folder in dict.fromkeys(self.folders.values()):
            if not group_folder.remove(folder):
                left.append(str(folder))
            with contextlib.suppress(OSError), _BASE:
                _remove_if_last(folder.parent)
        self.folders = {}
        return left


def _tasks(processes: int) -> int:
    """The kernel counts threads, and an honest process may have many; processes are counted from outside."""
    return 4 * processes + 128


def _make(folder: Path) -> None:
    with contextlib.suppress(FileExistsError):
        folder.mkdir()


def _hand_down(base: Path) -> None:
    """Let groups in `base` have the controllers that `base` has."""
    wanted = set((base / "cgroup.controllers").read_text("ascii").split()) & {"memory", "pids", "cpu"}
    given = set((base / "cgroup.subtree_control").read_text("ascii").split())
    if wanted - given:
        orders = " ".join(f"+{name}" for name in sorted(wanted - given))
        (base / "cgroup.subtree_control").write_text(orders, "ascii")


def _remove_if_last(base: Path) -> None:
    """Remove the groups of this process where no trial has one any more."""
    if {entry.name for entry in base.iterdir() if entry.is_dir()} == {LAUNCHERS}:
        # A launcher that has just ended may still be counted in it.
        deadline = time.monotonic() + group_folder.PATIENCE_SECONDS
        while group_folder.pids(base / LAUNCHERS) and time.monotonic() < deadline:
            time.sleep(group_folder.PAUSE_SECONDS)
        if group_folder.remove(base / LAUNCHERS, kill=False):
            base.rmdir()


def reclaim_groups() -> int:
    """End and remove the groups of processes of ours that are dead. Returns how many processes were ended."""
    ended = 0
    for folder in {parent.folder for parent in find().values()}:
        try:
            bases = [entry for entry in folder.iterdir() if entry.name.startswith(PREFIX) and entry.is_dir()]
        except OSError:
            continue  # it is gone, or closed to us
        for base in bases:
            if _abandoned(base.name):
                ended += _reclaim(base)
    return ended


def _abandoned(name: str) -> bool:
    words = name.removeprefix(PREFIX).split("-")
    if words[0] == "probe" and len(words) == 3 and words[1].isdigit():
        return _start_time(int(words[1])) is None
    if len(words) != 3 or not all(word.isdigit() for word in words):
        return False
    namespace, pid, started = map(int, words)
    # In another namespace the pid is another process: whether that one lives cannot be told from here.
    return namespace == _pid_namespace() and _start_time(pid) != started


def _reclaim(base: Path) -> int:
    ended = 0
    with contextlib.suppress(OSError):
        for group in [entry for entry in base.iterdir() if entry.is_dir()]:
            if group.name != LAUNCHERS:
                ended += sum(1 for pid in group_folder.pids(group) if not group_folder.is_zombie(pid))
            group_folder.remove(group)
        base.rmdir()
    return ended
