"""The manifest of a stream: its sealed spans, chained, so that tampering or loss shows.

`manifest.json` holds `{"schema", "segments": [{"file", "size", "spans": […]}], "digest"}`. `digest` is
SHA-256 over the canonical JSON of the rest. The chain over the spans is over *uncompressed* bytes:
recompressing or merging segments changes no digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from eventlog.disk import replacing
from eventlog.errors import DamageError, StoreError
from eventlog.segments import HIGHEST, Span, check_contiguous, name_of, sealed_segments, settled

NAME = "manifest.json"
SCHEMA = "hemra.manifest/1"
#: The chain value before the first span.
CHAIN_START = "0" * 64


class SealedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sealed segment as the manifest knows it; `size` in bytes. Raises ValueError when it cannot be one."""

    file: str
    size: Annotated[int, Meta(ge=1, le=HIGHEST)]
    spans: list[Span]

    def __post_init__(self) -> None:
        check_contiguous(self.spans)
        if self.file != name_of(self.first):
            raise ValueError(f"{self.file!r} is not the name of a file that begins at event {self.first}")

    @property
    def first(self) -> int:
        """Seq of the file's first event."""
        return self.spans[0].first

    @property
    def last(self) -> int:
        """Seq of the file's last event."""
        return self.spans[-1].last


@dataclass(frozen=True, slots=True)
class Manifest:
    """All sealed segments of a stream, in order."""

    segments: list[SealedFile]

    @property
    def spans(self) -> list[Span]:
        """All sealed spans, in order."""
        return [span for segment in self.segments for span in segment.spans]

    @property
    def head(self) -> str:
        """The chain value that stands for everything sealed so far."""
        return self.segments[-1].spans[-1].chain if self.segments else CHAIN_START

    @property
    def last(self) -> int:
        """Seq of the last sealed event; 0 when nothing is sealed."""
        return self.segments[-1].last if self.segments else 0


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file's content."""

    schema: str
    segments: list[SealedFile]
    digest: str


def chain(previous: str, sha256: str) -> str:
    """Next chain value: SHA-256 over both digests as text."""
    return hashlib.sha256(f"{previous}{sha256}".encode()).hexdigest()


def chain_break(spans: Iterable[Span]) -> Span | None:
    """The first span whose chain value does not follow from those before it; None when all do."""
    value = CHAIN_START
    for span in spans:
        value = chain(value, span.sha256)
        if value != span.chain:
            return span
    return None


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _is_whole(body: dict[str, Any]) -> bool:
    """Whether a manifest of any version is as it was written: one bit of its version is no later version."""
    return body.get("digest") == _digest({key: value for key, value in body.items() if key != "digest"})


def load(directory: Path) -> Manifest:
    """The manifest as written; empty when there is none.

    Raises DamageError when it is not as written, StoreError when a later hemra wrote it.
    """
    path = directory / NAME
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return Manifest([])
    except OSError as error:
        raise DamageError(path, 0, f"the manifest cannot be read: {error.strerror}") from error
    try:
        body = json.loads(raw)
        schema = body.get("schema") if isinstance(body, dict) else None
        if isinstance(schema, str) and schema != SCHEMA and _is_whole(body):
            raise StoreError(f"{path} is of version {schema}; this hemra reads {SCHEMA}: upgrade hemra")
        written = msgspec.convert(body, _Written)
        if written.schema != SCHEMA:
            raise ValueError(f"its version is {written.schema!r}")
        if written.segments:
            check_contiguous([span for segment in written.segments for span in segment.spans], 1)
    except (ValueError, RecursionError) as error:
        raise DamageError(path, 0, f"the manifest does not read as one: {error}") from error
    del body["digest"]
    if written.digest != _digest(body):
        raise DamageError(path, 0, "the manifest's digest does not match its content")
    return Manifest(written.segments)


def of_directory(directory: Path) -> Manifest:
    """The manifest that the sealed segments on disk make, from their trailers. Raises DamageError."""
    return settled(directory, lambda: _of_directory(directory))


def _of_directory(directory: Path) -> Manifest:
    return Manifest(
        [SealedFile(s.path.name, s.size, trailer.spans) for s, trailer in sealed_segments(directory)]
    )


def begin(directory: Path) -> None:
    """Write an empty manifest where there is none, before the first segment is sealed.

    So sealed segments without a manifest always mean that it was lost, never that a seal was cut short.
    """
    if not (directory / NAME).exists():
        save(directory, Manifest([]))


def save(directory: Path, manifest: Manifest) -> None:
    """Write the manifest durably."""
    body: dict[str, Any] = {"schema": SCHEMA, "segments": msgspec.to_builtins(manifest.segments)}
    body["digest"] = _digest(body)
    with replacing(directory / NAME) as file:
        file.write(json.dumps(body, indent=1).encode() + b"\n")
