"""Turns what a program prints, and what it is told, into events and artifacts: the beginning as events, every byte
as an artifact.

Events are for following along and for playback; they are coalesced (at most 16 KiB or 100 ms each) and end
after 1 MiB a trial each way, so that a program that prints for hours does not fill the log. The artifacts `stdout`,
`stderr` and `stdin` hold all of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import (
    ArtifactStored,
    TerminalClosed,
    TerminalInput,
    TerminalOpened,
    TerminalOutput,
)

EVENT_BYTES = 16 * 1024
EVENT_SECONDS = 0.1
RECORDED_BYTES = 1024 * 1024
MEDIA = "application/octet-stream"


class BlobRef(Protocol):
    """What a finished blob is called: `sha256:<hex>`, and its size in bytes."""

    @property
    def digest(self) -> str:
        """`sha256:<hex>`."""

    @property
    def size(self) -> int:
        """Bytes."""


class BlobWriter(Protocol):
    """A blob that is being written."""

    def write(self, data: bytes, /) -> object:
        """Add bytes."""

    def commit(self) -> BlobRef:
        """Make it durable."""

    def abort(self) -> None:
        """Forget it."""


class _Stream:
    """One stream: what waits to become an event, and where in the stream it begins."""

    def __init__(self) -> None:
        self.waiting = bytearray()
        self.since = 0.0
        self.offset = 0
        self.size = 0
        self.writer: BlobWriter | None = None


class TerminalRecorder:
    """Records one program's output. `emit` takes events in order; `new_blob` begins an artifact.

    `size` is (columns, rows) of a pseudo-terminal, null for two pipes. `artifacts` gives a stream's artifact
    another name than the stream's own. Feed it from one event loop: what
    waits is then handed over within 100 ms even when nothing more comes. Without a running loop it is handed
    over with the next chunk or at the end.
    """

    def __init__(
        self,
        emit: Callable[[EventData], None],
        new_blob: Callable[[], BlobWriter],
        *,
        terminal: str = "harness",
        size: tuple[int, int] | None = None,
        artifacts: Mapping[str, str] | None = None,
    ) -> None:
        self._artifacts = artifacts or {}
        self._emit = emit
        self._new_blob = new_blob
        self._terminal = terminal
        self._size = size
        self._streams = {"stdout": _Stream(), "stderr": _Stream(), "stdin": _Stream()}
        self._timer: asyncio.TimerHandle | None = None
        self._open = False

    def open(self) -> None:
        """Say that the recording begins."""
        self._open = True
        columns, rows = self._size or (None, None)
        kind = "pipes" if self._size is None else "pty"
        self._emit(TerminalOpened(terminal=self._terminal, kind=kind, cols=columns, rows=rows))

    def feed(self, stream: str, chunk: bytes) -> None:
        """Take output as it came, or as `stdin` what the program is told. Raises what blob store or `emit` raise."""
        each = self._streams[stream]
        if stream == "stdin" or self._streams["stdin"].waiting:
            self.flush()  # which of the two was first must be seen in the log
        if each.writer is None:
            each.writer = self._new_blob()
        each.writer.write(chunk)
        each.size += len(chunk)
        ways = [each] if stream == "stdin" else [self._streams[name] for name in ("stdout", "stderr")]
        room = RECORDED_BYTES - sum(one.offset + len(one.waiting) for one in ways)
        if room <= 0:
            return
        if not each.waiting:
            each.since = time.monotonic()
        each.waiting += chunk[:room]
        while len(each.waiting) >= EVENT_BYTES:
            self._hand_over(stream, EVENT_BYTES)
        if each.waiting and time.monotonic() - each.since >= EVENT_SECONDS:
            self._hand_over(stream, EVENT_BYTES)
        if each.waiting:
            self._arm()

    def flush(self) -> None:
        """Hand over what waits, but for the beginning of a character whose rest has not come yet."""
        self._disarm()
        waiting = [name for name, each in self._streams.items() if each.waiting]
        for name in sorted(waiting, key=lambda name: self._streams[name].since):
            self._hand_over(name, EVENT_BYTES)

    def close(self) -> TerminalClosed:
        """Hand over the rest, make the artifacts durable, and say that the recording is over.

        Emits an ArtifactStored for each stream that had output, then the TerminalClosed that it returns.
        Blocks for one sync an artifact. Raises what the blob store raises.
        """
        self._disarm()
        for name, each in self._streams.items():
            while each.waiting:
                self._hand_over(name, EVENT_BYTES, last=True)
        for name, each in self._streams.items():
            if each.writer is not None:
                writer, each.writer = each.writer, None
                ref = writer.commit()
                kept_as = self._artifacts.get(name, name)
                self._emit(ArtifactStored(name=kept_as, blob=ref.digest, size=ref.size, media=MEDIA))
        closed = TerminalClosed(
            terminal=self._terminal,
            stdout_bytes=self._streams["stdout"].size,
            stderr_bytes=self._streams["stderr"].size,
            recorded_bytes=self._streams["stdout"].offset + self._streams["stderr"].offset,
        )
        self._emit(closed)
        self._open = False
        return closed

    def abort(self) -> None:
        """Forget what is not yet durable; for a trial that is given up. No error when nothing is open."""
        self._disarm()
        for each in self._streams.values():
            if each.writer is not None:
                each.writer.abort()
                each.writer = None
        self._open = False

    def _arm(self) -> None:
        if self._timer is not None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._timer = loop.call_later(EVENT_SECONDS, self.flush)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hand_over(self, stream: str, most: int, *, last: bool = False) -> None:
        """Emit at most `most` waiting bytes of one stream as an event."""
        each = self._streams[stream]
        data = bytes(each.waiting[:most])
        if not last:
            data = data[: len(data) - _begun(data)]
        if not data:
            return
        del each.waiting[: len(data)]
        each.since = time.monotonic()
        try:
            shown: str | bytes = data.decode()
        except UnicodeDecodeError:
            shown = data
        if stream == "stdin":
            self._emit(TerminalInput(terminal=self._terminal, data=shown))
        else:
            self._emit(TerminalOutput(terminal=self._terminal, stream=stream, offset=each.offset, data=shown))
        each.offset += len(data)


def _begun(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character whose rest is not there: 0 to 3."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return 0
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < length else 0
    return 0
