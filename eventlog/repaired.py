"""What a repaired copy says of itself: the payloads that its events name and that were lost with the original."""

from __future__ import annotations

from collections.abc import Iterable

from eventlog.envelope import Event, decode_lines
from eventlog.errors import LogError
from eventlog.reader import read_content, resolve
from eventlog.schemas.repairs import StreamRepaired
from eventlog.store import Store

_MARK = b'"' + StreamRepaired.type.encode() + b'"'


def lost_blobs(store: Store, names: Iterable[str]) -> set[str]:
    """Digests that the streams' own `stream.repaired` events give up. Raises DamageError, StreamNotFound."""
    found: set[str] = set()
    for name in names:
        for content in read_content(store, name):
            # Decoding all events to find one that most streams lack would take longer than everything else.
            if _MARK in content.lines:
                for line in content.lines.split(b"\n"):
                    if _MARK in line and (event := decode_lines(line)[0]).type == StreamRepaired.type:
                        found.update(given_up(store, event))
    return found


def given_up(store: Store, event: Event) -> list[str]:
    """The digests in one `stream.repaired`; none where it does not read as one."""
    try:
        digests = resolve(store, event.data.get("lost_blobs"))
    except LogError:
        return []
    return [d for d in digests if isinstance(d, str)] if isinstance(digests, list) else []


def in_words(event: Event) -> str:
    """One sentence about the copy: how much of the original is missing."""
    data = event.data
    missing = f"{data.get('lost')} of {data.get('last')} events are missing"
    if not data.get("lost"):
        missing = "no event is missing"
    blobs = data.get("lost_blobs")
    some = len(blobs) if isinstance(blobs, list) else "many"
    payloads = f", {some} payload{'' if some == 1 else 's'} too" if blobs else ""
    doubt = f"; {data['end']}" if isinstance(data.get("end"), str) else ""
    return f"this is a repaired copy: {missing}{payloads}{doubt}"
