"""Which trial runs when: a few at a time, tries repeated where that helps, stopped when it does not.

The schedule knows nothing of sandboxes or logs. It is given how to carry out one try and how to record
that a try will be repeated, so that its rules can be tested alone.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from hemra.engine.outcome import OUTCOMES
from hemra.engine.stop import Stop

J = TypeVar("J")

#: So many trials in a row that the model's endpoint turned away stop the run.
STRIKES = 3
#: Seconds before the second try; each later one waits twice as long, up to the longest.
BACKOFF_SECONDS = {"provider_error": 5.0}
BACKOFF_DEFAULT_SECONDS = 1.0
BACKOFF_LONGEST_SECONDS = 60.0


def backoff(outcome: str, retried: int) -> float:
    """Seconds to wait before the try that follows `retried` repeated ones."""
    first = BACKOFF_SECONDS.get(outcome, BACKOFF_DEFAULT_SECONDS)
    return min(first * 2.0 ** min(retried, 16), BACKOFF_LONGEST_SECONDS)


@dataclass(frozen=True)
class TryEnd:
    """How a try ended; `final` once `trial.finished` is recorded for it."""

    outcome: str
    reason: str | None
    final: bool


class Strikes:
    """Counts trials in a row of the same harness that the model's endpoint turned away, over all workers.

    By harness, because trials of several harnesses alternate: one with a wrong key never gets three in
    a row of the whole run.
    """

    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()

    def count(self, harness: str, end: TryEnd) -> str | None:
        """One line when the run should stop, else None. What says nothing of the endpoint breaks no row."""
        if OUTCOMES[end.outcome].strikes:
            self._rows[harness] += 1
            if self._rows[harness] >= STRIKES:
                why = f" ({end.reason})" if end.reason else ""
                return (
                    f"{STRIKES} trials of {harness} in a row ended in {end.outcome}{why}; "
                    "check its key and the account"
                )
        elif OUTCOMES[end.outcome].scored:
            self._rows[harness] = 0
        return None


class Schedule(Generic[J]):
    """Carries out jobs, `width` at a time, until all are done or the run is to stop.

    `attempt(job, try_no, repeated, may_repeat)` carries out one try, the one after `repeated` that were
    repeated, and records its end: with `may_repeat` an outcome that is worth it may be left without final
    state, and the job is tried again.
    """

    def __init__(
        self,
        stop: Stop,
        attempt: Callable[[J, int, int, bool], Awaitable[TryEnd]],
        *,
        harness: Callable[[J], str],
        width: int,
        retries: int,
    ) -> None:
        self._stop = stop
        self._attempt = attempt
        self._harness = harness
        self._width = width
        self._retries = retries
        self._strikes = Strikes()

    async def run(self, jobs: Iterable[tuple[J, int, int]]) -> None:
        """`jobs`: (job, tries so far, repeated tries so far) in starting order."""
        listed = list(jobs)
        waiting = iter(listed)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._width, len(listed))):
                group.create_task(self._work(waiting))

    async def _work(self, waiting: Iterable[tuple[J, int, int]]) -> None:
        for job, tries, repeated in waiting:
            if self._stop.wanted.is_set():
                return
            end = await self._until_final(job, tries, repeated)
            if end is not None and (reason := self._strikes.count(self._harness(job), end)):
                self._stop.request(reason, end_running=False)

    async def _until_final(self, job: J, tries: int, repeated: int) -> TryEnd | None:
        while True:
            tries += 1
            end = await self._attempt(job, tries, repeated, repeated < self._retries)
            if end.final:
                return end
            pause = backoff(end.outcome, repeated)
            repeated += 1
            if await self._stopped_within(pause):
                return None

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stop.wanted.wait(), seconds)
        except TimeoutError:
            return False
        return True
