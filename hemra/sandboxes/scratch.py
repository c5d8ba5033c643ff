"""Folders on this machine that are there only while their maker lives, and how they are removed.

    <root>/hemra-<uid>/<run>/<trial>.<try>/{workspace,home,tmp,harness}     a trial's
    <root>/hemra-<uid>/<purpose>-<pid>/<random>                             any other
    <either>.owner                                                          beside each

The owner file is locked by the maker for as long as it lives; a folder whose owner is not locked is a leftover
of a process that died. Folders are made and removed by whoever holds that lock. Removal never follows a
symbolic link, needs no recursion however deep the folders are, and touches nothing that is not such a folder.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hemra.sandboxes.base import SandboxError

PARTS = ("workspace", "home", "tmp", "harness")
OWNER = ".owner"
#: How long making a folder is tried again while others remove what is around it.
PATIENCE_SECONDS = 2.0
_PAUSE_SECONDS = 0.002
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def scratch_parent() -> Path:
    """The folder below which sandboxes put what a trial needs (TMPDIR)."""
    return Path(tempfile.gettempdir())


def scratch_root(parent: Path) -> Path:
    """The folder of this user's trials below `parent`; it need not be there yet."""
    return parent.resolve() / f"hemra-{os.getuid()}"


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or ".." in name:
        raise SandboxError(f"{name!r} cannot name a folder of a trial: use letters, digits, '.', '_' and '-'")
    return name


def _own_folder(path: Path) -> None:
    """Make a folder that only this user may enter, or check that it is one. FileNotFoundError when what it
    is to be in is gone."""
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
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SandboxError(f"cannot make {path}: {error.strerror}; set TMPDIR to another place") from error


def _refuse_checkout(path: Path) -> None:
    for folder in (path, *path.parents):
        if (folder / ".git").exists():
            raise SandboxError(
                f"trials must not run inside a checkout, and {folder} is one: set TMPDIR to a place outside"
            )


class OwnedFolder:
    """`root`/`group`/`name`, this process's from `create` to `destroy` or to its own end."""

    def __init__(self, root: Path, group: str, name: str) -> None:
        self.root = root
        self.path = root / _checked_name(group) / _checked_name(name)
        self._held: int | None = None

    def create(self, parts: tuple[str, ...] = ()) -> None:
        """Make it, empty but for folders `parts`. What a process that died left in its place is removed first.

        The folder around it is removed by whoever is the last in it, maybe this moment: then all is made
        again. Raises SandboxError when the place is somebody else's, in use, or cannot be written.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                if self._try_create(parts):
                    return
                problem = f"{self.path} is in use by another engine that runs this trial"
            except (FileNotFoundError, FileExistsError) as error:
                problem = f"cannot make {self.path}: {error.strerror}; set TMPDIR to another place"
            except OSError as error:
                raise SandboxError(
                    f"cannot make {self.path}: {error.strerror}; set TMPDIR to another place"
                ) from error
            if time.monotonic() > deadline:
                raise SandboxError(problem)
            time.sleep(_PAUSE_SECONDS)

    def _try_create(self, parts: tuple[str, ...]) -> bool:
        """False when it is somebody else's, perhaps only for the moment of looking at it or removing it."""
        _own_folder(self.root)
        _own_folder(self.path.parent)
        lock = _lock(_owner_file(self.path), create=True)
        if lock is None:
            return False
        try:
            remove(self.root, self.path)
            _own_folder(self.path)
            for part in parts:
                (self.path / part).mkdir(mode=0o700)
        except BaseException:
            with contextlib.suppress(SandboxError, OSError):
                remove(self.root, self.path)
            _let_go(self.path, lock)
            raise
        self._held = lock
        return True

    def destroy(self) -> None:
        """Remove all of it, if it was made. Raises SandboxError naming what cannot be removed."""
        held, self._held = self._held, None
        if held is None:
            return  # whoever has it now, it is not this one
        try:
            remove(self.root, self.path)
        finally:
            _let_go(self.path, held)


