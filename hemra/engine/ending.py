"""Puts the end of a try into the log: its final state, or that it will be tried again."""

from __future__ import annotations

import contextlib

import msgspec

from eventlog.errors import RecorderUnavailable
from eventlog.schemas.conversation import NoteRecorded
from eventlog.schemas.trials import TrialFinished, TrialRetried
from hemra.engine import limits
from hemra.engine.context import Job, LogLost, RunContext
from hemra.engine.outcome import OUTCOMES, Verdict
from hemra.engine.schedule import TryEnd, backoff
from hemra.engine.trial import Try
from hemra.scoring.contract import FAIL, PASS


async def attempt(context: RunContext, job: Job, try_no: int, repeated: int, may_repeat: bool) -> TryEnd:
    """Carry out one try and record its end. `repeated` is how many tries of the trial were repeated before.

    A log that takes no more ends the run (see `Stop`), and the try with it; a resumed run carries its trial
    out again.
    """
    one = Try(context, job, try_no)
    try:
        await one.carry_out()
        return await _settle(one, repeated, may_repeat)
    except LogLost as error:
        one.cancelled = str(error)
        if not isinstance(error.__cause__, RecorderUnavailable):
            # A disk that had no room for a blob may have some for this: then the try has an end.
            with contextlib.suppress(LogLost):
                await one.log.append(final_state(one, one.verdict()))
        return TryEnd("cancelled", str(error), final=True)


async def _settle(one: Try, repeated: int, may_repeat: bool) -> TryEnd:
    verdict = one.verdict()
    # The reason may quote what the harness printed, and it is told outside the trial's own log too.
    told = one.log.redactor.clean_text(verdict.reason) if verdict.reason else None
    _watch_clock(one)
    if may_repeat and OUTCOMES[verdict.outcome].retry:
        await _record_repeat(one, verdict, told, repeated)
        return TryEnd(verdict.outcome, told, final=False)
    finished = final_state(one, verdict)
    await one.log.append(finished)
    one.context.finished[one.job.trial] = finished
    info = {
        "trial": one.job.trial,
        "harness": one.job.harness.name,
        "task": one.job.task.id,
        "attempt": one.job.attempt,
    }
    one.context.progress.trial_finished(
        info | msgspec.structs.asdict(one.log.redactor.clean_struct(finished))
    )
    return TryEnd(verdict.outcome, told, final=True)


def _watch_clock(one: Try) -> None:
    step = one.context.clock.stepped_ns()
    if step is not None:
        text = f"the wall clock went {'ahead' if step > 0 else 'back'} by {abs(step) / 1e9:.1f} s"
        one.log.emit(
            NoteRecorded(level="warning", code="clock_stepped", text=text, details={"step_ns": step})
        )


async def _record_repeat(one: Try, verdict: Verdict, told: str | None, repeated: int) -> None:
    pause = backoff(verdict.outcome, repeated)
    reason = told or verdict.outcome
    await one.log.append(
        TrialRetried(
            try_no=one.try_no, outcome=verdict.outcome, reason=reason, backoff_seconds=pause,
            duration_ns=one.phases.elapsed_ns(),
        )
    )  # fmt: skip
    one.context.progress.note(
        f"trial {one.job.trial} ({one.job.task.id}, {one.job.harness.name}): {verdict.outcome}: {reason}; "
        f"trying again in {pause:g} s"
    )


def final_state(one: Try, verdict: Verdict) -> TrialFinished:
    """The three facts of a try: how it ended, what the scorer said, what it cost. Null = not known."""
    result, said, score = one.result, one.conclusion, one.score
    counts = OUTCOMES[verdict.outcome].scored and score is not None and score.status in (PASS, FAIL)
    started = result is not None and result.started
    flags = [
        *verdict.flags, *(result.flags if result else []), *(said.flags if said else []),
        *limits.passed(one.job.limits, turns=one.turns, usage=one.usage), *one.flags,
    ]  # fmt: skip
    return TrialFinished(
        try_no=one.try_no,
        outcome=verdict.outcome,
        reason=verdict.reason,
        flags=list(dict.fromkeys(flags)),
        limit=result.limit if result else None,
        exit_code=result.exit_code if result else None,
        exit_signal=result.exit_signal if result else None,
        duration_ns=one.phases.elapsed_ns(),
        agent_ns=_agent_ns(one) if started else None,
        phases=dict(one.phases.durations),
        scored=counts,
        score_status=score.status if score else None,
        reward=score.score if score and counts else None,
        usage=one.usage,
    )


def _agent_ns(one: Try) -> int | None:
    """Time of the harness: to its own word that it was done, else to its exit."""
    assert one.result is not None
    return one.result.duration_ns if one.result.ended_ns is None else one.result.ended_ns
