"""What a bundle may cost before anything in it is decompressed: room on the disk, and bytes of events."""

from __future__ import annotations

import shutil

from eventlog import manifest
from eventlog.bundle_format import LARGER, Index
from eventlog.errors import BundleError, DamageError
from eventlog.frames import NotAUnit, walk_headers
from eventlog.segments import Segment, list_segments
from eventlog.store import Store


def check_room(store: Store, index: Index) -> None:
    """Refuse (BundleError) what the disk has no room for, before half of it is written."""
    needed, free = sum(member.size for member in index.members), shutil.disk_usage(store.path).free
    if needed > free:
        raise BundleError(
            f"the bundle unpacks to {needed} bytes, and {free} are free on the disk of {store.path}"
        )


def check_content(staged: Store, index: Index, max_bytes: int) -> None:
    """Refuse (BundleError) more events than allowed, or than the manifests declare; nothing is decompressed yet.

    A frame that holds more than its header says is refused when it is decompressed, and never held in memory.
    """
    left = max_bytes - sum(member.size for member in index.members)
    for stream in index.streams:
        directory = staged.stream_path(stream.name)
        try:
            declared = {
                file.file: sum(s.bytes for s in file.spans) for file in manifest.load(directory).segments
            }
        except DamageError as error:
            raise BundleError(
                f"its stream {stream.name} is not sound: {error.path.name}: {error.cause}"
            ) from None
        for segment in list_segments(directory):
            held = _content_of(segment)
            left -= held
            if left < 0:
                raise BundleError(
                    f"the bundle's events unpack to more than the limit of {max_bytes} bytes{LARGER}"
                )
            if held != declared.get(segment.path.name, held):
                raise BundleError(
                    f"its stream {stream.name} is not sound: {segment.path.name} unpacks to {held} bytes of "
                    f"events, and its manifest declares {declared[segment.path.name]}"
                )


def _content_of(segment: Segment) -> int:
    """Bytes of events that the headers of a segment announce."""
    held = 0
    with segment.path.open("rb") as file:
        try:
            for header in walk_headers(file):
                held += header.content_len
        except NotAUnit:
            return held  # what stands there instead, the verifier names
    return held
