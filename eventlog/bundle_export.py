"""Writing a bundle: sealed segments, manifests and the blobs that they name, as one tar."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from eventlog import anchor as anchors
from eventlog import manifest
from eventlog.blobs import BlobNotFound
from eventlog.bundle_format import SCHEMA, BundledStream, Index, Member, Writing, is_reserved, stream_of
from eventlog.bundle_hold import sealed_for_reading
from eventlog.bundle_output import place_of, writing
from eventlog.bundle_report import BundleReport, StreamReport
from eventlog.errors import BadEvent, BundleError, DamageError
from eventlog.failing_disk import reading
from eventlog.payloads import all_blobs
from eventlog.reader import read
from eventlog.repaired import lost_blobs
from eventlog.store import Store

_PIECE = 1 << 20


def export(store: Store, streams: Sequence[str], out: Path | BinaryIO) -> BundleReport:
    """Write the streams, sealed, and every blob that their events name as one tar to `out`.

    The same content gives the same bytes. A file appears under its name only when it is whole; what is no regular
    file is written into. Raises StreamNotFound, StreamBusy for a stream that is being written, DamageError,
    BundleError for a blob that is missing and where `out` cannot be written.
    """
    names = list(dict.fromkeys(streams))
    if not names:
        raise BundleError("there is no stream to export")
    for name in names:
        if is_reserved(name):
            raise BundleError(
                f"{name!r} is a name that every store keeps for itself: its stream is not exported"
            )
    place = None if not isinstance(out, Path) else place_of(out)
    with sealed_for_reading(store, names, place) as sealed:
        bundled = [_describe(sealed, name) for name in names]
        members = [*_stream_members(sealed, names), *_blob_members(sealed, names)]
        index = Index(schema=SCHEMA, streams=bundled, members=members)
        if isinstance(out, Path):
            with writing(out, place) as file:
                digest = _write(sealed, index, file)
        else:
            digest = _write(sealed, index, out)
    return BundleReport(
        digest=f"sha256:{digest}",
        streams=[StreamReport(stream=s.name, events=s.last, what="exported") for s in bundled],
        blobs=sum(stream_of(member.name) is None for member in members),
        bytes=sum(member.size for member in members),
        changed=False,
    )


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
    given_up = lost_blobs(store, names)
    for name in names:
        for event in read(store, name):
            try:
                needed |= all_blobs(store.blobs, event, but=given_up)
            except BlobNotFound as error:
                raise BundleError(f"event {event.seq} of {name} needs what is missing: {error}") from None
            except BadEvent as error:
                raise BundleError(f"stream {name} cannot be carried: {error}") from None
    for digest in sorted(needed):
        try:
            size = store.blobs.path(digest).stat().st_size
        except BlobNotFound as error:
            raise BundleError(f"an event of {', '.join(names)} needs what is missing: {error}") from None
        hexes = digest.partition(":")[2]
        yield Member(name=f"blobs/sha256/{hexes[:2]}/{hexes[2:]}", size=size, sha256=hexes)


def _member(name: str, path: Path) -> Member:
    running, size = hashlib.sha256(), 0
    for piece in _pieces(path):
        running.update(piece)
        size += len(piece)
    return Member(name=name, size=size, sha256=running.hexdigest())


def _pieces(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from reading(path, iter(lambda: file.read(_PIECE), b""))
    except OSError as error:
        raise BundleError(f"cannot read {path}: {error.strerror or error}") from error


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
