"""Carrying runs to another machine: `export` writes one tar, `import_` takes it in after checking every byte.

What a bundle looks like is in `bundle_format`, how it is taken in in `bundle_import`.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import orjson

from eventlog import anchor as anchors
from eventlog import manifest
from eventlog.blobs import BlobNotFound
from eventlog.bundle_format import MAX_BYTES, SCHEMA, BundledStream, Index, Member, Writing, stream_of
from eventlog.disk import replacing
from eventlog.envelope import Event, event_blobs
from eventlog.errors import BundleError, DamageError, StreamBusy
from eventlog.escape import Blob, unescape
from eventlog.lock import NAME as LOCK
from eventlog.lock import Lock
from eventlog.reader import read
from eventlog.store import Store

_PIECE = 1 << 20


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


def export(store: Store, streams: Sequence[str], out: Path | BinaryIO) -> BundleReport:
    """Write the streams, sealed, and every blob that their events name as one tar to `out`.

    The same content gives the same bytes. A file appears under its name only when it is whole. Raises
    StreamNotFound, StreamBusy for a stream that is being written, DamageError, BundleError for a blob that
    is missing.
    """
    names = list(dict.fromkeys(streams))
    if not names:
        raise BundleError("there is no stream to export")
    with contextlib.ExitStack() as held:
        for name in sorted(names):
            held.enter_context(sealed_and_held(store, name))
        bundled = [_describe(store, name) for name in names]
        members = [*_stream_members(store, names), *_blob_members(store, names)]
        index = Index(schema=SCHEMA, streams=bundled, members=members)
        if isinstance(out, Path):
            with replacing(out) as file:
                digest = _write(store, index, file)
        else:
            digest = _write(store, index, out)
    return BundleReport(
        digest=f"sha256:{digest}",
        streams=[StreamReport(stream=s.name, events=s.last, what="exported") for s in bundled],
        blobs=sum(stream_of(member.name) is None for member in members),
        bytes=sum(member.size for member in members),
        changed=False,
    )


def import_(store: Store, source: Path | BinaryIO, *, max_bytes: int = MAX_BYTES) -> BundleReport:
    """Take a bundle in. Nothing of it becomes visible before every digest and chain was checked.

    The same bundle again changes nothing. A stream that the store has already must be the same, or its
    beginning, or longer; a bundle that unpacks to more than `max_bytes` is refused. What was brought is
    recorded in the catalog. Raises BundleError, StreamBusy.
    """
    from eventlog.bundle_import import take_in

    if not isinstance(source, Path):
        return take_in(store, source, "-", max_bytes)
    try:
        file = source.open("rb")
    except OSError as error:
        raise BundleError(f"cannot read {source}: {error.strerror}") from None
    with file:
        return take_in(store, file, source.name, max_bytes)


@contextlib.contextmanager
def sealed_and_held(store: Store, name: str) -> Iterator[None]:
    """Seal a stream that nobody writes and keep writers away meanwhile. Raises StreamBusy, DamageError."""
    from eventlog.recovery import recover
    from eventlog.seal import seal_segments

    path = store.existing_stream(name)
    try:
        lock = Lock(path / LOCK)
    except StreamBusy as busy:
        raise StreamBusy(
            f"{busy}: export or import it when the run has ended (`hemra cancel` ends it)"
        ) from None
    try:
        recover(path)
        seal_segments(path)
        yield
    finally:
        lock.release()


def _describe(store: Store, name: str) -> BundledStream:
    """The stream's entry in the index. Its anchor and manifest must agree on how far it goes."""
    path = store.stream_path(name)
    mark, sealed = anchors.load(path), manifest.load(path)
    if mark is None:
        raise DamageError(path / anchors.NAME, 0, "the anchor is missing or unreadable")
    if mark.last != sealed.last:
        raise DamageError(
            path / manifest.NAME, 0, f"it goes to event {sealed.last}, the anchor to {mark.last}"
        )
    return BundledStream(
        name=name,
        id=mark.stream.hex(),
        last=mark.last,
        chain=sealed.head,
        link=mark.link.hex(),
        finished=mark.state == anchors.FINISHED,
    )


def _stream_members(store: Store, names: Sequence[str]) -> Iterator[Member]:
    for name in names:
        path = store.stream_path(name)
        for file in [*(segment.file for segment in manifest.load(path).segments), manifest.NAME]:
            yield _member(f"streams/{name}/{file}", path / file)


def _blob_members(store: Store, names: Sequence[str]) -> Iterator[Member]:
    needed: set[str] = set()
    for name in names:
        for event in read(store, name):
            try:
                needed |= named_blobs(store, event)
            except BlobNotFound as error:
                raise BundleError(f"event {event.seq} of {name} needs what is missing: {error}") from None
    for digest in sorted(needed):
        try:
            size = store.blobs.path(digest).stat().st_size
        except BlobNotFound as error:
            raise BundleError(f"an event of {', '.join(names)} needs what is missing: {error}") from None
        hexes = digest.partition(":")[2]
        yield Member(name=f"blobs/sha256/{hexes[:2]}/{hexes[2:]}", size=size, sha256=hexes)


def named_blobs(store: Store, event: Event) -> set[str]:
    """Digests of all blobs that an event needs, also those named inside JSON blobs. Raises BlobNotFound."""
    found = event_blobs(event)
    pending = list(_payloads(event.data))
    while pending:
        blob = pending.pop()
        found.add(blob["$blob"])
        if blob.get("kind") == "json":
            pending.extend(_payloads(unescape(orjson.loads(store.blobs.get(blob["$blob"])))))
    return found


def _payloads(value: Any) -> Iterator[Blob]:
    """Every payload of a decoded value that was moved to a blob."""
    if isinstance(value, Blob):
        yield value
    elif isinstance(value, dict):
        for child in value.values():
            yield from _payloads(child)
    elif isinstance(value, list):
        for child in value:
            yield from _payloads(child)


def _member(name: str, path: Path) -> Member:
    running, size = hashlib.sha256(), 0
    for piece in _pieces(path):
        running.update(piece)
        size += len(piece)
    return Member(name=name, size=size, sha256=running.hexdigest())


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _write(store: Store, index: Index, file: BinaryIO) -> str:
    writing = Writing(file, index)
    for member in index.members:
        stream = stream_of(member.name)
        if stream is None:
            path = store.blobs.file_of(member.sha256)
        else:
            path = store.stream_path(stream) / member.name.rpartition("/")[2]
        writing.add(member, _pieces(path))
    writing.end()
    return writing.digest
