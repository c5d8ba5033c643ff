"""Units that came from elsewhere: whether they are whole, follow on what is here, and hold events that read."""

from __future__ import annotations

import io
from typing import NamedTuple

import msgspec

from eventlog.envelope import decode_lines
from eventlog.errors import BadEvent
from eventlog.frames import Header, NotAUnit, content_of, read_unit
from eventlog.mirror.errors import BadPeer
from eventlog.payloads import Need, may_need, needs


class Checked(NamedTuple):
    """Whole units up to event `last`, the link that the next must name, and the blobs that their events name."""

    data: bytes
    last: int
    link: bytes
    needs: set[Need]


def check_units(data: bytes, *, stream: bytes, after: int, link: bytes, end: bytes) -> Checked:
    """Check live units that are to follow event `after`, whose link is `link`, up to one with the link `end`.

    Raises BadPeer.
    """
    file, offset, last, wanted = io.BytesIO(data), 0, after, set[Need]()
    while offset < len(data):
        try:
            unit = read_unit(file, offset)
            header = unit.header
            if header.stream != stream or header.first != last + 1 or header.prev != link or header.flags:
                raise BadPeer(
                    f"event {last + 1} was asked for, and what came does not follow on event {last}"
                )
            wanted |= events_of(content_of(unit), header, above=after)
        except (NotAUnit, EOFError) as stop:
            raise BadPeer(f"event {last + 1} came damaged: {stop}") from None
        offset, last, link = header.end, header.last, unit.link
    if link != end:
        raise BadPeer(f"what came of event {last} is not what was announced")
    return Checked(data, last, link, wanted)


def events_of(content: bytes, header: Header, *, above: int) -> set[Need]:
    """The blobs that events of a frame above seq `above` name. Raises BadPeer for a frame that holds no such events."""
    try:
        events = decode_lines(content)
        if [event.seq for event in events] != list(range(header.first, header.last + 1)):
            raise BadPeer(f"the events from {header.first} on are not numbered in order")
        if not may_need(content):
            return set()
        return {need for event in events if event.seq > above for need in needs(event)}
    except (msgspec.MsgspecError, ValueError, RecursionError, BadEvent) as error:
        raise BadPeer(f"the events from {header.first} on do not read as events: {error}") from None
