"""Limits hold against programs that run into them with all their might."""

from __future__ import annotations

import pytest

from eventlog.schemas.runs import Limits
from hemra.sandboxes.cgroups import usable
from tests.sandboxes import machine
from tests.sandboxes.escape.prison import Prison

MIB = 1 << 20
NAP = "86399.5"


@pytest.mark.parametrize(
    "bomb",
    [
        "while True: subprocess.Popen(['sleep', NAP])",
        "import threading\nwhile True:\n  with quiet(): os.fork()",
        "subprocess.run(['sh', '-c', 'b() { b | b & }; b; sleep ' + NAP])",
    ],
)
def test_a_fork_bomb_is_held(prison: Prison, bomb: str) -> None:
    """One harness would make the machine unusable for all the others."""
    out = prison.attempt(f"NAP = {NAP!r}\n{bomb}", limits=Limits(processes=30, wall_seconds=20))
    assert out.result.limit is not None
    assert out.result.limit.name == "processes"
    assert machine.processes(NAP) == []


def test_memory_past_its_limit_is_held(prison: Prison) -> None:
    """One harness would push all the others into swap, or have them killed in its place."""
    code = "kept = []\nwhile True: kept.append(bytearray(os.urandom(1 << 20) * 8))"
    out = prison.attempt(code, limits=Limits(memory_bytes=128 * MIB, wall_seconds=20))
    assert out.result.limit is not None
    assert out.result.limit.name == "memory_bytes"
    assert out.result.limit.value == 128 * MIB


def test_memory_of_many_processes_counts_together(prison: Prison) -> None:
    """Ten processes of a tenth each would pass a limit that looks at each alone."""
    code = """
large = "x = bytearray(b'x' * (30 << 20)); import time; time.sleep(60)"
for _ in range(10): subprocess.Popen([sys.executable, "-c", large])
time.sleep(60)
"""
    out = prison.attempt(code, limits=Limits(memory_bytes=150 * MIB, wall_seconds=20))
    assert out.result.limit is not None
    assert out.result.limit.name == "memory_bytes"


@pytest.mark.parametrize("place", [".", "os.environ['HOME']", "/tmp"])
def test_the_disk_cannot_be_filled(prison: Prison, place: str) -> None:
    """A full disk ends every run on the machine."""
    folder = place if place.startswith("os.") else repr(place)
    code = f"""
n = 0
while True:
    open(os.path.join({folder}, f"part{{n}}"), "wb").write(b"x" * (1 << 20)); n += 1; time.sleep(0.005)
"""
    out = prison.attempt(code, limits=Limits(workspace_bytes=20 * MIB, wall_seconds=20))
    assert out.result.limit is not None
    assert out.result.limit.name == "workspace_bytes"


def test_memory_cannot_be_filled_by_files(prison: Prison) -> None:
    """/dev/shm is memory that no process has."""
    code = """
n = 0
try:
    while n < 1000:
        open(f"/dev/shm/part{n}", "wb").write(b"x" * (1 << 20)); n += 1
except OSError as error: found(error.errno == errno.ENOSPC)
found(n < 200)
"""
    assert prison.attempt(code, limits=Limits(wall_seconds=20)).lines in (["True", "True"], [])


def test_a_file_past_its_limit_is_held(prison: Prison) -> None:
    """One file as large as the disk."""
    code = "open('big', 'wb').write(b'x' * (8 << 20))"
    out = prison.attempt(code, limits=Limits(file_bytes=1 * MIB, wall_seconds=20))
    assert "file_size_limit" in out.result.flags or (out.result.exit_code or 0) != 0


def test_processors_are_rationed_over_all_processes(prison: Prison) -> None:
    """One trial that computes on every processor would make all the others slower, and their times worth nothing."""
    if prison.ref == "bwrap" and "cpus" not in usable():
        pytest.skip("needs control groups that ration CPU time")
    code = """
children = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
time.sleep(1.5)
for child in children: child.kill(); child.wait()
"""
    out = prison.attempt(code, limits=Limits(cpus=0.3, wall_seconds=30))
    assert (out.result.exit_code, out.result.limit) == (0, None)  # slowed down, not ended
    assert out.result.cpu_ns is not None
    # The first 0.1 s may bring as much as two rations.
    assert out.result.cpu_ns / out.result.duration_ns < 0.45


def test_cpu_time_is_counted_over_all_processes(prison: Prison) -> None:
    """Two processes that compute take twice the time from the others, which a clock does not see."""
    code = "for _ in range(2): subprocess.Popen([sys.executable, '-c', 'while True: pass'])\nwhile True: pass"
    out = prison.attempt(code, limits=Limits(cpu_seconds=1.0, wall_seconds=30))
    assert out.result.limit is not None
    assert out.result.limit.name == "cpu_seconds"
    assert out.result.duration_ns < 15e9
