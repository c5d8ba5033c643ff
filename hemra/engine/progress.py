"""What the engine tells whoever watches a run. A watcher that fails never costs a trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Progress(Protocol):
    """Called from the engine's loop, in order. Every method must return soon."""

    def run_planned(self, run: str, trials: int) -> None:
        """`trials` is how many trials this engine is going to carry out."""

    def trial_started(self, trial: str, *, harness: str, task: str, attempt: int, try_no: int) -> None:
        """A trial's start is in the log."""

    def trial_finished(self, info: dict[str, Any]) -> None:
        """A trial's final state is in the log. `info`: trial, harness, task, attempt and the event's data."""

    def note(self, text: str) -> None:
        """One line that a person should see."""

    def close(self) -> None:
        """Nothing more will come."""


class Quiet:
    """A watcher that says nothing."""

    def run_planned(self, run: str, trials: int) -> None:
        """Nothing."""

    def trial_started(self, trial: str, *, harness: str, task: str, attempt: int, try_no: int) -> None:
        """Nothing."""

    def trial_finished(self, info: dict[str, Any]) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Guarded:
    """Passes everything on to a watcher until it first raises; then it is left alone.

    `failure` is the one-line text of what it raised, for the run's record.
    """

    def __init__(self, inner: Progress) -> None:
        self._inner = inner
        self.failure: str | None = None

    def _call(self, step: Callable[[], None]) -> None:
        if self.failure is not None:
            return
        try:
            step()
        except Exception as error:  # noqa: BLE001 - a broken watcher must not end a run that costs money
            self.failure = f"{type(error).__name__}: {error}"

    def run_planned(self, run: str, trials: int) -> None:
        """See `Progress`."""
        self._call(lambda: self._inner.run_planned(run, trials))

    def trial_started(self, trial: str, *, harness: str, task: str, attempt: int, try_no: int) -> None:
        """See `Progress`."""
        self._call(
            lambda: self._inner.trial_started(
                trial, harness=harness, task=task, attempt=attempt, try_no=try_no
            )
        )

    def trial_finished(self, info: dict[str, Any]) -> None:
        """See `Progress`."""
        self._call(lambda: self._inner.trial_finished(info))

    def note(self, text: str) -> None:
        """See `Progress`."""
        self._call(lambda: self._inner.note(text))

    def close(self) -> None:
        """See `Progress`; called even after a failure, so that a terminal is given back."""
        self.failure, earlier = None, self.failure
        self._call(self._inner.close)
        self.failure = earlier or self.failure
