"""Records the terminals that programs of a trial keep themselves: the panes of its tmux session.

Each pane appends what it shows to a file `<name>.<columns>x<rows>.tty` in a folder of the trial (see
`harnesses.base.Launch.terminals`). The files are followed while the trial runs: their beginnings become events, all of
them artifacts. The folder is the trial's: nothing in it is trusted, no link is followed, and what is not a plain
file of such a name is left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from eventlog.schemas.base import EventData
from hemra.recording.terminal import BlobWriter, TerminalRecorder

#: The socket of the session, in the same folder.
SOCKET = "tmux.sock"
#: How often it is looked for more. Seconds.
LOOK_SECONDS = 0.1
#: So many panes are recorded, and so much of each.
MOST_PANES, MOST_BYTES = 16, 16 << 20
_CHUNK = 1 << 16
#: So much of one pane at one look, so that a pane in a flood holds nobody up.
_AT_ONCE = 1 << 20
_NAME = re.compile(r"([A-Za-z0-9_-]{1,32})\.([1-9]\d{0,3})x([1-9]\d{0,3})\.tty", re.ASCII)


class Cleaner(Protocol):
    """Takes secrets out of a stream of bytes."""

    def feed(self, chunk: bytes) -> bytes:
        """What can be let through of it, and of what was held back."""

    def flush(self) -> bytes:
        """The rest."""


class _Pane:
    """One file, open, and how far it was read."""

    def __init__(self, fd: int, recorder: TerminalRecorder, cleaner: Cleaner) -> None:
        self.fd = fd
        self.recorder = recorder
        self.cleaner = cleaner
        self.read = 0

    def take(self, most: int) -> None:
        """Record what is new, at most so many bytes."""
        end = min(self.read + most, MOST_BYTES)
        while self.read < end:
            piece = os.pread(self.fd, min(_CHUNK, end - self.read), self.read)
            if not piece:
                return
            self.read += len(piece)
            self._record(self.cleaner.feed(piece))

    def close(self) -> None:
        """Record the rest."""
        self._record(self.cleaner.flush())
        self.recorder.close()

    def _record(self, clean: bytes) -> None:
        if clean:
            self.recorder.feed("stdout", clean)


class PaneRecorder:
    """Follows the panes of one trial: `follow` while it runs, `close` when nothing of it runs any more.

    `folder` need not be there yet. `cleaner` gives a new Cleaner for each pane; `emit` takes events in order,
    `new_blob` begins an artifact.
    """

    def __init__(
        self,
        folder: Path,
        cleaner: Callable[[], Cleaner],
        emit: Callable[[EventData], None],
        new_blob: Callable[[], BlobWriter],
    ) -> None:
        self._folder = folder
        self._cleaner = cleaner
        self._emit = emit
        self._new_blob = new_blob
        self._panes: dict[str, _Pane] = {}

    async def follow(self) -> None:
        """Record what the panes show as they show it, until cancelled. Raises what `emit` and the blobs raise."""
        try:
            while True:
                self._look(_AT_ONCE)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            for pane in self._panes.values():
                # And its timer with it: `close` may run in a thread.
                pane.recorder.flush()

    def close(self) -> None:
        """Record what is left and make the artifacts durable (blocking). Raises what the blob store raises."""
        try:
            self._look(MOST_BYTES)
            for pane in self._panes.values():
                pane.close()
        finally:
            self.abort()

    def abort(self) -> None:
        """Forget what is not durable yet; no error when nothing is open."""
        panes, self._panes = self._panes, {}
        for pane in panes.values():
            pane.recorder.abort()
            os.close(pane.fd)

    def _look(self, most: int) -> None:
        self._find()
        for pane in self._panes.values():
            pane.take(most)

    def _find(self) -> None:
        """Open the panes that are new."""
        if len(self._panes) == MOST_PANES:
            return
        try:
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return  # not there yet, or none that could be trusted
        try:
            for name in sorted(os.listdir(folder)):
                named = _NAME.fullmatch(name)
                if named is None or named[1] in self._panes or len(self._panes) == MOST_PANES:
                    continue
                if (fd := _plain_file(name, folder)) is not None:
                    self._begin(fd, named[1], (int(named[2]), int(named[3])))
        finally:
            os.close(folder)

    def _begin(self, fd: int, name: str, size: tuple[int, int]) -> None:
        recorder = TerminalRecorder(
            self._emit, self._new_blob, terminal=f"tmux:{name}", size=size,
            artifacts={"stdout": f"terminals/{name}"},
        )  # fmt: skip
        self._panes[name] = _Pane(fd, recorder, self._cleaner())
        recorder.open()


def _plain_file(name: str, folder: int) -> int | None:
    """The file, open; None where it is no plain file or cannot be opened."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        fd = os.open(name, flags, dir_fd=folder)
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
    return None
