"""Sealed segments and manifests that say what cannot be, with every checksum right."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eventlog.frames import TRAILER_MAGIC, TRAILER_TAG, VERSION, SeekTable, is_trailer, read_trailer, walk

Change = Callable[[dict[str, Any]], Any]


def _span(**changes: Any) -> Change:
    """Change the first span of a trailer or of a manifest's first segment."""

    def change(holder: dict[str, Any]) -> None:
        holder["spans"][0].update(changes)

    return change


#: What a trailer, or a segment's entry in a manifest, must not say of its spans. The first span has 4 events.
SPAN_LIES: dict[str, Change] = {
    "negative bytes": _span(bytes=-5),
    "no bytes": _span(bytes=0),
    "bytes as text": _span(bytes="7"),
    "bytes as a fraction": _span(bytes=1e9),
    "bytes unknown": _span(bytes=None),
    "last as text": _span(last="4"),
    "last unknown": _span(last=None),
    "last beyond all numbers": _span(last=2**70, events=2**70),
    "begins later": _span(first=3),
    "begins and counts later": _span(first=3, events=2),
    "begins at nought": _span(first=0, events=5),
    "another number of events": _span(events=99),
    "ends before it begins": _span(last=0, events=0),
    "digest as a number": _span(sha256=5),
    "digest too short": _span(sha256="ab"),
    "digest with a newline": _span(sha256="0" * 64 + "\n"),
    "chain as a list": _span(chain=[1]),
    "end link no hex": _span(end_link="z" * 32),
    "end link as a number": _span(end_link=5),
    "a key too many": _span(more=1),
    "a key missing": lambda holder: holder["spans"][0].pop("end_link"),
    "no spans": lambda holder: holder.update(spans=[]),
    "spans that are no list": lambda holder: holder.update(spans={}),
    "a span twice": lambda holder: holder["spans"].append(holder["spans"][0]),
    "a gap between spans": lambda holder: holder["spans"].append(
        {**holder["spans"][0], "first": 1001, "last": 1004}
    ),
}

#: What only a trailer can say wrong.
TRAILER_LIES: dict[str, Change] = {
    **SPAN_LIES,
    "marks that are a list": lambda holder: holder.update(marks=[]),
    "no marks": lambda holder: holder.pop("marks"),
    "a mark beyond all numbers": lambda holder: holder.update(marks={"00" * 16: 2**63}),
    "a mark below nought": lambda holder: holder.update(marks={"00" * 16: -1}),
    "a mark of nobody": lambda holder: holder.update(marks={"abc": 1}),
    "no link": lambda holder: holder.pop("link"),
    "a link that is no hex": lambda holder: holder.update(link="z" * 32),
    "not JSON": lambda _: b"{",
    "a list": lambda _: b"[]",
    "a number": lambda _: b"5",
    "nesting without end": lambda _: b"[" * 100_000,
}


def with_trailer(segment: bytes, change: Change) -> bytes:
    """A sealed segment whose trailer is changed; a change may also return the trailer's bytes."""
    file, table, end = io.BytesIO(segment), SeekTable(), 0
    for unit in walk(file):
        table.add_unit(unit.header.size, unit.header.content_len, unit.frame)
        end = unit.header.end
    assert is_trailer(file, end)
    content, _ = read_trailer(Path("altered"), file, end)
    raw = change(content)
    body = TRAILER_TAG + struct.pack("<HH", VERSION, 0)
    body += raw if isinstance(raw, bytes) else json.dumps(content).encode()
    trailer = struct.pack("<II", TRAILER_MAGIC, len(body) + 4) + body + struct.pack("<I", zlib.crc32(body))
    table.add_skippable(len(trailer))
    return segment[:end] + trailer + table.pack()


def with_manifest(written: bytes, change: Change) -> bytes:
    """A manifest that is changed, with its own digest right."""
    body = json.loads(written)
    body.pop("digest")
    change(body)
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    return json.dumps({**body, "digest": hashlib.sha256(canonical).hexdigest()}).encode()