class Scratch:
    """The folders of one try of one trial. `path` holds them all."""

    def __init__(self, parent: Path, run: str, trial: str, try_no: int) -> None:
        self.root = scratch_root(parent)
        self._folder = OwnedFolder(self.root, run, f"{trial}.{try_no}")
        self.path = self._folder.path
        self.workspace, self.home, self.tmp, self.harness = (self.path / part for part in PARTS)

    def create(self) -> None:
        """Make the folders, empty. What an engine that died left in this place is removed first. Raises
        SandboxError when the place is in a checkout, somebody else's, in use, or cannot be written."""
        _refuse_checkout(self.root)
        if not self.root.parent.is_dir():
            raise SandboxError(f"{self.root.parent} is not a folder: set TMPDIR to one that can be written")
        self._folder.create(PARTS)

    def destroy(self) -> None:
        """Remove all of it. Raises SandboxError naming what cannot be removed."""
        self._folder.destroy()


@contextlib.contextmanager
def private_folder(purpose: str) -> Iterator[Path]:
    """An empty folder of this user's for `purpose`, removed at the end.

    When this process dies before that, the next engine removes it. Raises SandboxError when it cannot be made;
    what cannot be removed at the end stays.
    """
    root = scratch_root(scratch_parent())
    folder = OwnedFolder(root, f"{purpose}-{os.getpid()}", secrets.token_hex(8))
    folder.create()
    try:
        yield folder.path
    finally:
        with contextlib.suppress(SandboxError, OSError):
            folder.destroy()


def _owner_file(path: Path) -> Path:
    return path.with_name(path.name + OWNER)


def _lock(name: Path, *, create: bool) -> int | None:
    """The owner file `name`, open and locked, or None when somebody else holds it. FileNotFoundError when it,
    or with `create` its folder, is not there; other OSErrors when it cannot be opened."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    fd = os.open(name, flags, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever held it may have removed it between the two: then it locks nothing any more.
        if os.path.samestat(os.fstat(fd), os.lstat(name)):
            return fd
    except (BlockingIOError, FileNotFoundError):
        os.close(fd)
        return None
    except OSError:
        os.close(fd)
        raise
    os.close(fd)
    return None


def _let_go(path: Path, lock: int) -> None:
    """Give up a folder, which is gone, or stays as a leftover for the next one to remove."""
    with contextlib.suppress(OSError):
        if not os.path.lexists(path):
            _owner_file(path).unlink()
    os.close(lock)
    with contextlib.suppress(OSError):
        path.parent.rmdir()  # the folder around it, when it was the last in it


def owner_lives(path: Path) -> bool:
    """Whether the process that made this folder is still alive."""
    try:
        lock = _lock(_owner_file(path), create=False)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # not to be told: better a leftover than the folder of a trial that runs
    if lock is None:
        return True
    os.close(lock)
    return False


def leftovers(root: Path, group: str | None = None) -> list[Path]:
    """Folders in `root`, or only those in `root`/`group`, whose makers are dead, sorted. They may be gone already:
    then it is their owner file that is left."""
    found: set[Path] = set()
    for folder in [root / group] if group is not None else _folders(root):
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                if entry.name.endswith(OWNER):
                    found.add(folder / entry.name.removesuffix(OWNER))
                elif entry.is_dir(follow_symlinks=False):
                    found.add(folder / entry.name)
    return sorted(path for path in found if not owner_lives(path))


def _folders(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as entries:
            return [root / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def remove_leftover(root: Path, path: Path) -> bool:
    """Remove a folder, `root`/<group>/<name>, whose maker is dead. False when it lives, and nothing is done.

    Raises SandboxError as `remove`.
    """
    _check_place(root, path)
    try:
        lock = _lock(_owner_file(path), create=True)
    except OSError:
        return False
    if lock is None:
        return False
    try:
        remove(root, path)
    finally:
        _let_go(path, lock)
    return True


def _check_place(root: Path, path: Path) -> bool:
    """Whether there is something at `path`. Raises SandboxError when that is none of our folders."""
    if path.parent.parent != root or not root.name.startswith("hemra-"):
        raise SandboxError(f"refusing to remove {path}: it is not a trial's folder below {root}")
    for folder in (root, path.parent, path):
        try:
            if not stat.S_ISDIR(folder.lstat().st_mode):
                raise SandboxError(f"refusing to remove {path}: {folder} is not a folder")
        except FileNotFoundError:
            return False
    return True


def remove(root: Path, path: Path) -> None:
    """Remove a trial's folder, `root`/<run>/<trial>.<try>, and all in it. No error when it is not there.

    Raises SandboxError when `path` is anything else, or names what could not be removed.
    """
    if not _check_place(root, path):
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
