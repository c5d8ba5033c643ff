"""The phases of a try, timed by the monotonic clock and recorded as they end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from eventlog import clock
from eventlog.schemas.base import EventData
from eventlog.schemas.trials import TrialPhaseFinished
from hemra.engine.context import TrialLog

_MOST_CHARS = 500


def one_line(error: BaseException) -> str:
    """An exception as one line for a person: its own text where it was written for one."""
    from eventlog.errors import LogError
    from harnesses.errors import HarnessError
    from hemra.errors import HemraError

    text = " ".join(str(error).split())
    if not isinstance(error, HemraError | HarnessError | LogError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text[:_MOST_CHARS]


class Phases:
    """Times each phase of a try. Events are held back until `trial.started` stands before them."""

    def __init__(self, log: TrialLog, try_no: int) -> None:
        self._log = log
        self._try_no = try_no
        self._held: list[EventData] | None = []
        self.durations: dict[str, int] = {}
        self.began = clock.mono_ns()

    def elapsed_ns(self) -> int:
        """Nanoseconds since the try began."""
        return max(0, clock.mono_ns() - self.began)

    @contextlib.contextmanager
    def others(self) -> Iterator[None]:
        """What happens inside is done once for all trials: its time is no trial's."""
        began = clock.mono_ns()
        try:
            yield
        finally:
            self.began += max(0, clock.mono_ns() - began)

    def release(self) -> None:
        """`trial.started` is in the log: write down what was held back, and from now on at once."""
        held, self._held = self._held or [], None
        for event in held:
            self._log.emit(event)

    def tell(self, event: EventData) -> None:
        """Record an event of this try, after its start."""
        if self._held is None:
            self._log.emit(event)
        else:
            self._held.append(event)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Times what happens inside; an exception is recorded as the phase's end and goes on."""
        began = clock.mono_ns()
        error: str | None = None
        try:
            yield
        except BaseException as failure:
            error = one_line(failure)
            raise
        finally:
            duration = max(0, clock.mono_ns() - began)
            self.durations[name] = self.durations.get(name, 0) + duration
            self.tell(
                TrialPhaseFinished(
                    try_no=self._try_no, phase=name, duration_ns=duration, ok=error is None, error=error
                )
            )
