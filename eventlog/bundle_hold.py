"""Holding a stream that is to be exported or extended: whole, sealed, and written by nobody meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from eventlog import manifest
from eventlog.errors import StreamBusy
from eventlog.lock import NAME as LOCK
from eventlog.lock import Lock
from eventlog.recovery import recover
from eventlog.seal import seal_segments
from eventlog.store import Store


@contextlib.contextmanager
def sealed_and_held(store: Store, name: str) -> Iterator[None]:
    """Recover and seal a stream that nobody writes and keep writers away meanwhile.

    Inside, its anchor stands at its last sealed event. Raises StreamBusy, DamageError.
    """
    path = store.existing_stream(name)
    try:
        lock = Lock(path / LOCK)
    except StreamBusy as busy:
        raise StreamBusy(
            f"{busy}: export or import it when the run has ended (`hemra cancel` ends it)"
        ) from None
    try:
        recover(path)
        manifest.begin(path)
        seal_segments(path)
        yield
    finally:
        lock.release()
