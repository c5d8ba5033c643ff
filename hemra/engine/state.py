"""What a run's events say about it: its plan, and how far each trial came. Resume needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from eventlog.schemas.runs import RunPlanned
from eventlog.schemas.trials import TrialFinished, TrialQueued
from hemra.engine.order import slots
from hemra.engine.outcome import OUTCOMES, Policy
from hemra.errors import HemraError, NotFound
from hemra.scoring.contract import SKIPPED

if TYPE_CHECKING:
    from eventlog.envelope import Event
    from eventlog.store import Store

#: The event types that `fold` looks at; reading only these keeps resume fast.
TYPES = (
    "run.planned", "run.started", "run.cancelled", "run.resumed", "run.finished",
    "trial.queued", "trial.started", "trial.retried", "trial.finished",
)  # fmt: skip

_UNKNOWN = Policy()


@dataclass
class TrialState:
    """One planned trial. `tries` counts starts, `retries` those that ended in `trial.retried`. `again`: it ended
    without a measurement and is to be run again, its `retries` anew."""

    trial: str
    queued: TrialQueued
    tries: int = 0
    retries: int = 0
    open: bool = False
    again: bool = False
    final: TrialFinished | None = None

    @property
    def outcome(self) -> str:
        """Its outcome so far; `not_started` also for a try that nothing ended."""
        return self.final.outcome if self.final else "not_started"

    @property
    def ended(self) -> bool:
        """Whether it came to an end of its own: what a person or the run stopped did not. A resumed run leaves it."""
        return not self.again and not OUTCOMES.get(self.outcome, _UNKNOWN).stopped

    @property
    def unmeasured(self) -> bool:
        """Whether it ended and says nothing of its harness. A scorer that could not judge it here cannot next time."""
        return self.ended and self.final is not None and not (self.final.scored or self.score == SKIPPED)

    @property
    def score(self) -> str | None:
        """The scorer's word, whether it counts or not."""
        return self.final.score_status if self.final else None

    def retry(self) -> None:
        """Have it run again although it ended. Its end stands until it is started."""
        self.again, self.retries = True, 0

    def end(self, final: TrialFinished) -> None:
        """It has come to this end."""
        self.tries = max(self.tries, final.try_no)
        self.open, self.again, self.final = False, False, final


@dataclass
class RunState:
    """A run as far as its events tell it. `missing` are trials of the plan that were never queued."""

    plan: RunPlanned
    trials: dict[str, TrialState] = field(default_factory=dict)
    missing: list[tuple[str, TrialQueued]] = field(default_factory=list)
    started: bool = False
    cancelled: bool = False
    finished: bool = False

    def remaining(self) -> list[TrialState]:
        """Trials that an engine that goes on with the run carries out, in plan order. Without any it is finished."""
        return [trial for trial in self.trials.values() if not trial.ended]

    def unmeasured(self) -> list[TrialState]:
        """Trials that ended without a measurement, in plan order."""
        return [trial for trial in self.trials.values() if trial.unmeasured]

    def interrupted(self) -> list[str]:
        """Trials that were running when an engine died: started, and neither finished nor retried."""
        return [trial.trial for trial in self.trials.values() if trial.open]

    def outcomes(self) -> dict[str, int]:
        """Trials by outcome; the counts add up to the number of planned trials."""
        return dict(sorted(Counter(trial.outcome for trial in self.trials.values()).items()))

    def scored(self) -> int:
        """Trials whose scorer's word counts."""
        return sum(1 for trial in self.trials.values() if trial.final and trial.final.scored)


def queue(plan: RunPlanned) -> list[tuple[str, TrialQueued]]:
    """Every trial of a plan with its `trial.queued`, in order. The same plan gives the same list."""
    planned = slots([task.id for task in plan.tasks], len(plan.harnesses), plan.attempts, plan.seed)
    queued = []
    for slot in planned:
        task, harness = plan.tasks[slot.task], plan.harnesses[slot.harness]
        event = TrialQueued(
            position=slot.position, harness=harness.name, harness_digest=harness.digest, task=task.id,
            task_digest=task.digest, scorer_digest=task.scorer_digest, attempt=slot.attempt, seed=slot.seed,
        )  # fmt: skip
        queued.append((slot.trial, event))
    return queued


def _apply(state: RunState, event: Event) -> None:
    if event.type in {"run.started", "run.resumed"}:
        state.started, state.cancelled, state.finished = True, False, False
        for name in event.data.get("retried") or ():
            if name in state.trials:
                state.trials[name].retry()
    elif event.type == "run.cancelled":
        state.cancelled = True
    elif event.type == "run.finished":
        state.finished = True
    elif event.type == "trial.queued" and event.trial is not None:
        queued = msgspec.convert(event.data, TrialQueued)
        state.trials.setdefault(event.trial, TrialState(event.trial, queued))
    elif (trial := state.trials.get(event.trial or "")) is not None:
        _apply_to_trial(trial, event)


def _apply_to_trial(trial: TrialState, event: Event) -> None:
    if event.type == "trial.started":
        trial.tries = max(trial.tries, int(event.data["try_no"]))
        trial.open, trial.again, trial.final = True, False, None
    elif event.type == "trial.retried":
        trial.retries += 1
        trial.open = False
    elif event.type == "trial.finished":
        trial.end(msgspec.convert(event.data, TrialFinished))


def fold(run: str, events: Iterable[Event]) -> RunState:
    """The state of `run` after `events` (in order). HemraError when they hold no plan."""
    state: RunState | None = None
    for event in events:
        if event.type == "run.planned":
            state = state or RunState(plan=msgspec.convert(event.data, RunPlanned))
        elif state is not None:
            _apply(state, event)
    if state is None:
        raise HemraError(
            f"run {run} stopped before its plan was recorded; nothing of it can be resumed: start a new run"
        )
    for trial, queued in queue(state.plan):
        if trial not in state.trials:
            # Its engine died while it wrote the plan down; the plan says what was to follow.
            state.missing.append((trial, queued))
            state.trials[trial] = TrialState(trial, queued)
    return state


def load(store: Store, run: str) -> RunState:
    """The state of a run of `store`. NotFound when there is no such run."""
    from eventlog.errors import StreamNotFound
    from eventlog.reader import read, resolve

    def events() -> Iterable[Event]:
        for event in read(store, run, types=TYPES):
            data: dict[str, Any] = resolve(store, event.data)
            yield msgspec.structs.replace(event, data=data)

    try:
        return fold(run, events())
    except StreamNotFound as error:
        raise NotFound(f"no run {run}; `hemra runs` lists them") from error
