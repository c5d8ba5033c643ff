"""Whose run it is that a source offers: what is recorded here is never made a copy of somebody's copy of it.

A copy names the store where its run is recorded, and so does whoever copies the copy: however many stores pull from
each other, the run comes back to its owner as its own.
"""

from __future__ import annotations

from eventlog.mirror import note
from eventlog.mirror.errors import MirrorError
from eventlog.mirror.messages import Head
from eventlog.mirror.reach import durable_mark
from eventlog.mirror.source import Source
from eventlog.store import Store


def own_up_to(store: Store, stream: str, source: Source, head: Head) -> int | None:
    """The last event here of a run of this store's own, of which `source` has but a copy; None: it may be copied.

    Raises MirrorError where neither side may copy from the other.
    """
    if source.store == store.id:
        raise same_store(source.name, store)
    path = store.stream_path(stream)
    if head.origin != store.id or not path.is_dir():
        return None
    known, mark = note.load(path), durable_mark(path)
    if mark is None or mark.stream.hex() != head.id:
        return None
    if known is not None and known.store != store.id:
        raise MirrorError(
            f"{stream}: {store.path} and {source.name} have copies of each other, and nobody has the run: `hemra log "
            f"adopt {stream}` where it is to go on"
        )
    if known is not None:
        return None  # it was lost here and comes back
    if head.last > mark.last:
        raise MirrorError(
            f"{stream} is recorded in {store.path} and has {mark.last} events there; {source.name} has {head.last} "
            f"events of it in a copy. If the others were lost here: `hemra log adopt {stream}` there, then pull"
        )
    return mark.last


def same_store(name: str, store: Store) -> MirrorError:
    """For whoever copies a store into itself."""
    return MirrorError(
        f"{name} offers this very store ({store.path}) or a copy of its folder: no run is copied into itself"
    )
