"""Short turns on the processor: the kernel takes them, for this thread alone."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from eventlog.scheduling import short_turns

#: Number of the system call sched_getattr.
GET_ATTR = {"x86_64": 315, "aarch64": 275, "riscv64": 275}
SHORT_NS = 100_000


def turn_and_nice() -> tuple[int, int]:
    """The calling thread's turn in nanoseconds (0 where the kernel does not say), and its nice value."""
    found = ctypes.create_string_buffer(56)
    assert ctypes.CDLL(None).syscall(GET_ATTR[platform.machine()], 0, found, 56, 0) == 0
    _, _, _, nice, _, turn = struct.unpack_from("=IIQiIQ", found.raw)
    return turn, nice


@pytest.mark.skipif(platform.machine() not in GET_ATTR, reason="the system call's number is not known here")
def test_short_turns_are_this_threads_alone() -> None:
    """If this failed, the programs under test would run with other turns than without us, or another priority."""
    before = turn_and_nice()
    found: dict[str, tuple[int, int]] = {}

    def work() -> None:
        ordinary = os.sched_getscheduler(0) == os.SCHED_OTHER and before[1] >= 0
        assert short_turns() == short_turns() == ordinary
        found["itself"] = turn_and_nice()
        started = threading.Thread(target=lambda: found.update(started=turn_and_nice()))
        started.start()
        started.join()
        code = "from tests.eventlog.test_scheduling import turn_and_nice; print(*turn_and_nice())"
        home = Path(__file__).parents[2]
        said = subprocess.run(
            [sys.executable, "-c", code], cwd=home, capture_output=True, text=True, check=True
        )
        turn, nice = map(int, said.stdout.split())
        found["child"] = turn, nice

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found["child"] == found["started"] == before
    assert found["itself"] in {before, (SHORT_NS, before[1])}
    if before[0] and before[1] >= 0:
        assert found["itself"][0] == SHORT_NS


def test_a_thread_of_another_class_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a recorder that somebody gave a real-time priority would lose it."""
    monkeypatch.setattr(os, "sched_getscheduler", lambda _: os.SCHED_FIFO)
    before = turn_and_nice()
    assert not short_turns()
    assert turn_and_nice() == before
