"""What an installation consists of: a sorted list of its files with their digests, and one digest over that list.

The same packages give the same digest wherever and whenever they are installed. So the list leaves out what says
only where and when: bytecode, the environment's own programs and settings, and the installers' notes about
themselves; the folder's own path is not a part of a script that holds it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

#: What the list is called in the folder of an installation; the manifest stands beside it.
LIST = "installed.files"
_SKIPPED_FOLDERS = frozenset({"__pycache__"})
#: At the top of the folder.
_OWN = frozenset(
    {LIST, "installed.json", "installed.stamp", "pyvenv.cfg", "package.json", "package-lock.json"}
)
#: Notes of the installers, which hold times, places and digests of scripts that hold the place.
_NOTES = frozenset({"RECORD", "direct_url.json", "INSTALLER", "REQUESTED"})
_PROGRAMS_OF_ENVIRONMENT = ("python", "activate", "Activate")
#: Scripts that hold the path of the folder are short.
_MOST_SCRIPT = 1 << 20
_CHUNK = 1 << 20


def listing(place: Path) -> list[str]:
    """`<sha256>  <path>` for each file, `link:<target>  <path>` for each link, sorted by path. Raises OSError."""
    return [f"{_digest(path, place)}  {name}" for name, path in sorted(_files(place))]


def digest_of(lines: list[str]) -> str:
    """`sha256:<hex>` over the list."""
    return "sha256:" + hashlib.sha256("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
                                      ).hexdigest()  # fmt: skip


def stamp(place: Path) -> str:
    """Changes whenever a file was written to, replaced, added or removed; cheap. Nobody but root can set the time
    of the last change of a file's entry, which is a part of it."""
    digest = hashlib.sha256()
    for name, path in sorted(_files(place)):
        found = path.lstat()
        told = f"{name}\0{found.st_ino}\0{found.st_size}\0{found.st_ctime_ns}\n"
        digest.update(told.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def differences(before: list[str], now: list[str]) -> list[str]:
    """Paths that were changed, added or removed, sorted."""
    then, here = _by_path(before), _by_path(now)
    return sorted(path for path in then.keys() | here.keys() if then.get(path) != here.get(path))


def _by_path(lines: list[str]) -> dict[str, str]:
    split = (line.partition("  ") for line in lines)
    return {path: digest for digest, _, path in split}


def size_of(place: Path) -> tuple[int, int]:
    """(number of files, bytes), bytecode and all; a file with several names counts once."""
    found = [os.lstat(Path(folder, name)) for folder, _, names in os.walk(place) for name in names]
    sizes = {(each.st_dev, each.st_ino): each.st_size for each in found}
    return len(sizes), sum(sizes.values())


def _files(place: Path) -> Iterator[tuple[str, Path]]:
    """(path relative to `place`, path) of everything that is listed; no link is followed."""
    waiting = [place]
    while waiting:
        folder = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED_FOLDERS:
                        waiting.append(path)
                elif not _left_out(path, place):
                    yield path.relative_to(place).as_posix(), path


def _left_out(path: Path, place: Path) -> bool:
    folder, name = path.parent, path.name
    if folder == place:
        return name in _OWN
    if folder == place / "bin":
        return name.startswith(_PROGRAMS_OF_ENVIRONMENT)
    if folder.name.endswith(".dist-info"):
        return name in _NOTES
    return name.endswith(".pyc") or (folder == place / "node_modules" and name == ".package-lock.json")


def _digest(path: Path, place: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return f"link:{os.readlink(path)}".replace(str(place), "{place}")
    if not stat.S_ISREG(mode):
        return "special"
    digest = hashlib.sha256(b"x" if mode & stat.S_IXUSR else b"")
    with path.open("rb") as file:
        if path.parent == place / "bin" and path.stat().st_size <= _MOST_SCRIPT:
            digest.update(file.read().replace(os.fsencode(place), b"{place}"))
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
