"""Says why nothing more comes while a run is followed that nobody carries out."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hemra.cli.context import settings
from hemra.cli.output import say

if TYPE_CHECKING:
    from eventlog.store import Store

#: How often is looked, and how often in a row nobody must write before that is said: a run that begins or is
#: resumed is without a writer for an instant.
_LOOK_S = 0.5
_LOOKS = 2


@contextlib.contextmanager
def waiting_told(store: Store, stream: str) -> Iterator[None]:
    """While inside: one line on stderr whenever the stream has been left unfinished by its writer."""
    if settings().quiet:
        yield
        return
    stop = threading.Event()
    watcher = threading.Thread(target=_watch, args=(store, stream, stop), name="tail watcher", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()


def _watch(store: Store, stream: str, stop: threading.Event) -> None:
    from eventlog.errors import LogError
    from eventlog.reader import stream_state

    silent = 0
    while not stop.wait(_LOOK_S):
        try:
            state = stream_state(store, stream)
            if state.live or state.finished:
                silent = 0
                continue
            silent += 1
            if silent == _LOOKS:
                say(f"{_why(store, stream, state.last_seq)}; waiting for a resume (Ctrl-C ends)", err=True)
        except (LogError, OSError):
            return  # whoever reads the events tells what is wrong with them


def _why(store: Store, stream: str, last: int) -> str:
    """`cancelled` if that is the last word about the run, else that nobody is at work."""
    from eventlog.reader import read

    recent = read(store, stream, start=max(1, last - 100), types=("run.*",))
    word = None
    for event in recent:
        word = event.type
    return "cancelled" if word == "run.cancelled" else "nobody carries this run out"
