"""Control groups: which of this machine's hierarchies are used, and what is written to and read from them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eventlog.schemas.runs import Limits
from hemra.sandboxes import cgroups, hierarchies
from hemra.sandboxes.cgroups import Group, reclaim_groups, usable
from hemra.sandboxes.hierarchies import Parent, mounts, own_groups

MOUNTINFO = """\
30 24 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw,relatime shared:5 - cgroup2 cgroup2 rw,nsdelegate
32 30 0:28 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 30 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
"""
LIMITS = Limits(memory_bytes=64 << 20, processes=10)


def test_hierarchies_of_both_versions_are_read() -> None:
    """A machine in transition has both, and a container sees a part of one."""
    found = mounts(MOUNTINFO)
    assert [(m.version, str(m.point), m.root) for m in found] == [
        (2, "/sys/fs/cgroup/unified", "/"),
        (1, "/sys/fs/cgroup/cpu,cpuacct", "/docker/abc"),
        (1, "/sys/fs/cgroup/memory", "/"),
    ]
    assert {"cpu", "cpuacct"} <= found[1].controllers
    assert own_groups("4:memory:/a/b\n2:cpu,cpuacct:/c:d\n0::/user.slice\n") == {
        "memory": "/a/b", "cpu": "/c:d", "cpuacct": "/c:d", "": "/user.slice",
    }  # fmt: skip


def unified(root: Path, *, handed_down: str, own: str = "/user.slice/app.scope") -> None:
    """A version 2 tree in plain files, in which this process is in `own`."""
    for folder in ("", "user.slice", "user.slice/app.scope"):
        (root / folder).mkdir(exist_ok=True)
        for name, text in {
            "cgroup.procs": "", "cgroup.controllers": "memory pids cpu",
            "cgroup.subtree_control": handed_down if folder == "user.slice" else "",
        }.items():  # fmt: skip
            (root / folder / name).write_text(text, encoding="ascii")


def test_a_group_is_made_where_the_controllers_are_handed_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In version 2 a group beside this process's own may have limits, one in it may not; nothing is switched on."""
    unified(tmp_path, handed_down="memory pids")
    text = f"31 30 0:27 / {tmp_path} rw - cgroup2 cgroup2 rw\n"
    files = {"/proc/self/mountinfo": text, "/proc/self/cgroup": "0::/user.slice/app.scope\n"}
    real = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path, *a, **k: files.get(str(path)) or real(path, *a, **k))
    found = hierarchies.find()
    assert found["memory"] == found["processes"] == Parent(2, tmp_path / "user.slice")
    # Not in another group of the same tree, nearer though it is: to enter that is to leave the one with the limits.
    assert found["track"] == Parent(2, tmp_path / "user.slice")
    assert "cpu" not in found
    assert (tmp_path / "user.slice" / "cgroup.subtree_control").read_text(encoding="ascii") == "memory pids"


