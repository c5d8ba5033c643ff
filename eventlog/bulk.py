"""Many events at once: several requests are on their way, and none waits for the answer to the one before.

A lane is a connection of its own with numbers of its own, used by the thread that has the events. The recorder takes
a connection's requests in their order and refuses numbers that do not follow, so what is in flight behind a refused
request is refused too: what is recorded is always a beginning of what was handed over.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from eventlog.bus_messages import Answer, Status, pack_append
from eventlog.bus_peer import Unreachable
from eventlog.errors import RecorderRefused, RecorderUnavailable
from eventlog.uplink import Uplink

#: What one request carries at most, unless a single line is more.
BATCH_BYTES = 256 * 1024
BATCH_EVENTS = 2000
#: Requests that may wait for their answers at once.
WINDOW = 8


def batches(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Lines in requests' worth. What the source raises comes after the lines before it."""
    batch: list[bytes] = []
    size = 0
    failed: Exception | None = None
    try:
        for line in lines:
            if batch and (size + len(line) > BATCH_BYTES or len(batch) >= BATCH_EVENTS):
                yield batch
                batch, size = [], 0
            batch.append(line)
            size += len(line) + 1
    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised below
        failed = error
    if batch:
        yield batch
    if failed is not None:
        raise failed


class _Flight(NamedTuple):
    """A request without an answer: its bytes, and how many events it carries."""

    request: bytes
    events: int


class Lane:
    """Hands over batches of lines in their order. One thread at a time."""

    def __init__(self, uplink: Uplink, stream: str, timeout_s: float) -> None:
        self._uplink = uplink
        self._stream = stream
        self._timeout_s = timeout_s
        self._flying: deque[_Flight] = deque()
        #: Numbers of what flies on the present connection; shorter than `_flying` when a connection was lost.
        self._numbers: deque[int] = deque()
        self._begin()

    def _begin(self) -> None:
        self._producer, self._sent, self._known = os.urandom(16), 0, False
        self._flying.clear()
        self._numbers.clear()
        self._recorded = 0
        self._last: int | None = None

    def record(self, source: Iterable[list[bytes]]) -> int | None:
        """Return when all of `source` is on disk: seq of the last event, None when a resend hid it or there was none.

        What `source` raises is raised when everything before it is on disk. Raises RecorderRefused and
        RecorderUnavailable; the message says how many events are recorded.
        """
        self._recorded, self._last = 0, None
        try:
            failed = self._all_of(source)
            while self._flying:
                self._land()
        except BaseException:
            self.abandon()
            raise
        if failed is not None:
            raise failed
        return self._last

    def _all_of(self, source: Iterable[list[bytes]]) -> Exception | None:
        """Send everything; what the source raised instead of its next batch."""
        remaining = iter(source)
        while True:
            try:
                lines = next(remaining, None)
            except Exception as error:  # noqa: BLE001 - it is raised again when what came before is on disk
                return error
            if lines is None:
                return None
            self._send(lines)

    def _send(self, lines: list[bytes]) -> None:
        # A producer that the recorder does not know may begin at any number: the first request flies alone.
        while len(self._flying) >= (WINDOW if self._known else 1):
            self._land()
        self._flying.append(_Flight(pack_append(self._producer, self._sent + 1, lines), len(lines)))
        self._sent += len(lines)
        try:
            self._post(time.monotonic() + self._timeout_s)
        except Unreachable:
            self._lost()  # it is sent again before anything else is sent or awaited

    def _post(self, deadline: float) -> None:
        """Send what is not on its way on this connection, in its order."""
        while len(self._numbers) < len(self._flying):
            self._numbers.append(self._uplink.post(self._flying[len(self._numbers)].request, deadline))

    def _lost(self) -> None:
        self._uplink.drop()
        self._numbers.clear()

    def _land(self) -> None:
        """Await the answer to the first request in flight. Raises RecorderRefused, RecorderUnavailable."""
        answer = self._answer()
        events = self._flying.popleft().events
        self._numbers.popleft()
        if answer.status is not Status.OK:
            raise RecorderRefused(f"{answer.text}; {self._so_far()}, no others")
        self._known = True
        self._recorded += events
        self._last = answer.last if answer.duplicates < events else None

    def _answer(self) -> Answer:
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                self._post(deadline)
                answer = self._uplink.collect(self._numbers[0], deadline)
                if answer.status is not Status.CLOSING:
                    return answer
                cause = "it is ending"
            except Unreachable as reason:
                cause = str(reason)
            self._lost()
            if time.monotonic() >= deadline:
                raise RecorderUnavailable(
                    f"the recorder of {self._stream} does not answer: {cause}; {self._so_far()} for certain"
                )

    def _so_far(self) -> str:
        return f"the first {self._recorded:,} of the events that were handed over are recorded"

    def abandon(self) -> None:
        """Forget what is in flight: its numbers are never used for other events."""
        self._uplink.drop()
        self._begin()

    def bye(self) -> None:
        """Disconnect, telling the recorder that the client goes."""
        self._uplink.bye()
