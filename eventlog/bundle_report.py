"""What an export or an import says of what it did."""

from __future__ import annotations

import msgspec


class StreamReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one stream: `exported`; on import `added`, `extended`, or nothing (`same`, `older`)."""

    stream: str
    events: int
    what: str


class BundleReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an export or import did. `digest` stands for the whole content; `bytes` is its unpacked size."""

    digest: str
    streams: list[StreamReport]
    blobs: int
    bytes: int
    changed: bool
