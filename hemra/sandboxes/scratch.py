"""The folders of a trial on this machine: made where no checkout is, removed whatever is in them.

    <root>/hemra-<uid>/<run>/<trial>.<try>/{workspace,home,tmp,harness,owner}

`owner` is locked by the engine for as long as it lives; a folder whose owner is not locked is a leftover of
an engine that died. Removal never follows a symbolic link, needs no recursion however deep the folders are,
and touches nothing that is not such a trial's folder.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
from pathlib import Path

from hemra.sandboxes.base import SandboxError

PARTS = ("workspace", "home", "tmp", "harness")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def scratch_root(parent: Path) -> Path:
    """The folder of this user's trials below `parent`; it need not be there yet."""
    return parent.resolve() / f"hemra-{os.getuid()}"


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or ".." in name:
        raise SandboxError(f"{name!r} cannot name a folder of a trial: use letters, digits, '.', '_' and '-'")
    return name


def _own_folder(path: Path) -> None:
    """Make a folder that only this user may enter, or check that it is one."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise SandboxError(
                f"{path} is not a folder of this user: remove it, or set TMPDIR to another place"
            ) from None
        if stat.S_IMODE(found.st_mode) != 0o700:
            path.chmod(0o700)
    except OSError as error:
        raise SandboxError(f"cannot make {path}: {error.strerror}; set TMPDIR to another place") from error


def _refuse_checkout(path: Path) -> None:
    for folder in (path, *path.parents):
        if (folder / ".git").exists():
            raise SandboxError(
                f"trials must not run inside a checkout, and {folder} is one: set TMPDIR to a place outside"
            )


class Scratch:
    """The folders of one try of one trial. `path` holds them all."""

    def __init__(self, parent: Path, run: str, trial: str, try_no: int) -> None:
        self.root = scratch_root(parent)
        self.path = self.root / _checked_name(run) / _checked_name(f"{trial}.{try_no}")
        self.workspace, self.home, self.tmp, self.harness = (self.path / part for part in PARTS)
        self._lock: int | None = None

    def create(self) -> None:
        """Make the folders, empty. What an engine that died left in this place is removed first. Raises
        SandboxError when the place is in a checkout, somebody else's, in use, or cannot be written."""
        _refuse_checkout(self.root)
        if not self.root.parent.is_dir():
            raise SandboxError(f"{self.root.parent} is not a folder: set TMPDIR to one that can be written")
        _own_folder(self.root)
        _own_folder(self.path.parent)
        if self.path.exists():
            if owner_lives(self.path):
                raise SandboxError(f"{self.path} is in use by another engine that runs this trial")
            remove(self.root, self.path)
        _own_folder(self.path)
        self._lock = _lock_owner(self.path, create=True)
        for part in PARTS:
            (self.path / part).mkdir(mode=0o700)

    def destroy(self) -> None:
        """Remove all of it. Raises SandboxError naming what cannot be removed."""
        try:
            remove(self.root, self.path)
        finally:
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()  # the run's folder, when this was its last trial


def _lock_owner(path: Path, *, create: bool) -> int | None:
    """The owner file, open and locked, or None when somebody else holds it or it is not there."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    try:
        fd = os.open(path / "owner", flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def owner_lives(path: Path) -> bool:
    """Whether the engine that made this trial's folder is still alive."""
    if not (path / "owner").exists():
        return False
    fd = _lock_owner(path, create=False)
    if fd is None:
        return True
    os.close(fd)
    return False


def remove(root: Path, path: Path) -> None:
    """Remove a trial's folder, `root`/<run>/<trial>.<try>, and all in it. No error when it is not there.

    Raises SandboxError when `path` is anything else, or names what could not be removed.
    """
    if path.parent.parent != root or not root.name.startswith("hemra-"):
        raise SandboxError(f"refusing to remove {path}: it is not a trial's folder below {root}")
    for folder in (root, path.parent, path):
        try:
            if not stat.S_ISDIR(folder.lstat().st_mode):
                raise SandboxError(f"refusing to remove {path}: {folder} is not a folder")
        except FileNotFoundError:
            return
    if not shutil.rmtree.avoids_symlink_attacks:
        shutil.rmtree(path)
        return
    top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _empty(top, path)
    finally:
        os.close(top)
    path.rmdir()


def _empty(top: int, path: Path) -> None:
    """Remove everything in the folder open as `top`.

    Folders are not descended into: what a folder holds is moved up into `top` first, so neither the depth nor
    the length of a path matters.
    """
    number = 0
    while True:
        with os.scandir(top) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        if not found:
            return
        for name, is_folder in found:
            try:
                if not is_folder:
                    os.unlink(name, dir_fd=top)
                    continue
                number = _flatten(top, name, number)
                os.rmdir(name, dir_fd=top)
            except OSError as error:
                cause = f"{error.strerror}; remove it by hand"
                raise SandboxError(f"cannot remove {path / name}: {cause}") from error


def _flatten(top: int, name: str, number: int) -> int:
    """Remove the files of `top`/`name` and move its folders up into `top` under names of their own."""
    folder = _open_folder(top, name)
    try:
        os.fchmod(folder, 0o700)
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for below, is_folder in found:
            if not is_folder:
                os.unlink(below, dir_fd=folder)
                continue
            # Moving a folder changes its "..", so its own permissions must allow writing.
            os.close(_open_folder(folder, below))
            number = _move_up(folder, below, top, number)
    finally:
        os.close(folder)
    return number


def _move_up(folder: int, name: str, top: int, number: int) -> int:
    while True:
        number += 1
        try:
            os.rename(name, f".removing-{number}", src_dir_fd=folder, dst_dir_fd=top)
            return number
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise


def _open_folder(parent: int, name: str) -> int:
    """Open a folder, made accessible first; never through a symbolic link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        fd = os.open(name, flags, dir_fd=parent)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)
        fd = os.open(name, flags, dir_fd=parent)
    os.fchmod(fd, 0o700)
    return fd
