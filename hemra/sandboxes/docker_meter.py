"""What a container uses, and which limit the kernel had to hold: read from its control groups on this machine, or
asked of the engine where those are out of sight."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker

from eventlog.schemas.conversation import TelemetrySampled
from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import LimitFired

ROOT = Path("/sys/fs/cgroup")
#: In version 1 each kind of figure is in a tree of its own.
_TREES = ("memory", "pids", "cpuacct")


def find_groups(container: str, root: Path = ROOT) -> dict[str, Path]:
    """The control groups of a container by tree; empty where they cannot be seen."""
    names = (container, f"docker-{container}.scope")
    found: dict[str, Path] = {}
    unified = (root / "cgroup.controllers").exists()
    for tree in _TREES:
        top = root if unified else root / tree
        near = _folders(top)
        for parent in (*near, *(below for folder in near for below in _folders(folder))):
            for name in names:
                if tree not in found and (parent / name).is_dir():
                    found[tree] = parent / name
    return found


def _folders(folder: Path) -> list[Path]:
    """What may be gone in the next moment is left out."""
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _keyed(path: Path, *names: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in path.read_text("ascii").splitlines():
            name, _, value = line.partition(" ")
            if name in names:
                return int(value)
    return None


def _number(path: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text("ascii"))
    return None


def _first(*reads: Callable[[], int | None]) -> int | None:
    return next((value for read in reads if (value := read()) is not None), None)


class Meter:
    """The figures of one container. `own` processes are not the trial's."""

    def __init__(self, container: str, own: int, groups: dict[str, Path] | None = None) -> None:
        self._groups = find_groups(container) if groups is None else groups
        self._own = own

    @property
    def in_sight(self) -> bool:
        """Whether the control groups can be read here."""
        return len(self._groups) == len(_TREES)

    def sample(self) -> TelemetrySampled:
        """Use now; null where it cannot be read."""
        memory, pids = self._groups["memory"], self._groups["pids"]
        count = _number(pids / "pids.current")
        return TelemetrySampled(
            processes=None if count is None else max(0, count - self._own),
            rss_bytes=_keyed(memory / "memory.stat", "total_rss", "anon"),
            cpu_ns=self.cpu_ns(),
        )

    def cpu_ns(self) -> int | None:
        """CPU time of everything that ever was in the container since it started."""
        folder = self._groups.get("cpuacct")
        if folder is None:
            return None
        micro = _keyed(folder / "cpu.stat", "usage_usec")
        return _number(folder / "cpuacct.usage") if micro is None else micro * 1000

    def oom_kills(self) -> int:
        """How many processes the kernel ended for memory."""
        folder = self._groups.get("memory")
        if folder is None:
            return 0
        return (
            _first(
                lambda: _keyed(folder / "memory.events", "oom_kill"),
                lambda: _keyed(folder / "memory.oom_control", "oom_kill"),
            )
            or 0
        )

    def forks_refused(self) -> int:
        """How often the kernel refused a new process."""
        folder = self._groups.get("pids")
        return 0 if folder is None else _keyed(folder / "pids.events", "max") or 0

    def fired(self, limits: Limits) -> LimitFired | None:
        """A limit that the kernel had to hold."""
        return fired(limits, oom_kills=self.oom_kills(), forks_refused=self.forks_refused())


def fired(
    limits: Limits, *, oom_kills: int | None, forks_refused: int | None, peak: int | None = None
) -> LimitFired | None:
    """The limit that such counts mean. Peak in bytes."""
    memory, most = limits.memory_bytes, limits.processes
    if memory is not None and oom_kills:
        return LimitFired(name="memory_bytes", value=memory, measured=max(memory, peak or 0), unit="bytes")
    if most is not None and forks_refused:
        return LimitFired(name="processes", value=most, measured=most + 1, unit="processes")
    return None


def sample_of_stats(api: docker.APIClient, container: str, own: int) -> TelemetrySampled:
    """The same as the engine tells it; null where it does not. Blocks."""
    stats: dict[str, Any] = {}
    with contextlib.suppress(docker.errors.APIError):
        stats = api.stats(container, stream=False, one_shot=True)
    memory = (stats.get("memory_stats") or {}).get("stats") or {}
    count = (stats.get("pids_stats") or {}).get("current")
    return TelemetrySampled(
        processes=None if count is None else max(0, count - own),
        rss_bytes=memory.get("total_rss", memory.get("anon")),
        cpu_ns=((stats.get("cpu_stats") or {}).get("cpu_usage") or {}).get("total_usage"),
    )
