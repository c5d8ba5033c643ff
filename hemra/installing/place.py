"""The folders of installed agents, and how one appears: whole or not at all.

    <root>/<name>/<version>            a link to one of
    <root>/<name>/.builds/<random>     where an installation is made and stays: it may hold its own path
    <root>/<name>/.lock                held by whoever makes or removes one, and by what it started

A build that no link names is a leftover of an installation that died; the next holder of the lock removes it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from eventlog.disk import fsync_dir, make_dir
from harnesses.recipe import install_root
from hemra.installing.errors import InstallError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_BUILDS = ".builds"
_BUILD = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Shelf:
    """The folder of one agent, while its lock is held. `lock` is the descriptor that holds it."""

    folder: Path
    lock: int

    def new_build(self) -> Path:
        """An empty folder for an installation."""
        build = self.folder / _BUILDS / secrets.token_hex(8)
        make_dir(build)
        return build

    def publish(self, build: Path, version: str) -> Path:
        """Make a build the installation of `version`, in place of another; gives back its place."""
        link = self.folder / checked(version)
        if link.is_dir() and not link.is_symlink():
            raise InstallError(f"{link} is a folder that hemra did not make: move it away")
        fresh = self.folder / f".link-{secrets.token_hex(4)}"
        # The files are not synced: after a power cut the digest tells what did not get to the disk.
        fresh.symlink_to(Path(_BUILDS, build.name))
        try:
            os.replace(fresh, link)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise
        fsync_dir(self.folder)
        return link

    def withdraw(self, version: str) -> bool:
        """Take the installation of `version` away; False when there is none."""
        link = self.folder / checked(version)
        if not link.is_symlink():
            return False
        link.unlink()
        fsync_dir(self.folder)
        self.clear()
        return True

    def clear(self) -> int:
        """Remove builds that no link names; how many. What cannot be removed stays for the next time."""
        with contextlib.suppress(FileNotFoundError):
            for link in self.folder.glob(".link-*"):
                link.unlink()
        kept = {os.readlink(path) for path in self.folder.iterdir() if path.is_symlink()}
        count = 0
        for build in self._builds():
            if f"{_BUILDS}/{build.name}" not in kept:
                remove_build(build)
                count += 1
        return count

    def _builds(self) -> list[Path]:
        try:
            return sorted((self.folder / _BUILDS).iterdir())
        except FileNotFoundError:
            return []


def remove_build(build: Path) -> None:
    """Remove the folder of an installation. Refuses anything that does not look like one of ours."""
    if build.parent.name != _BUILDS or not _BUILD.fullmatch(build.name) or build.is_symlink():
        return
    shutil.rmtree(build, ignore_errors=True)


@contextlib.contextmanager
def shelf(name: str, waiting: Callable[[], None] = lambda: None) -> Iterator[Shelf]:
    """The folder of an agent, made where there is none, for this process alone; `waiting` is called when another
    has it. Raises InstallError when it cannot be made."""
    folder = install_root() / checked(name)
    try:
        make_dir(folder)
        lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InstallError(
            f"cannot write to {folder}: {error.strerror}; HEMRA_HARNESSES names another place"
        ) from error
    try:
        _take(lock, waiting)
        yield Shelf(folder, lock)
    finally:
        os.close(lock)


def _take(lock: int, waiting: Callable[[], None]) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise
        waiting()
        fcntl.flock(lock, fcntl.LOCK_EX)


def checked(name: str) -> str:
    """A name that can be one of a folder, given back. Raises InstallError."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise InstallError(f"{name!r} cannot name an installed agent or its version")
    return name
