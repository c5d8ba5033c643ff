"""Samples of what a tree of processes uses, against real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from hemra.telemetry import process_tree
from hemra.telemetry.process_tree import children, proportional_bytes, read_process, tree
from hemra.telemetry.sampler import TreeSampler
from tests.hemra.sandboxed import attempt, python

MB = 1 << 20
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: reads /proc")

#: A process with two children, one of which holds 50 MB and has burnt CPU; it says when all is ready.
PARENT = """
import os, subprocess, sys
hog = ("import time\\nx = bytearray(50 << 20)\\nfor i in range(0, len(x), 4096): x[i] = 1\\n"
       "end = time.process_time() + 0.3\\nwhile time.process_time() < end: pass\\n"
       "print('ready', flush=True)\\ntime.sleep(60)")
subprocess.Popen([sys.executable, "-I", "-S", "-c", hog])
subprocess.Popen(["sleep", "60"])
import time; time.sleep(60)
"""


@pytest.fixture
def parent() -> object:
    """The process of PARENT, ready."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, start_new_session=True
    ) as one:
        assert one.stdout is not None
        one.stdout.readline()
        yield one
        os.killpg(one.pid, 9)


def test_a_sample_sums_over_the_tree_below(parent: subprocess.Popen[bytes]) -> None:
    """Memory and CPU of a harness are mostly those of its children."""
    sample = TreeSampler(parent.pid).sample()
    assert sample.processes == 2
    assert sample.rss_bytes is not None
    assert 50 * MB < sample.rss_bytes < 90 * MB
    assert sample.cpu_ns is not None
    assert 0.25e9 < sample.cpu_ns < 5e9


def test_psutil_gives_the_same_where_there_is_no_proc(
    parent: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way that other systems go must count the same things."""
    here = {use.pid for use in tree(parent.pid)}
    monkeypatch.setattr(process_tree, "sys", SimpleNamespace(platform="darwin"))
    there = tree(parent.pid)
    assert {use.pid for use in there} == here
    assert sum(use.rss_bytes for use in there) > 50 * MB
    assert sum(use.cpu_ns for use in there) > 0.25e9


@linux
def test_a_kernel_without_lists_of_children_is_no_obstacle(
    parent: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some kernels are built without them; the slower way must take over."""

    def absent(pid: int) -> list[int]:
        raise NotImplementedError

    expected = {use.pid for use in tree(parent.pid)}
    monkeypatch.setattr(process_tree, "children", absent)
    assert {use.pid for use in tree(parent.pid)} == expected


@linux
def test_a_child_that_dies_meanwhile_is_left_out(
    parent: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process that ends between two reads must not cost the whole sample."""
    real = process_tree.read_process
    gone = children(parent.pid)[0]
    monkeypatch.setattr(process_tree, "read_process", lambda pid: None if pid == gone else real(pid))
    assert TreeSampler(parent.pid).sample().processes == 1
    monkeypatch.setattr(process_tree, "children", lambda pid: [*children(pid), 999_999_999])
    assert TreeSampler(parent.pid).sample().processes == 1


def test_what_cannot_be_read_is_null() -> None:
    """No process, no figures: never 0."""
    done = subprocess.Popen(["true"])
    done.wait()
    sample = TreeSampler(done.pid).sample()
    assert (sample.processes, sample.rss_bytes, sample.cpu_ns) == (None, None, None)


@linux
def test_zombies_count_for_their_cpu_only() -> None:
    """A child that has ended and was not waited for is no process any more, but its CPU was used."""
    code = (
        "import subprocess, sys, time\n"
        "burn = 'import time\\nwhile time.process_time() < 0.2: pass'\n"
        "child = subprocess.Popen([sys.executable, '-c', burn])\n"
        "time.sleep(0.5)\nprint('ready', flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        one.stdout.readline()
        deadline = time.monotonic() + 10
        while not any(use.zombie for use in tree(one.pid)) and time.monotonic() < deadline:
            time.sleep(0.01)
        sample = TreeSampler(one.pid).sample()
        one.kill()
    assert (sample.processes, sample.rss_bytes) == (0, None)
    assert sample.cpu_ns is not None
    assert sample.cpu_ns >= 0.15e9


@linux
def test_a_process_name_with_brackets_is_read(tmp_path: Path) -> None:
    """A program may call itself anything; the fields after its name must still be found."""
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to("/bin/sleep")
    with subprocess.Popen([str(odd), "60"]) as one:
        deadline = time.monotonic() + 10
        while (use := read_process(one.pid)) is None or use.rss_bytes == 0:
            assert time.monotonic() < deadline
        assert use.parent == os.getpid()
        one.kill()
    assert read_process(999_999_999) is None


@linux
def test_shared_memory_is_counted_once(parent: subprocess.Popen[bytes]) -> None:
    """The exact sum is below the sum of resident sizes, and a process that is gone does not spoil it."""
    sampler = TreeSampler(parent.pid)
    rss = sampler.sample().rss_bytes
    exact = sampler.shared_once_bytes()
    assert rss is not None
    assert exact is not None
    assert 50 * MB < exact < rss
    assert proportional_bytes([*sampler.pids, 999_999_999]) is not None


@linux
def test_a_trial_is_sampled_from_its_first_moment(tmp_path: Path) -> None:
    """Short trials have figures too, and long ones five a second."""
    code = "import time\nx = bytearray(30 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep(1.1)"
    ran = attempt(tmp_path, python(code))
    assert 5 <= len(ran.samples) <= 8
    assert max(sample.rss_bytes or 0 for sample in ran.samples) > 30 * MB
    assert ran.result.peak_memory_bytes is not None
    assert 30 * MB < ran.result.peak_memory_bytes < 60 * MB
    assert ran.result.cpu_ns is not None
    assert 0 < ran.result.cpu_ns < 2e9
