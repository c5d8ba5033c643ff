"""When both ends of the bus stay awake: only while commits come fast, and while nobody else wants the processor."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from eventlog import pace
from eventlog.pace import Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands still until its `now` is changed, on a machine with two processors and nobody else."""
    clock = SimpleNamespace(now=100.0, stood=7.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(pace, "_processors", lambda: 2)
    monkeypatch.setattr(pace, "_stood_in_line_s", lambda: clock.stood)
    return clock


def beats(
    paced: Pace, clock: SimpleNamespace, count: int, every_s: float, meanwhile: Callable[[], None]
) -> int:
    """Let `count` beats come; after how many of them it would have stayed awake for the next."""
    awake = 0
    for _ in range(count):
        clock.now += every_s
        meanwhile()
        paced.beat()
        awake += paced.awake_until() > clock.now
    return awake


def nothing() -> None:
    """Nothing happens meanwhile."""


def test_who_has_little_to_do_sleeps_at_once(clock: SimpleNamespace) -> None:
    """If this failed, a run that records a few events a second would keep processors busy with waiting."""
    assert beats(Pace(), clock, 500, 0.01, nothing) == 0


def test_a_busy_log_stays_awake_and_sleeps_again_after_a_pause(clock: SimpleNamespace) -> None:
    """If this failed, thousands of commits a second would each wait for a sleeper, or pauses be sat out awake."""
    paced = Pace()
    assert beats(paced, clock, 100, 0.0003, nothing) > 60
    assert paced.awake_until() == pytest.approx(clock.now + 0.0006, abs=1e-6)
    clock.now += 5.0
    assert paced.awake_until() < clock.now
    assert beats(paced, clock, 1, 0.0, nothing) == 0


def test_a_processor_that_others_want_is_left_to_them(clock: SimpleNamespace) -> None:
    """If this failed, waiting would take turns from the programs under test, and then itself wait for a turn."""
    paced = Pace()

    def standing() -> None:
        clock.stood += 0.0002

    assert beats(paced, clock, 1000, 0.0003, standing) <= 2 * pace._CALM_BEATS
    assert beats(paced, clock, 7000, 0.0005, nothing) > 2000, "it is tried again when they have gone"


def test_the_kernels_own_threads_are_no_crowd(clock: SimpleNamespace) -> None:
    """If this failed, the thread that writes the disk's journal would send both ends to sleep at every commit."""

    def writing() -> None:
        clock.stood += 0.00005

    assert beats(Pace(), clock, 1000, 0.0003, writing) > 900


def test_where_the_system_does_not_say_who_waits_it_is_left_to_others(clock: SimpleNamespace) -> None:
    """If this failed, a crowd would never be noticed there."""
    clock.stood = float("inf")
    assert beats(Pace(), clock, 3000, 0.0003, nothing) <= 2 * pace._CALM_BEATS


def test_the_kernel_says_how_long_a_thread_stood_in_line() -> None:
    """If this failed, nobody would stay awake on any machine, or the figure would not be one."""
    if Path("/proc/thread-self/schedstat").exists():
        assert 0 <= pace._stood_in_line_s() < time.monotonic()
    else:
        assert pace._stood_in_line_s() == float("inf")


def test_one_processor_is_never_waited_with(clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, who waits would hold the only processor, which the other end needs to answer."""
    monkeypatch.setattr(pace, "_processors", lambda: 1)
    assert beats(Pace(), clock, 500, 0.0003, nothing) == 0
