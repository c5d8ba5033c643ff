"""What of a try's workspace goes into the store: a listing of the changes and the smaller files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import orjson

from eventlog.schemas.conversation import ArtifactStored
from hemra.engine.changes import difference, large_digests, read_file, worth_keeping
from hemra.sandboxes.base import Snapshot
from hemra.sandboxes.files import snapshot
from hemra.secrets import Redactor

if TYPE_CHECKING:
    from eventlog.blobs import BlobStore

LISTING = "changes.json"


def printable(path: str) -> str:
    """A path as text: bytes that are not UTF-8 are shown as `\\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def store_files(
    files: dict[str, bytes], folder: str, blobs: BlobStore, redactor: Redactor
) -> list[ArtifactStored]:
    """Keep files by the name `folder`/path, secrets removed (blocking). OSError when the disk refuses."""
    stored = []
    for path, content in sorted(files.items()):
        ref = blobs.put(redactor.clean_bytes(content))
        stored.append(ArtifactStored(name=f"{folder}/{printable(path)}", blob=ref.digest, size=ref.size))
    return stored


def store_changes(
    workspace: str, before: Snapshot, blobs: BlobStore, redactor: Redactor, *, after: Snapshot | None = None
) -> list[ArtifactStored]:
    """Keep what changed from `before` to `after`, by default what is there now (blocking); the events that name
    it, secrets removed.

    OSError when the disk refuses. A workspace without changes gives nothing.
    """
    changes = difference(before, snapshot(workspace) if after is None else after)
    if not (changes.added or changes.changed or changes.deleted):
        return []
    stored: list[ArtifactStored] = []
    kept: set[str] = set()
    for path in worth_keeping(changes):
        content = read_file(workspace, path)
        if content is None:
            continue
        ref = blobs.put(redactor.clean_bytes(content))
        stored.append(ArtifactStored(name=f"workspace/{printable(path)}", blob=ref.digest, size=ref.size))
        kept.add(path)
    document = changes.listing(kept, large_digests(workspace, changes))
    for name in ("added", "changed", "deleted"):
        for entry in document[name]:
            entry["path"] = redactor.clean_text(printable(entry["path"]))
    ref = blobs.put(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    listing = ArtifactStored(name=LISTING, blob=ref.digest, size=ref.size, media="application/json")
    return [listing, *stored]
