"""The schedule alone: width, repeats, strikes, stopping."""

from __future__ import annotations

import asyncio

import pytest

from hemra.engine import schedule
from hemra.engine.schedule import Schedule, TryEnd, backoff
from hemra.engine.stop import Stop


class Bench:
    """Carries out jobs that end as they are told to: a list of outcomes a job, the last one for ever."""

    def __init__(self, *, width: int = 1, retries: int = 1) -> None:
        self.stop = Stop()
        self.calls: list[tuple[str, int, bool]] = []
        self.running = 0
        self.most = 0
        self.script: dict[str, list[str]] = {}
        self.schedule: Schedule[str] = Schedule(
            self.stop, self.attempt, harness=lambda job: job[1:] or "h", width=width, retries=retries
        )

    async def attempt(self, job: str, try_no: int, repeated: int, may_repeat: bool) -> TryEnd:
        """One scripted try."""
        self.calls.append((job, try_no, may_repeat))
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        outcomes = self.script.get(job, ["completed"])
        outcome = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
        repeat = may_repeat and schedule.OUTCOMES[outcome].retry
        return TryEnd(outcome, "why", final=not repeat)

    async def run(self, *jobs: str) -> list[tuple[str, int, bool]]:
        """Run fresh jobs to the end and give back every call."""
        await self.schedule.run([(job, 0, 0) for job in jobs])
        return self.calls


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backoff without real seconds."""
    monkeypatch.setattr(schedule, "BACKOFF_SECONDS", {})
    monkeypatch.setattr(schedule, "BACKOFF_DEFAULT_SECONDS", 0.001)


def test_never_more_than_asked_at_a_time() -> None:
    """`--jobs 3` would overload the machine or leave it idle."""
    bench = Bench(width=3)
    asyncio.run(bench.run(*"abcdefgh"))
    assert bench.most == 3
    assert [job for job, _, _ in bench.calls] == list("abcdefgh")


def test_no_more_workers_than_jobs() -> None:
    """`--jobs` far above the number of trials would fill the memory with workers that have nothing to do."""
    bench = Bench(width=5000)
    tasks: list[int] = []
    attempt = bench.attempt

    async def counting(job: str, try_no: int, repeated: int, may_repeat: bool) -> TryEnd:
        tasks.append(len(asyncio.all_tasks()))
        return await attempt(job, try_no, repeated, may_repeat)

    bench.schedule._attempt = counting
    asyncio.run(bench.run("a", "b"))
    assert max(tasks) <= 3


def test_a_failure_of_ours_is_tried_again_and_then_left() -> None:
    """A flaky start of a sandbox would cost a trial, or a broken one would be tried for ever."""
    bench = Bench(retries=2)
    bench.script = {"a": ["setup_error", "completed"], "b": ["infra_error"]}
    calls = asyncio.run(bench.run("a", "b"))
    assert calls == [("a", 1, True), ("a", 2, True), ("b", 1, True), ("b", 2, True), ("b", 3, False)]


def test_repeats_of_an_earlier_engine_count() -> None:
    """Every resume would give a hopeless trial its retries anew."""
    bench = Bench(retries=1)
    bench.script = {"a": ["setup_error"]}
    asyncio.run(bench.schedule.run([("a", 4, 1)]))
    assert bench.calls == [("a", 5, False)]


def test_what_a_harness_did_is_never_tried_again() -> None:
    """A harness would get a second chance that others do not get."""
    bench = Bench(retries=3)
    bench.script = {"a": ["timeout"], "b": ["harness_error"], "c": ["unknown"], "d": ["auth_error"]}
    asyncio.run(bench.run("a", "b", "c", "d"))
    assert [try_no for _, try_no, _ in bench.calls] == [1, 1, 1, 1]


def test_three_refusals_in_a_row_stop_the_run() -> None:
    """A wrong key would burn through a whole night of trials."""
    bench = Bench()
    bench.script = {job: ["auth_error"] for job in "bcdef"}
    calls = asyncio.run(bench.run(*"abcdef"))
    assert [job for job, _, _ in calls] == list("abcd")
    assert bench.stop.reason is not None
    assert "3 trials of h in a row ended in auth_error (why)" in bench.stop.reason
    assert not bench.stop.running.is_set()


def test_refusals_that_are_not_in_a_row_do_not_stop_it() -> None:
    """A key that works now and then would end the run; a broken sandbox in between hides nothing."""
    bench = Bench()
    bench.script = {"a": ["quota_error"], "b": ["auth_error"], "c": ["completed"], "d": ["auth_error"]}
    asyncio.run(bench.run(*"abcd"))
    assert bench.stop.reason is None
    bench.script = {"e": ["quota_error"], "f": ["setup_error"], "g": ["quota_error"]}
    asyncio.run(bench.run(*"efgh"))
    assert bench.stop.reason is not None
    assert ("h", 1, True) not in bench.calls


def test_refusals_of_one_harness_are_seen_between_trials_of_others() -> None:
    """A harness with a wrong key beside one that works would burn through the whole plan."""
    bench = Bench()
    bench.script = {f"{n}bad": ["auth_error"] for n in range(9)}
    asyncio.run(bench.run(*(f"{n}{name}" for n in range(9) for name in ("good", "bad"))))
    assert bench.stop.reason is not None
    assert "3 trials of bad in a row" in bench.stop.reason
    assert len(bench.calls) == 6


def test_a_stop_ends_the_wait_before_a_repeat() -> None:
    """Ctrl-C during a minute of backoff would seem to hang."""

    async def scenario() -> Bench:
        bench = Bench()
        bench.script = {"a": ["provider_error"]}
        schedule.BACKOFF_DEFAULT_SECONDS = 30.0
        running = asyncio.create_task(bench.run("a", "b"))
        while not bench.calls:
            await asyncio.sleep(0)
        bench.stop.request("Ctrl-C", end_running=True)
        await asyncio.wait_for(running, 5)
        return bench

    assert [job for job, _, _ in asyncio.run(scenario()).calls] == ["a"]


def test_backoff_grows_and_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that is overloaded would be asked again at once, or a run would wait for hours."""
    monkeypatch.setattr(schedule, "BACKOFF_SECONDS", {"provider_error": 5.0})
    assert [backoff("provider_error", n) for n in range(5)] == [5, 10, 20, 40, 60]
    assert backoff("provider_error", 10_000) == 60


def test_the_first_reason_of_a_stop_is_kept() -> None:
    """The record would say `Ctrl-C` where a full disk was the cause."""
    stop = Stop()
    stop.request("disk full", end_running=False, failure=OSError("x"))
    stop.request("SIGINT received", end_running=True, signal_number=2)
    assert (stop.reason, stop.signal, str(stop.failure)) == ("disk full", 2, "x")
    assert stop.running.is_set()
