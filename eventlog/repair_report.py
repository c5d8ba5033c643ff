"""What a repair says: exactly what is missing, and where it stood."""

from __future__ import annotations

import msgspec


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of a file that hold no sound frame. `first`/`last`: the events they held, null where nothing says so."""

    file: str
    offset: int
    bytes: int
    cause: str
    first: int | None
    last: int | None


class LostEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Events of which nothing is left. `frames` is how many frames they stood in; null where nothing says so.

    `file` and `offset` say where they stood, null where no file holds anything in their place.
    """

    first: int
    last: int
    events: int
    frames: int | None
    cause: str
    file: str | None
    offset: int | None


class LostBlob(msgspec.Struct, frozen=True, kw_only=True):
    """A payload that is missing or not what its digest says, and the events (seqs) that name it."""

    digest: str
    file: str
    cause: str
    events: list[int]


class RepairReport(msgspec.Struct, frozen=True, kw_only=True):
    """A repair. `target` is the store that the copy is in; null where none was made.

    `last` is the last event of the original; `kept` and `lost` add up to it. `end` says why there may have been
    more; null where there was not. `damage` is every place that holds no sound frame, also where nothing is lost
    by it, and `problems` what the verifier says of the original.
    """

    stream: str
    source: str
    target: str | None
    sound: bool
    last: int
    kept: int
    lost: int
    end: str | None
    ranges: list[LostEvents]
    blobs: int
    lost_blobs: list[LostBlob]
    damage: list[Damage]
    problems: list[str]
