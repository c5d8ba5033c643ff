"""Events of a repaired copy."""

from __future__ import annotations

import msgspec

from eventlog.schemas.base import EventData, event


class LostRange(msgspec.Struct, frozen=True, kw_only=True):
    """Events `first` to `last`, of which nothing is left. `file` and `offset` (bytes) are null where unknown."""

    first: int
    last: int
    cause: str
    file: str | None
    offset: int | None


@event("event.lost")
class EventLost(EventData, frozen=True, kw_only=True):
    """Stands in a repaired copy where an event was that could not be read; `first` to `last` were lost together."""

    first: int
    last: int
    cause: str
    file: str | None
    offset: int | None


@event("stream.repaired")
class StreamRepaired(EventData, frozen=True, kw_only=True):
    """This stream is a repaired copy: what of the original (its stream and store by id) is there and what is not.

    `kept` and `lost` count events. `lost_blobs` are the digests of payloads that events still name. `end` says
    why the original may have gone further than event `last`; null where it did not.
    """

    original: str
    store: str
    last: int
    kept: int
    lost: int
    ranges: list[LostRange]
    lost_blobs: list[str]
    end: str | None
