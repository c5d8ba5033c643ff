"""What imports that are under way, or were cut short, have begun to bring: `.import.pending` in the store.

It is written before the first stream is touched and taken back after the catalog says what came. So the
verifier can tell an import that was killed from an anchor that is too old, and the same import, begun again,
knows what the catalog does not say yet.
"""

from __future__ import annotations

import msgspec

from eventlog.disk import fsync_dir, replacing
from eventlog.store import Store

NAME = ".import.pending"


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """One import: the streams that it adds or extends, each with its last seq, and where the catalog stood."""

    streams: dict[str, int]
    catalog_last: int


def load(store: Store) -> dict[str, Pending]:
    """All of them by their bundle's digest; none where the file is absent or unreadable."""
    try:
        return msgspec.json.decode((store.path / NAME).read_bytes(), type=dict[str, Pending])
    except (OSError, ValueError):
        return {}  # without it an import that was cut short reads as what it looks like: an anchor too old


def last_brought(store: Store, stream: str) -> int:
    """How far an import that did not end was extending a stream; 0 when there is none."""
    return max((pending.streams.get(stream, 0) for pending in load(store).values()), default=0)


def begin(store: Store, digest: str, pending: Pending) -> None:
    """Say durably what is about to be brought."""
    _save(store, {**load(store), digest: pending})


def end(store: Store, digest: str) -> None:
    """Take it back: everything is there and in the catalog."""
    rest = load(store)
    if rest.pop(digest, None) is None:
        return
    if rest:
        _save(store, rest)
        return
    (store.path / NAME).unlink()
    fsync_dir(store.path)


def _save(store: Store, all_pending: dict[str, Pending]) -> None:
    with replacing(store.path / NAME) as file:
        file.write(msgspec.json.encode(all_pending))
