"""Which trials of a run are run again although they ended, and how a person is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hemra.engine.outcome import OUTCOMES

if TYPE_CHECKING:
    from hemra.engine.state import RunState, TrialState


def retry_unmeasured(state: RunState) -> list[TrialState]:
    """Have the trials that ended without a measurement run again; those trials, in plan order."""
    found = state.unmeasured()
    for trial in found:
        trial.retry()
    return found


def told(state: RunState, retried: list[TrialState]) -> str:
    """One line that says which trials are run again, by what became of them, or that there are none."""
    if not retried:
        left = "nothing to run again" if state.finished else "none to run again"
        return f"run {state.plan.run} has no trial that could not be measured; there is {left}"
    kinds: dict[str, list[str]] = {}
    for trial in retried:
        kinds.setdefault(_failed(trial), []).append(trial.trial)
    which = "; ".join(f"{kind} {', '.join(trials)}" for kind, trials in kinds.items())
    how = (
        "trial that could not be measured is"
        if len(retried) == 1
        else "trials that could not be measured are"
    )
    return f"{len(retried)} {how} run again: {which}"


def _failed(trial: TrialState) -> str:
    """Its outcome; where that would count, also why there is no score."""
    policy = OUTCOMES.get(trial.outcome)
    counts = policy is not None and policy.scored
    return f"{trial.outcome} ({trial.score or 'no score'})" if counts else trial.outcome
