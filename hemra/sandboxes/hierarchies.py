"""Where on this machine control groups can be made: both kinds of hierarchies, and what each of them can hold.

Version 2 is one tree for all controllers; a group of it may have limits only where the group above hands the
controller down, which is looked for here and never changed. Version 1 is one tree for each controller.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

#: What is looked for. `cpu`: CPU time is counted; `cpus`: it is rationed. `track`: every process of a group can be
#: found and ended.
USES = ("memory", "processes", "cpu", "cpus", "track")
_V1 = {"memory": "memory", "processes": "pids", "cpu": "cpuacct", "cpus": "cpu", "track": "freezer"}
_V2 = {"memory": "memory", "processes": "pids", "cpu": "cpu", "cpus": "cpu", "track": ""}


@dataclass(frozen=True)
class Parent:
    """A group of this machine in which groups for one use can be made."""

    version: int
    folder: Path


@dataclass(frozen=True)
class Mount:
    """One mounted hierarchy. `root` is the group that the mount point shows."""

    version: int
    point: Path
    root: str
    controllers: frozenset[str]


def mounts(mountinfo: str) -> list[Mount]:
    """The hierarchies in the text of /proc/self/mountinfo."""
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        version = 2 if kind[0] == "cgroup2" else 1
        found.append(Mount(version, Path(fields[4]), fields[3], frozenset(kind[2].split(","))))
    return found


def own_groups(text: str) -> dict[str, str]:
    """Controller -> group of this process, from the text of /proc/self/cgroup. Version 2 is the controller ""."""
    found = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            found[controller] = path
    return found


def find() -> dict[str, Parent]:
    """For each use the nearest group, at or above the one of this process, in which this user may make groups."""
    try:
        mounted = mounts(Path("/proc/self/mountinfo").read_text("utf-8", "replace"))
        own = own_groups(Path("/proc/self/cgroup").read_text("utf-8", "replace"))
    except OSError:
        return {}
    found = _find_v2(mounted, own)
    for use in USES:
        parent = found.get(use) or _find_v1(use, mounted, own)
        if parent is not None:
            found[use] = parent
    return found


def _find_v2(mounted: list[Mount], own: dict[str, str]) -> dict[str, Parent]:
    """One group for all uses: a process is in one group of the tree. It is the nearest that can hold the first of
    `USES` that any can hold."""
    near = [folder for mount in mounted if mount.version == 2 for folder in _upwards(mount, own.get("", "/"))]
    usable = {folder: _uses_v2(folder) for folder in near if _usable(folder)}
    for use in USES:
        for folder, uses in usable.items():
            if use in uses:
                return {each: Parent(2, folder) for each in uses}
    return {}


def _uses_v2(folder: Path) -> list[str]:
    """What groups in a folder of version 2 can be used for."""
    handed_down = _handed_down(folder)
    uses = [use for use in USES if _V2[use] in handed_down]
    return [*uses, "track"] if _kills_groups() else uses


def _find_v1(use: str, mounted: list[Mount], own: dict[str, str]) -> Parent | None:
    for mount in mounted:
        if mount.version == 1 and _V1[use] in mount.controllers:
            for folder in _upwards(mount, own.get(_V1[use], "/")):
                if _usable(folder):
                    return Parent(1, folder)
    return None


def _upwards(mount: Mount, group: str) -> list[Path]:
    """The folders of a group and of those above it, as far as the mount shows them."""
    inner = group.removeprefix(mount.root.rstrip("/")) if mount.root != "/" else group
    below = mount.point / inner.lstrip("/")
    if ".." in below.parts or not below.is_dir():
        return [mount.point]
    above = [folder for folder in below.parents if folder.is_relative_to(mount.point)]
    return [below, *above]


def _usable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK) and os.access(folder / "cgroup.procs", os.W_OK)


def _handed_down(folder: Path) -> set[str]:
    try:
        return set((folder / "cgroup.subtree_control").read_text("ascii").split())
    except OSError:
        return set()


def _kills_groups() -> bool:
    """Whether this kernel has `cgroup.kill` (Linux 5.14): a hierarchy's first group does not show it."""
    numbers = os.uname().release.split("-")[0].split(".")[:2]
    return len(numbers) == 2 and all(map(str.isdigit, numbers)) and tuple(map(int, numbers)) >= (5, 14)
