"""The note in a stream's directory that says: this is a copy, its events are recorded elsewhere.

While `mirror.json` lies beside the segments, the stream's lock is given to pullers only: no recorder, seal,
export or import of this store may write it as if it were its own, or the two copies would part. It is
written before the first byte of a copy and goes when the copy is whole, finished and identical, or when the
user says that the run is this store's own from now on (`adopt`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from eventlog.disk import fsync_dir, replacing
from eventlog.mirror.errors import MirrorError

NAME = "mirror.json"


class Note(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a copy comes from: `of` is the address that the user gave, `store` the id of the store that records the
    run, which need not be the one that it was copied from."""

    of: str
    store: str
    schema: Literal["hemra.mirror-note/1"] = "hemra.mirror-note/1"


class BadNote(MirrorError):
    """A note that does not read as one. The run is a copy all the same, and its events are what they are."""


def is_copy(directory: Path) -> bool:
    """Whether the stream's directory holds an unfinished copy of a stream that is recorded elsewhere."""
    return (directory / NAME).exists()


def load(directory: Path) -> Note | None:
    """The note, or None where there is none. Raises BadNote when it does not read as one."""
    path = directory / NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=Note)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BadNote(
            f"{path} does not say any more where this copy comes from ({error}): `hemra log adopt {directory.name}` "
            "makes the run this store's own, and a pull brings the rest then"
        ) from error


def origin(directory: Path) -> str | None:
    """The id of the store that records the run of an unfinished copy, empty where the note does not say; None of what
    is no copy."""
    try:
        note = load(directory)
    except BadNote:
        return ""
    return None if note is None else note.store


def copied_from(directory: Path) -> str | None:
    """The address that an unfinished copy comes from; None of what is no copy."""
    try:
        note = load(directory)
    except BadNote:
        return "another store"
    return None if note is None else note.of


def save(directory: Path, note: Note) -> None:
    """Write the note durably."""
    with replacing(directory / NAME) as file:
        file.write(msgspec.json.encode(note) + b"\n")


def remove(directory: Path) -> None:
    """Take the note away durably; nothing happens where there is none."""
    (directory / NAME).unlink(missing_ok=True)
    fsync_dir(directory)


def why_not_ours(directory: Path) -> str:
    """The line for whoever wants to write a copy as if it were this store's own."""
    return (
        f"{directory} is an unfinished copy of a run of {copied_from(directory)}: `hemra log pull` brings the rest; "
        f"if it is to go on here instead, `hemra log adopt {directory.name}` makes it this store's own"
    )
