"""What all trials of a run share, and how they write into its log."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eventlog.errors import BadEvent, LogError, RecorderUnavailable
from hemra.engine import check
from hemra.engine.clockwatch import ClockWatch
from hemra.engine.progress import Guarded
from hemra.engine.stop import Stop
from hemra.sandboxes.shown import Shown
from hemra.secrets import Redactor

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from eventlog.client import Client
    from eventlog.schemas.base import EventData
    from eventlog.schemas.runs import Limits
    from eventlog.schemas.trials import TrialFinished
    from eventlog.store import Store
    from harnesses.base import Harness
    from hemra.datasets.model import Task
    from hemra.engine.served import RunGateway
    from hemra.sandboxes.base import Sandbox

T = TypeVar("T")


class LogLost(Exception):
    """The run's log cannot take more: nothing that happens from here on can be recorded."""


@dataclass(frozen=True)
class Job:
    """One trial to carry out. `limits` are the task's with the run's put over them; `sandbox` is the task's own."""

    trial: str
    attempt: int
    seed: int
    task: Task
    harness: Harness
    limits: Limits
    sandbox: str | None = None


@dataclass
class RunContext:
    """A run that is being carried out.

    `open` holds the sandboxes that exist now, `finished` the final states recorded by this engine, by trial.
    `gateway` is the model gateway, for the trials of harnesses that have an upstream; `network` what the run asks for.
    `unreachable` is why the recorder could not be reached; then nothing is sent to it any more, for each
    attempt would wait as long as the first one did.
    """

    store: Store
    run: str
    client: Client
    progress: Guarded
    stop: Stop
    sandbox: str
    root: Path
    workers: Executor
    loop: asyncio.AbstractEventLoop
    redactors: dict[str, Redactor] = field(default_factory=dict)
    gateway: RunGateway | None = None
    network: str | None = None
    shown: Shown = field(default_factory=Shown)
    clock: ClockWatch = field(default_factory=ClockWatch)
    open: dict[str, Sandbox] = field(default_factory=dict)
    finished: dict[str, TrialFinished] = field(default_factory=dict)
    unreachable: RecorderUnavailable | None = None

    async def in_thread(self, work: Callable[..., T], *args: Any) -> T:
        """The result of blocking `work`, with the loop left free."""
        return await self.loop.run_in_executor(self.workers, work, *args)

    def kill_now(self) -> None:
        """End every sandbox's processes without waiting; for a signal handler."""
        for sandbox in list(self.open.values()):
            with contextlib.suppress(Exception):
                sandbox.kill_now()

    def log(self, trial: str | None, harness: str | None = None) -> TrialLog:
        """Writes events of one trial (or, with None, of the run)."""
        return TrialLog(self, trial, self.redactors.get(harness or "", Redactor({})))


class TrialLog:
    """Writes events of one trial. Every event is cleaned of secrets first. Raises LogLost."""

    def __init__(self, context: RunContext, trial: str | None, redactor: Redactor) -> None:
        self._context = context
        self._trial = trial
        self.redactor = redactor

    def emit(self, data: EventData) -> None:
        """Hand an event over; it is on disk soon, and before whatever is appended next."""
        self._check()
        try:
            self._context.client.emit(self.redactor.clean_struct(data), trial=self._trial)
        except BadEvent:
            raise  # this event is at fault, not the log
        except (LogError, OSError) as error:
            raise self.lost(error) from error

    async def append(self, data: EventData) -> int | None:
        """Record an event; on disk on return. Gives its seq, or None where a resend hid it."""
        self._check()
        try:
            return await self._context.client.append_async(
                self.redactor.clean_struct(data), trial=self._trial
            )
        except BadEvent:
            raise
        except (LogError, OSError) as error:
            raise self.lost(error) from error

    async def settle(self) -> None:
        """Return once everything emitted so far is on disk."""
        self._check()
        try:
            await self._context.in_thread(self._context.client.flush)
        except (LogError, OSError) as error:
            raise self.lost(error) from error

    def _check(self) -> None:
        if (error := self._context.unreachable) is not None:
            raise LogLost(lost_reason(self._context.store, error)) from error

    def lost(self, error: Exception) -> LogLost:
        """Stop the run, for what happens from here on cannot be recorded; the exception to leave with.

        May be called from any thread.
        """
        context, reason = self._context, lost_reason(self._context.store, error)
        if isinstance(error, RecorderUnavailable):
            context.unreachable = error

        def request() -> None:
            context.stop.request(reason, end_running=True, failure=error)

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            context.loop.call_soon_threadsafe(request)
        else:
            request()
        return LogLost(reason)


def lost_reason(store: Store, error: Exception) -> str:
    """Why the log takes no more, as one line for a person."""
    # What was half-written is gone again by now, so that a little room may be seen.
    if os.strerror(errno.ENOSPC) in str(error) or check.all_but_full(store.path):
        return f"the disk is full: no space is left for {store.path}"
    if not store.log.is_dir():
        return f"the store {store.path} is gone"
    return f"the log cannot be written: {error}"
