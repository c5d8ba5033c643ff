"""Whether two copies of a run are the same as far as both go, and where they part if they are not.

Links settle it at once where both sides know the link after the same event: each names all units before it.
Where one side has sealed over that place, the spans that both have settle most, and lines are compared, by
digest, for the rest. Only copies that do differ are searched for the first event that does.
"""

from __future__ import annotations

from collections.abc import Callable

from eventlog import manifest
from eventlog.errors import LogError
from eventlog.mirror.errors import MirrorError, Parted
from eventlog.mirror.landing import Landing
from eventlog.mirror.messages import Head
from eventlog.mirror.reach import link_at
from eventlog.mirror.source import Source, digest_lines

Tick = Callable[[], None]


def check(source: Source, head: Head, landing: Landing, tick: Tick) -> None:
    """Compare what `landing` has with what `source` has. Raises Parted, naming the event; DamageError."""
    both = min(head.last, landing.last)
    if both == 0:
        return
    ours = landing.link if both == landing.last else link_at(landing.path, both)
    theirs = bytes.fromhex(head.link) if both == head.last else source.link(landing.name, both)
    if ours is not None and ours == theirs:
        return
    differing = _first_difference(source, head, landing, both, tick)
    if differing is not None:
        raise Parted(_told(source, head, landing, differing), differing)
    if ours is not None and theirs is not None:
        raise MirrorError(
            f"{landing.name}: the events up to {both} are the same here and at {source.name}, but were written in "
            f"other frames: {landing.elsewhere}"
        )


def _told(source: Source, head: Head, landing: Landing, seq: int) -> str:
    same = f"the same up to event {seq - 1}" if seq > 1 else "different from event 1 on"
    return (
        f"{landing.name} parts at event {seq}: {landing.store.path} ({landing.last} events) and {source.name} "
        f"({head.last} events) are {same}, then each went on by itself. Nothing was changed; to have both, "
        f"{landing.elsewhere}"
    )


def _first_difference(source: Source, head: Head, landing: Landing, last: int, tick: Tick) -> int | None:
    """The first event up to `last` whose line differs; None when all are the same."""
    shared = {(s.last, s.chain) for s in manifest.of_directory(landing.path).spans}
    theirs = [span for file in head.sealed for span in file.spans]
    first = 1 + max((s.last for s in theirs if (s.last, s.chain) in shared and s.last <= last), default=0)
    while first <= last:
        # The source says how far one of its answers goes.
        answer = source.digest(landing.name, first, last)
        if _here(landing, first, answer.last, tick) != answer.sha256:
            return _bisected(source, landing, first, answer.last, tick)
        first = answer.last + 1
    return None


def _bisected(source: Source, landing: Landing, first: int, last: int, tick: Tick) -> int:
    """The first event that differs, when one of `first` to `last` does."""
    while first < last:
        middle = (first + last) // 2
        answer = source.digest(landing.name, first, middle)
        if _here(landing, first, answer.last, tick) == answer.sha256:
            first = answer.last + 1
        else:
            last = answer.last
    return first


def _here(landing: Landing, first: int, last: int, tick: Tick) -> str:
    try:
        return digest_lines(landing.store, landing.name, first, last, tick, most=1 << 62).sha256
    except LogError as error:
        raise MirrorError(f"the copy here cannot be compared: {error}") from error
