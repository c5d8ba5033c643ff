"""The manifest of a stream: its sealed spans, chained, so that tampering or loss shows.

`manifest.json` holds `{"schema", "segments": [{"file", "size", "spans": […]}], "digest"}`. `digest` is
SHA-256 over the canonical JSON of the rest. The chain over the spans is over *uncompressed* bytes:
recompressing or merging segments changes no digest.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eventlog.disk import replacing
from eventlog.errors import DamageError
from eventlog.segments import Segment, Span, is_sealed, trailer_of, visible_segments

NAME = "manifest.json"
SCHEMA = "hemra.manifest/1"
#: The chain value before the first span.
CHAIN_START = "0" * 64


@dataclass(frozen=True, slots=True)
class SealedFile:
    """One sealed segment as the manifest knows it."""

    file: str
    size: int
    spans: list[Span]


@dataclass(frozen=True, slots=True)
class Manifest:
    """All sealed segments of a stream, in order."""

    segments: list[SealedFile]

    @property
    def head(self) -> str:
        """The chain value that stands for everything sealed so far."""
        return self.segments[-1].spans[-1].chain if self.segments else CHAIN_START

    @property
    def last(self) -> int:
        """Seq of the last sealed event; 0 when nothing is sealed."""
        return self.segments[-1].spans[-1].last if self.segments else 0


def chain(previous: str, sha256: str) -> str:
    """Next chain value: SHA-256 over both digests as text."""
    return hashlib.sha256(f"{previous}{sha256}".encode()).hexdigest()


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def load(directory: Path) -> Manifest:
    """The manifest as written; empty when there is none. Raises DamageError when it is not as written."""
    path = directory / NAME
    if not path.exists():
        return Manifest([])
    try:
        body = json.loads(path.read_bytes())
        digest = body.pop("digest")
        if body["schema"] != SCHEMA:
            raise DamageError(path, 0, f"manifest of version {body['schema']!r}; this hemra reads {SCHEMA}")
        segments = [
            SealedFile(s["file"], s["size"], [Span(**x) for x in s["spans"]]) for s in body["segments"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamageError(path, 0, f"the manifest does not read as one: {error}") from error
    if digest != _digest(body):
        raise DamageError(path, 0, "the manifest's digest does not match its content")
    return Manifest(segments)


def of_directory(directory: Path) -> Manifest:
    """The manifest that the sealed segments on disk make, from their trailers. Raises DamageError."""
    sealed = [s for s in visible_segments(directory) if is_sealed(s)]
    return Manifest([_entry(segment) for segment in sealed])


def _entry(segment: Segment) -> SealedFile:
    return SealedFile(segment.path.name, segment.size, trailer_of(segment).spans)


def save(directory: Path, manifest: Manifest) -> None:
    """Write the manifest durably."""
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "segments": [
            {"file": s.file, "size": s.size, "spans": [asdict(x) for x in s.spans]} for s in manifest.segments
        ],
    }
    body["digest"] = _digest(body)
    with replacing(directory / NAME) as file:
        file.write(json.dumps(body, indent=1).encode() + b"\n")
