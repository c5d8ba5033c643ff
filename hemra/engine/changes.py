"""What a trial changed in its workspace: a listing, and the smaller files kept as blobs.

The state before is remembered as metadata (size, times, inode) and not by content: the change time
cannot be set back by an ordinary program, so an edit that restores size and modification time is seen.
Links are recorded and never followed; pipes, sockets and devices are listed and never opened.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hemra.sandboxes.base import Entry, SandboxError, Snapshot
from hemra.sandboxes.files import open_beneath, read_beneath, snapshot

__all__ = ["Changes", "difference", "digest_of", "read_file", "snapshot", "worth_keeping"]

#: A larger file is listed and not kept. Bytes.
LARGEST_KEPT = 1 << 20
#: All kept files of a try together. Bytes.
MOST_KEPT = 16 << 20
MOST_FILES = 200
#: Of larger files this much is read for their digests. Bytes.
MOST_DIGESTED = 1 << 30
#: Entries of the listing; the rest is counted.
MOST_LISTED = 5_000


@dataclass
class Changes:
    """The difference of two snapshots: path -> entry; `deleted` has the entries as they were."""

    added: dict[str, Entry] = field(default_factory=dict)
    changed: dict[str, Entry] = field(default_factory=dict)
    deleted: dict[str, Entry] = field(default_factory=dict)

    def written(self) -> list[tuple[str, Entry]]:
        """Regular files that are new or changed, the smallest first, so that many of them fit."""
        files = [item for item in (self.added | self.changed).items() if item[1].kind == "file"]
        return sorted(files, key=lambda item: (item[1].size, item[0]))

    def listing(self, kept: set[str], digests: dict[str, str] | None = None) -> dict[str, Any]:
        """A JSON document of the changes: per list at most `MOST_LISTED` entries, and how many there are.

        `digests` are those of large files, by path.
        """
        known = digests or {}
        document: dict[str, Any] = {"schema": "hemra.changes/1"}
        for name in ("added", "changed", "deleted"):
            entries: dict[str, Entry] = getattr(self, name)
            listed = sorted(entries.items())[:MOST_LISTED]
            document[name] = [
                {"path": path, "kind": entry.kind, "size": entry.size}
                | ({"kept": path in kept} if name != "deleted" and entry.kind == "file" else {})
                | ({"digest": known[path]} if name != "deleted" and path in known else {})
                for path, entry in listed
            ]
            document[f"{name}_total"] = len(entries)
        return document


def difference(before: Snapshot, after: Snapshot) -> Changes:
    """What happened between two snapshots of a workspace."""
    changes = Changes()
    for path, entry in after.items():
        was = before.get(path)
        if was is None:
            changes.added[path] = entry
        elif was != entry:
            changes.changed[path] = entry
    changes.deleted = {path: entry for path, entry in before.items() if path not in after}
    return changes


def worth_keeping(changes: Changes) -> list[str]:
    """Paths of the files whose content is kept: small ones, up to the limits above."""
    chosen: list[str] = []
    total = 0
    for path, entry in changes.written():
        if entry.size > LARGEST_KEPT or total + entry.size > MOST_KEPT or len(chosen) >= MOST_FILES:
            break
        chosen.append(path)
        total += entry.size
    return chosen


def read_file(workspace: str, path: str) -> bytes | None:
    """A kept file's bytes, at most `LARGEST_KEPT`; None when it is no plain file (any more), unreadable or
    larger. No link in its name is followed."""
    try:
        return read_beneath(Path(workspace), path, LARGEST_KEPT)
    except SandboxError:
        return None


def digest_of(workspace: str, path: str, most: int) -> tuple[str | None, int]:
    """(`sha256:<hex>`, bytes read) of a file that is too large to be kept; no digest where it is no plain file
    (any more) or has more than `most` bytes."""
    fd = open_beneath(Path(workspace), path)
    if fd is None:
        return None, 0
    with os.fdopen(fd, "rb") as file:
        if os.fstat(fd).st_size > most:
            return None, 0
        digest, read = hashlib.sha256(), 0
        while chunk := file.read(1 << 20):
            read += len(chunk)
            if read > most:
                return None, read
            digest.update(chunk)
        return f"sha256:{digest.hexdigest()}", read


def large_digests(workspace: str, changes: Changes) -> dict[str, str]:
    """Digests of new and changed files that are too large to be kept, the smallest first, as far as
    `MOST_DIGESTED` bytes go."""
    found: dict[str, str] = {}
    left = MOST_DIGESTED
    for path, entry in changes.written():
        if entry.size <= LARGEST_KEPT:
            continue
        if entry.size > left:
            break
        digest, read = digest_of(workspace, path, left)
        left -= read
        if digest is not None:
            found[path] = digest
    return found
