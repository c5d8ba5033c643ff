"""Reading what a harness left in the workspace: no link is followed, nothing but plain files is opened."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

MIB = 1024 * 1024
#: Deeper folders than this are named and not entered.
LEVELS = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def parts_of(path: "str | os.PathLike[str]") -> "list[str] | None":
    """The components of a relative path that stays below where it starts, or None for any other."""
    parts = [part for part in os.fspath(path).split("/") if part not in ("", ".")]
    if os.fspath(path).startswith("/") or ".." in parts or not parts or any("\0" in part for part in parts):
        return None
    return parts


def read(workspace: Path, path: "str | os.PathLike[str]", limit: int = MIB) -> "bytes | None":
    """The content of a plain file of at most `limit` bytes inside the workspace; None for anything else.

    Neither a link at the end nor one on the way is followed; a fifo, a device or a folder is not opened for
    reading; a path that leaves the workspace is not there.
    """
    parts = parts_of(path)
    if parts is None:
        return None
    try:
        folder = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        for part in parts[:-1]:
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        return content_of(parts[-1], folder, limit)
    except (OSError, ValueError):
        return None
    finally:
        os.close(folder)


def content_of(name: str, folder: int, limit: int) -> "bytes | None":
    """The content of the plain file `name` in the open folder, or None where it is none or is above `limit`.

    Raises OSError where it cannot be opened.
    """
    with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > limit:
            return None
        content = file.read(limit + 1)
    return content if len(content) <= limit else None


def text(workspace: Path, path: "str | os.PathLike[str]", limit: int = MIB) -> "str | None":
    """As `read`, as UTF-8 text; None too for what is not UTF-8. A byte order mark is left out."""
    content = read(workspace, path, limit)
    try:
        return None if content is None else content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def tree(workspace: Path, limit: int = 10_000) -> "dict[str, str]":
    """Kind ("file", "dir", "link", "other") by path of at most `limit` entries of the workspace, in order of path.

    No link is followed. A folder that cannot be read, or that lies deeper than 64 levels, is named and not entered.
    """
    found: dict[str, str] = {}
    for path, kind in walk(workspace):
        found[path] = kind
        if len(found) >= limit:
            break
    return dict(sorted(found.items()))


def walk(workspace: Path) -> "Iterator[tuple[str, str]]":
    """Path and kind of every entry, folders before what is in them."""
    waiting: list[list[str]] = [[]]
    while waiting:
        parts = waiting.pop()
        for name, kind in sorted(_entries(workspace, parts)):
            path = [*parts, name]
            yield "/".join(path), kind
            if kind == "dir" and len(path) < LEVELS:
                waiting.append(path)


def _entries(workspace: Path, parts: "list[str]") -> "Iterator[tuple[str, str]]":
    """Name and kind of what is in the folder; nothing for one that cannot be read or is a link meanwhile."""
    try:
        folder = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        for part in parts:
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        with os.scandir(folder) as entries:
            for entry in entries:
                yield entry.name, _kind(entry)
    except OSError:
        return
    finally:
        os.close(folder)


def _kind(entry: "os.DirEntry[str]") -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "dir"
    return "file" if entry.is_file(follow_symlinks=False) else "other"
