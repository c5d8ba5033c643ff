"""Stopping a run from outside: its engine is asked to end it in order, or, without one, the log says so."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from eventlog.errors import LogError
from eventlog.schemas.runs import RunCancelled
from hemra.engine.begin import SOURCE
from hemra.engine.leave import leave
from hemra.engine.lock import EngineBusy, EngineLock
from hemra.engine.state import load
from hemra.errors import HemraError, NotFound

if TYPE_CHECKING:
    from eventlog.store import Store

#: An engine that is asked to end waits for what it is scoring; this is longer than any of that.
WAIT_SECONDS = 180.0


def cancel(store: Store, run: str) -> str:
    """Stop a run and say in one line what was done. Blocks until its engine has ended.

    Raises NotFound, and HemraError when the engine does not end in `WAIT_SECONDS`.
    """
    if run not in store.streams():
        raise NotFound(f"no run {run}; `hemra runs` lists them")
    lock = EngineLock(store.stream_path(run), run)
    try:
        lock.acquire()
    except EngineBusy as busy:
        return _end_engine(store, run, lock, busy)
    try:
        return _without_engine(store, run)
    finally:
        lock.release()


def _end_engine(store: Store, run: str, lock: EngineLock, busy: EngineBusy) -> str:
    holder = busy.holder
    if holder is None or not holder.alive():
        raise HemraError(f"run {run} is being started or ended this moment; try again")
    os.kill(holder.pid, signal.SIGTERM)
    if not lock.wait_free(WAIT_SECONDS):
        raise HemraError(
            f"process {holder.pid}, which carries out run {run}, did not end within {WAIT_SECONDS:g} s; "
            f"`kill -KILL {holder.pid}` ends it, and `hemra resume {run}` tidies up"
        )
    try:
        state = load(store, run)
        if state.finished:
            return f"run {run} came to its end before it could be cancelled"
        if not state.cancelled:  # the signal met it before it could handle one
            return _without_engine(store, run)
    finally:
        lock.release()
    done = len(state.trials) - len(state.remaining())
    return f"run {run} is cancelled; {done} of {len(state.trials)} trials are finished"


def _without_engine(store: Store, run: str) -> str:
    """No engine lives. Record that the run is cancelled, once."""
    from hemra.sandboxes.reclaim import reclaim
    from hemra.sandboxes.scratch import scratch_parent

    state = load(store, run)
    if state.finished:
        return f"run {run} is finished; there is nothing to cancel"
    reclaim(run, scratch_parent())
    remaining = len(state.remaining())
    done = len(state.trials) - remaining
    if state.cancelled:
        return f"run {run} is cancelled already; {done} of {len(state.trials)} trials are finished"
    event = RunCancelled(reason="cancelled while no engine was running", finished=done, remaining=remaining)
    try:
        _record(store, run, event)
    except LogError as error:
        raise HemraError(f"run {run} cannot be cancelled: {error}") from error
    return f"run {run} is cancelled (its engine was gone); {done} of {len(state.trials)} trials are finished"


def _record(store: Store, run: str, event: RunCancelled) -> None:
    from eventlog.client import Client

    with Client.connect(store, run, source=SOURCE) as client:
        client.append(event)
        leave(client)
