"""Leaving a run that goes on later: its log is nobody's when its engine has ended.

A recorder lives on for a moment after its last producer has gone, for the next one might come. Of a run that was
stopped none comes, and until the recorder ends nobody else has the stream: not `hemra log export`, nor an import.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import psutil

from eventlog.reader import stream_state

if TYPE_CHECKING:
    from eventlog.client import Client

#: A recorder that is told to end closes its stream, which may mean sealing many small segments.
WAIT_SECONDS = 30.0
_LOOK_AGAIN_S = 0.01


def leave(client: Client) -> None:
    """Close the client of a run's last producer; its recorder has let go of the stream on return, or takes longer than
    any does. Raises as `Client.close`."""
    store, run = client.store, client.stream
    client.flush()
    # Only now: what holds the stream while it answers us is the recorder, and not somebody who reads or seals.
    recorder = _process(stream_state(store, run).writer)
    client.close()
    if recorder is None:
        return
    deadline = time.monotonic() + WAIT_SECONDS
    try:
        recorder.terminate()
        while stream_state(store, run).writer == recorder.pid and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN_S)
    except psutil.NoSuchProcess:
        return


def _process(pid: int | None) -> psutil.Process | None:
    try:
        return psutil.Process(pid) if pid is not None else None
    except psutil.NoSuchProcess:
        return None
