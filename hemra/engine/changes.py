"""What a trial changed in its workspace: a listing, and the smaller files kept as blobs.

The state before is remembered as metadata (size, times, inode) and not by content: the change time
cannot be set back by an ordinary program, so an edit that restores size and modification time is seen.
Links are recorded and never followed; pipes, sockets and devices are listed and never opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

#: A larger file is listed and not kept. Bytes.
LARGEST_KEPT = 1 << 20
#: All kept files of a try together. Bytes.
MOST_KEPT = 16 << 20
MOST_FILES = 200
#: Entries of the listing; the rest is counted.
MOST_LISTED = 5_000

_KINDS = {stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFDIR: "folder"}


@dataclass(frozen=True)
class Entry:
    """One path of a workspace. `mark` changes whenever its content may have changed."""

    kind: str
    size: int
    mark: tuple[int, ...]


#: Relative path -> entry. Folders are entries too: an empty one may be what a task asks for.
Snapshot = dict[str, Entry]


def _entry(status: os.stat_result) -> Entry:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "special")
    if kind == "folder":
        return Entry(kind, 0, ())
    mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return Entry(kind, status.st_size, mark)


def _walk(folder: str, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    waiting = [(folder, prefix)]
    while waiting:
        here, before = waiting.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError:
            continue  # a folder made unreadable: itself it is listed by its parent
        for entry in entries:
            path = before + entry.name
            yield path, entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, path + "/"))


def snapshot(workspace: str) -> Snapshot:
    """Every path below `workspace`. What vanishes or cannot be read while looking is left out."""
    found: Snapshot = {}
    for path, entry in _walk(workspace, ""):
        try:
            found[path] = _entry(entry.stat(follow_symlinks=False))
        except OSError:
            continue
    return found


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

    def listing(self, kept: set[str]) -> dict[str, Any]:
        """A JSON document of the changes: per list at most `MOST_LISTED` entries, and how many there are."""
        document: dict[str, Any] = {"schema": "hemra.changes/1"}
        for name in ("added", "changed", "deleted"):
            entries: dict[str, Entry] = getattr(self, name)
            listed = sorted(entries.items())[:MOST_LISTED]
            document[name] = [
                {"path": path, "kind": entry.kind, "size": entry.size}
                | ({"kept": path in kept} if name != "deleted" and entry.kind == "file" else {})
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
    """A kept file's bytes, at most `LARGEST_KEPT`; None when it is no plain file (any more) or unreadable."""
    try:
        fd = os.open(
            os.path.join(workspace, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = file.read(LARGEST_KEPT + 1)
    return data if len(data) <= LARGEST_KEPT else None