def test_without_limits_to_be_held_the_nearest_group_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes are found and ended in a group even where it can have no limits."""
    unified(tmp_path, handed_down="")
    text = f"31 30 0:27 / {tmp_path} rw - cgroup2 cgroup2 rw\n"
    files = {"/proc/self/mountinfo": text, "/proc/self/cgroup": "0::/user.slice/app.scope\n"}
    real = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path, *a, **k: files.get(str(path)) or real(path, *a, **k))
    assert hierarchies.find() == {"track": Parent(2, tmp_path / "user.slice" / "app.scope")}


@pytest.fixture
def plain_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Groups of version 2 as plain folders: the kernel's files are made with them."""

    def make(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        for name in ("cgroup.controllers", "cgroup.subtree_control", "cgroup.procs"):
            (folder / name).touch()
        (folder / "cgroup.controllers").write_text("memory pids", encoding="ascii")
        for name, key in (("memory.events", "oom_kill"), ("pids.events", "max")):
            (folder / name).write_text(f"low 0\n{key} 0\n", encoding="ascii")

    monkeypatch.setattr(cgroups, "_make", make)
    monkeypatch.setattr(
        cgroups, "_usable", lambda: dict.fromkeys(("memory", "processes"), Parent(2, tmp_path))
    )
    return tmp_path


def test_limits_of_version_2_are_written_and_read(plain_files: Path) -> None:
    """Another file name, or swap that is not counted, would be a limit that nobody holds."""
    group = Group("run.0001.1", LIMITS)
    group.create()
    folder = group.folders["memory"]
    assert (folder / "memory.max").read_text(encoding="ascii") == str(64 << 20)
    assert (folder / "memory.swap.max").read_text(encoding="ascii") == "0"
    assert int((folder / "pids.max").read_text(encoding="ascii")) >= 10
    base = (folder.parent / "cgroup.subtree_control").read_text(encoding="ascii")
    assert base == "+memory +pids"
    assert group.fired() is None
    (folder / "pids.events").write_text("max 2\n", encoding="ascii")
    fired = group.fired()
    assert fired is not None
    assert (fired.name, fired.value) == ("processes", 10)
    (folder / "memory.events").write_text("oom 1\noom_kill 1\n", encoding="ascii")
    (folder / "memory.peak").write_text(str(70 << 20), encoding="ascii")
    fired = group.fired()
    assert fired is not None
    assert (fired.name, fired.measured) == ("memory_bytes", 70 << 20)


@pytest.mark.parametrize(
    ("version", "files"),
    [(2, {"cpu.max": "50000 100000"}), (1, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"})],
)
def test_processors_are_rationed_in_both_versions(
    plain_files: Path, monkeypatch: pytest.MonkeyPatch, version: int, files: dict[str, str]
) -> None:
    """Another file, or another unit, would be a ration that nobody holds."""
    monkeypatch.setattr(cgroups, "_usable", lambda: {"cpus": Parent(version, plain_files)})
    group = Group("run.0001.1", Limits(cpus=0.5))
    group.create()
    assert {name: (group.folders["cpus"] / name).read_text(encoding="ascii") for name in files} == files
    assert set(group.doors()) == {"enter0", "leave0"}
    assert all(door.name == {1: "tasks", 2: "cgroup.procs"}[version] for door in group.doors().values())
    without = Group("run.0002.1", Limits())
    without.create()
    assert (without.folders, without.uses) == (
        {},
        {"cpus"},
    )  # what is not asked for costs nothing, and can be had


def test_no_group_is_made_for_what_namespaces_do_already(
    plain_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a tree of its own it would cost every trial the time to enter it; with the limits it costs nothing."""
    apart = {"memory": Parent(2, plain_files), "track": Parent(2, plain_files / "other")}
    monkeypatch.setattr(cgroups, "_usable", lambda: apart)
    group = Group("run.0001.1", LIMITS, tracked=False)
    group.create()
    assert set(group.folders) == {"memory"}
    monkeypatch.setattr(
        cgroups, "_usable", lambda: dict.fromkeys(("memory", "track"), Parent(2, plain_files))
    )
    group = Group("run.0002.1", LIMITS, tracked=False)
    group.create()
    assert set(group.folders) == {"memory", "track"}


def test_a_group_that_is_being_ended_gets_no_more_processes(plain_files: Path) -> None:
    """A fork bomb would stay ahead of whoever ends its processes one by one."""
    group = Group("run.0001.1", LIMITS)
    group.create()
    group.kill_now()
    assert (group.folders["processes"] / "pids.max").read_text(encoding="ascii") == "0"


@pytest.mark.skipif(not usable(), reason="needs control groups that this user may make")
def test_a_group_that_a_dead_process_left_is_ended_and_removed() -> None:
    """The programs of a killed engine would go on for ever, in a group that nobody looks at."""
    code = """
import subprocess, sys
from hemra.sandboxes.cgroups import Group
from eventlog.schemas.runs import Limits
group = Group("run.0001.1", Limits()); group.create()
child = subprocess.Popen(["sleep", "600"], stdin=-3, stdout=-3, stderr=-3)
for name, door in group.doors().items():
    if name.startswith("enter"): door.write_text(str(child.pid))
print(child.pid, *group.folders.values(), flush=True)
import os; os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pid, *folders = done.stdout.split()
    assert all(Path(folder).is_dir() for folder in folders)
    assert reclaim_groups() >= 1
    assert not any(Path(folder).parent.exists() for folder in folders)
    assert not Path(f"/proc/{pid}").exists() or b"Z" in Path(f"/proc/{pid}/stat").read_bytes()


@pytest.mark.parametrize("name", ["hemra-engine", "hemra-1-2", "hemra-a-b-c", "other", "hemra-"])
def test_groups_of_somebody_else_are_left_alone(name: str) -> None:
    """Ending what looks a little like ours would end a service of the machine."""
    assert not cgroups._abandoned(name)
    here = os.stat("/proc/self/ns/pid").st_ino
    assert cgroups._abandoned(f"hemra-{here}-{2**22 + 1}-1")
    assert not cgroups._abandoned(f"hemra-{here + 1}-{2**22 + 1}-1")  # numbers of another namespace
    assert not cgroups._abandoned(cgroups._own_name())
