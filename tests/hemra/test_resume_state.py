"""What a run's events say about where it stands."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eventlog.envelope import Event
from eventlog.schemas.base import EventData
from eventlog.schemas.runs import (
    Limits,
    PlannedDataset,
    PlannedHarness,
    PlannedTask,
    RunCancelled,
    RunFinished,
    RunPlanned,
    RunResumed,
    RunStarted,
)
from eventlog.schemas.trials import TrialFinished, TrialRetried, TrialStarted
from hemra.engine.state import fold, queue
from hemra.errors import HemraError

PLAN = RunPlanned(
    run="R", name=None, dataset=PlannedDataset(name="d", digest="sha256:d", source="/d"),
    tasks=[PlannedTask(id=name, digest=f"sha256:{name}", scorer_digest="s") for name in ("a b", "ü/x")],
    harnesses=[PlannedHarness(name=n, kind="nop", digest=f"sha256:{n}", definition={}) for n in "HK"],
    attempts=1, trials=4, jobs=1, sandbox="host", seed=3, retries=1, limits=Limits(), hemra={}, host={},
)  # fmt: skip


def log(*events: tuple[str | None, EventData]) -> list[Event]:
    """Events as a reader gives them."""
    return [
        Event(
            seq=seq, id="x", time="2026-11-30T00:00:00.000000000Z", mono=seq, type=data.type, v=1, source="t",
            trial=trial, data=msgspec.to_builtins(data),
        )
        for seq, (trial, data) in enumerate(events, 1)
    ]  # fmt: skip


def started(try_no: int) -> TrialStarted:
    """The start of a try."""
    return TrialStarted(
        try_no=try_no, harness="H", task="a b", attempt=1, seed=1, instruction="", values={}, limits=Limits(),
        not_enforced=[],
    )  # fmt: skip


def finished(outcome: str, try_no: int = 1, **more: Any) -> TrialFinished:
    """The end of a try."""
    fields = {
        "reason": None, "flags": [], "limit": None, "exit_code": 0, "exit_signal": None, "duration_ns": 5,
        "agent_ns": 1, "phases": {}, "scored": outcome == "completed", "score_status": None, "reward": None,
        "usage": None,
    }  # fmt: skip
    return TrialFinished(try_no=try_no, outcome=outcome, **(fields | more))


def resumed(retried: list[str] | None) -> RunResumed:
    """The beginning of another session."""
    return RunResumed(pid=2, boot=None, jobs=1, finished=0, remaining=4, interrupted=[], retried=retried)


QUEUED = queue(PLAN)
HEAD: list[tuple[str | None, EventData]] = [(None, PLAN), *QUEUED]
BEGUN = [*HEAD, (None, RunStarted(pid=1, boot=None, jobs=1))]
RETRIED = TrialRetried(try_no=1, outcome="setup_error", reason="x", backoff_seconds=1, duration_ns=1)


def test_a_fresh_plan_has_everything_to_do() -> None:
    """A detached run would begin with nothing to do, or as a resumed one."""
    state = fold("R", log(*HEAD))
    assert [trial.trial for trial in state.remaining()] == ["0001", "0002", "0003", "0004"]
    assert (state.started, state.finished, state.missing) == (False, False, [])
    assert state.outcomes() == {"not_started": 4}


def test_what_has_ended_stays_and_the_rest_is_run() -> None:
    """A resumed run would repeat finished trials, or leave out interrupted ones."""
    state = fold(
        "R",
        log(
            *BEGUN,
            ("0001", started(1)), ("0001", finished("completed", reward=1.0)),
            ("0002", started(1)), ("0002", RETRIED), ("0002", started(2)),
            ("0003", started(1)), ("0003", finished("cancelled")),
        ),
    )  # fmt: skip
    assert [(t.trial, t.tries, t.retries) for t in state.remaining()] == [
        ("0002", 2, 1), ("0003", 1, 0), ("0004", 0, 0),
    ]  # fmt: skip
    assert state.interrupted() == ["0002"]
    assert state.outcomes() == {"cancelled": 1, "completed": 1, "not_started": 2}
    assert state.scored() == 1


def test_a_trial_that_waits_for_its_repeat_is_not_interrupted() -> None:
    """An engine that died between two tries would be blamed for a killed harness."""
    state = fold("R", log(*BEGUN, ("0001", started(1)), ("0001", RETRIED)))
    assert state.interrupted() == []
    assert state.remaining()[0].retries == 1


def test_the_last_try_counts() -> None:
    """A second try would leave the state of the first one standing."""
    first = [("0001", started(1)), ("0001", finished("cancelled")), ("0001", started(2))]
    assert fold("R", log(*BEGUN, *first)).trials["0001"].outcome == "not_started"
    again = fold("R", log(*BEGUN, *first, ("0001", finished("completed", 2)))).trials["0001"]
    assert (again.outcome, again.tries, again.ended) == ("completed", 2, True)


@pytest.mark.parametrize(
    ("outcome", "more", "unmeasured"),
    [
        ("provider_error", {}, True),
        ("auth_error", {"score_status": "PASS"}, True),
        ("unknown", {}, True),
        ("completed", {"scored": False, "score_status": "VERIFIER_ERROR"}, True),
        ("completed", {"scored": False, "score_status": "SKIPPED"}, False),
        ("timeout", {"scored": True, "score_status": "FAIL", "reward": 0.0}, False),
        ("cancelled", {}, False),
    ],
)
def test_what_ended_stays_and_what_was_not_measured_can_be_asked_for(
    outcome: str, more: dict[str, Any], unmeasured: bool
) -> None:
    """A plain resume would spend on what was measured, or `--retry-errors` would replace a score."""
    events = [*BEGUN, ("0001", started(1)), ("0001", finished(outcome, **more))]
    state = fold("R", log(*events))
    assert ("0001" in {trial.trial for trial in state.remaining()}) == (outcome == "cancelled")
    assert ([trial.trial for trial in state.unmeasured()] == ["0001"]) == unmeasured


def test_a_trial_that_is_to_be_run_again_keeps_its_end_until_it_is_started() -> None:
    """A run that was opened again and died at once would have lost its measurements, or its wish for more."""
    ended = [
        ("0001", started(1)),
        ("0001", RETRIED),
        ("0001", started(2)),
        ("0001", finished("auth_error", 2)),
    ]
    opened = (None, resumed(["0001", "0099"]))
    one = fold("R", log(*BEGUN, *ended, opened)).trials["0001"]
    assert (one.outcome, one.ended, one.unmeasured, one.retries, one.tries) == (
        "auth_error",
        False,
        False,
        0,
        2,
    )
    assert (
        fold("R", log(*BEGUN, *ended, opened, ("0001", started(3)))).trials["0001"].outcome == "not_started"
    )
    again = [*ended, opened, ("0001", started(3)), ("0001", finished("auth_error", 3))]
    assert fold("R", log(*BEGUN, *again)).trials["0001"].unmeasured
    # A log from before there was such a wish.
    assert fold("R", log(*BEGUN, *ended, (None, resumed(None)))).trials["0001"].ended


def test_a_plan_that_was_cut_is_completed_from_itself() -> None:
    """A run whose engine died while writing its plan would silently have fewer trials."""
    state = fold("R", log(*HEAD[:3]))
    assert [trial for trial, _ in state.missing] == ["0003", "0004"]
    assert [trial.queued for trial in state.remaining()] == [queued for _, queued in QUEUED]


def test_a_finished_run_is_finished_until_it_is_resumed() -> None:
    """`hemra resume` of a finished run would run it again, `hemra cancel` would cancel it."""
    ended = RunFinished(trials=4, scored=4, outcomes={}, duration_ns=1)
    state = fold("R", log(*BEGUN, (None, ended)))
    assert state.finished
    gone = RunCancelled(reason="x", finished=0, remaining=4)
    assert fold("R", log(*BEGUN, (None, gone))).cancelled
    assert not fold("R", log(*BEGUN, (None, gone), (None, RunStarted(pid=2, boot=None, jobs=1)))).cancelled


def test_a_log_without_plan_is_told_as_such() -> None:
    """A run that died in its first moment would crash resume instead of explaining itself."""
    with pytest.raises(HemraError, match="run R stopped before its plan was recorded"):
        fold("R", log())
