"""Whose files a trial's are: the user that its programs run as, and how files change hands before they start."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hemra.sandboxes.base import SandboxError

#: The user `nobody` of nearly every image. Root must not run a model's commands, not even in a container.
NOBODY = 65534
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def trial_user(*, rootless: bool) -> tuple[int, int]:
    """User and group of the trial's programs, as the container names them.

    It is this user, so that files are the same user's on both sides; where this user is root, it is nobody. A
    rootless engine calls this user root.
    """
    if rootless:
        return 0, 0
    uid, gid = os.getuid(), os.getgid()
    return (NOBODY, NOBODY) if uid == 0 else (uid, gid)


def hand_over(folders: Iterable[Path], owner: tuple[int, int]) -> None:
    """Give everything in the folders to `owner`, links not followed; a trial's user, or this user when the trial is
    over. Does nothing unless this user is root. No program of the trial may run meanwhile.

    What is the owner's already is not touched, so that its change time stays. OSError when the system refuses.
    """
    if os.getuid() != 0:
        return
    for folder in folders:
        _give(os.open(folder, _FOLDER), owner)


def _own(fd: int, owner: tuple[int, int]) -> None:
    if os.fstat(fd).st_uid != owner[0]:
        os.fchown(fd, *owner)


def _give(here: int, owner: tuple[int, int]) -> None:
    """The open folder and all below it. One descriptor, however deep that goes; it is closed at the end."""
    try:
        _own(here, owner)
        waiting = [_folders_after_files(here, owner)]
        while True:
            below = waiting[-1].pop() if waiting[-1] else ".."
            if below == "..":
                waiting.pop()
                if not waiting:
                    return
            above, here = here, os.open(below, _FOLDER, dir_fd=here)
            os.close(above)
            if below != "..":
                _own(here, owner)
                waiting.append(_folders_after_files(here, owner))
    finally:
        os.close(here)


def _folders_after_files(folder: int, owner: tuple[int, int]) -> list[str]:
    with os.scandir(folder) as entries:
        found = list(entries)
    for entry in found:
        if not entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid != owner[0]:
            os.chown(entry.name, *owner, dir_fd=folder, follow_symlinks=False)
    return [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]


def own_alone(path: Path, owner: tuple[int, int]) -> None:
    """Give one file of this process's own to `owner`, where this user may."""
    if os.getuid() == 0 and owner[0] != 0:
        os.chown(path, *owner, follow_symlinks=False)


#: What of a harness may be copied for each trial. Bytes.
LARGEST_COPY = 256 << 20


def _visible(path: Path, masked: Sequence[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """A file or folder and all below it but for what is masked, links not followed."""
    if path in masked:
        return
    status = path.lstat()
    yield path, status
    if stat.S_ISDIR(status.st_mode):
        for entry in sorted(path.iterdir()):
            yield from _visible(entry, masked)


def is_open(path: Path, masked: Sequence[Path]) -> bool:
    """Whether every user may read it and all that is below."""
    return all(
        stat.S_ISLNK(status.st_mode)
        or (wanted := 0o005 if stat.S_ISDIR(status.st_mode) else 0o004) == status.st_mode & wanted
        for _, status in _visible(path, masked)
    )


def copy_visible(path: Path, target: Path, masked: Sequence[Path]) -> None:
    """Copy what is not masked; links are copied as links, and what is no file, folder or link is left out.

    SandboxError when it is too much.
    """
    size = 0
    for each, status in _visible(path, masked):
        place = target / each.relative_to(path)
        if stat.S_ISLNK(status.st_mode):
            place.symlink_to(os.readlink(each))
        elif stat.S_ISDIR(status.st_mode):
            place.mkdir(mode=0o700)
        elif stat.S_ISREG(status.st_mode):
            size += status.st_size
            if size > LARGEST_COPY:
                raise SandboxError(
                    f"{path} is closed to other users and too large to be copied for each trial: open it "
                    f"(chmod -R o+rX {shlex.quote(str(path))}), or put it into the image"
                )
            shutil.copy2(each, place)
