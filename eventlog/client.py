"""A producer's client: `append` returns when the event is on disk, `emit` hands it over soon.

Everything goes through one queue, so there is one order. Whoever appends while nobody sends becomes the
sender: it sends all that waits, others' events too, in batches, until its own is answered, then makes another
waiting thread the sender. So an uncontended append costs no thread switch, and many at once share requests. A
background thread sends what was emitted or appended asynchronously, and what nobody else sends.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Self

from eventlog import clock
from eventlog.bus_messages import Answer, Status, pack_append
from eventlog.envelope import encode
from eventlog.errors import BadEvent, LogError, RecorderRefused, RecorderUnavailable
from eventlog.loop_answers import LoopAnswers
from eventlog.outbox import Item, Outbox
from eventlog.schemas.base import EventData
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.uplink import Uplink

#: How long one request may go unanswered, restarts of the recorder included.
TIMEOUT_S = 30.0
#: Emitted events are handed over within this time after the first of them.
EMIT_DELAY_S = 0.05
#: Emitted events that a full disk refused are sent again for this long before they count as lost.
RETRY_S = 5.0
_RETRY_PAUSE_S = 0.25


class Client:
    """Appends to one live stream. Thread-safe. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        store: Store,
        stream: str,
        *,
        source: str,
        start_recorder: bool = True,
        timeout_s: float = TIMEOUT_S,
        wall: Callable[[], int] = clock.wall_ns,
        mono: Callable[[], int] = clock.mono_ns,
    ) -> None:
        """Prepare; `connect` is what callers use."""
        self.store, self.stream, self.source = store, stream, source
        self._wall, self._mono, self._timeout_s = wall, mono, timeout_s
        self._uplink = Uplink(store, stream, may_start=start_recorder)
        self._producer, self._number = os.urandom(16), 0
        self._outbox = Outbox(EMIT_DELAY_S)
        self._refused_since: float | None = None
        self._lost: LogError | None = None
        self._closed = False
        self._answers: LoopAnswers | None = None
        self._thread = threading.Thread(target=self._send_in_background, name=f"client-{stream}", daemon=True)

    @classmethod
    def connect(
        cls,
        store: Store,
        stream: str,
        *,
        source: str,
        start_recorder: bool = True,
        create: bool = False,
        timeout_s: float = TIMEOUT_S,
        wall: Callable[[], int] = clock.wall_ns,
        mono: Callable[[], int] = clock.mono_ns,
    ) -> Client:
        """A client whose recorder has answered. With `create` the stream must not exist yet and is made.

        `source` names the producer in every event. `wall` and `mono` give nanoseconds. Raises
        StreamNotFound, StoreError, StreamBusy, DamageError, RecorderUnavailable.
        """
        if create:
            StreamWriter.open(store, stream, create=True).close()
        store.existing_stream(stream)
        client = cls(store, stream, source=source, start_recorder=start_recorder, timeout_s=timeout_s,
                     wall=wall, mono=mono)  # fmt: skip
        client._uplink.connect(time.monotonic() + timeout_s)
        client._thread.start()
        return client

    def append(self, data: EventData, *, trial: str | None = None) -> int | None:
        """Record an event; it is on disk when this returns. Its seq, or None when a resend hid it.

        Raises BadEvent, RecorderRefused (disk full: the event is not recorded), RecorderUnavailable (nobody
        knows whether it is). A loss of events that were emitted before is raised here too, once.
        """
        if self._lost is not None:
            self._raise_lost()
        line = self._encode(data, trial)
        if threading.current_thread() is threading.main_thread():
            return self._handed_over(line)
        item = Item(line)
        if self._outbox.put_and_lead(item):
            self._lead(item, [line])
            return self._outcome(item)
        return self._settled(item)

    async def append_async(self, data: EventData, *, trial: str | None = None) -> int | None:
        """As `append`, without blocking the event loop and without a thread for each call."""
        self._raise_lost()
        try:
            line = self._encode(data, trial, spill=False)
        except BadEvent:
            # Too large for a line: the payload goes to the blob store, which takes its time.
            line = await asyncio.to_thread(self._encode, data, trial)
        loop = asyncio.get_running_loop()
        if self._answers is None or self._answers.loop is not loop:
            self._answers = LoopAnswers(loop)
        future: asyncio.Future[int | None] = loop.create_future()
        self._outbox.put(Item(line, partial(self._answers.put, future)))
        return await future

    def emit(self, data: EventData, *, trial: str | None = None) -> None:
        """Hand an event over within 100 ms; waits while 8 MiB wait already.

        Where the log does not take it for some seconds, that is raised by a later append, emit, flush or
        close.
        """
        self._raise_lost()
        self._outbox.put(Item(self._encode(data, trial), waits=False))

    def flush(self) -> None:
        """Return when everything appended and emitted before is on disk. Raises as `append`."""
        self._raise_lost()
        self._handed_over(None)
        self._raise_lost()

    def finish(self) -> None:
        """Flush, then have the stream marked finished and sealed; the recorder ends. Raises as `append`."""
        self.flush()
        self._outbox.lead_alone()
        try:
            answer = self._uplink.finish()
        finally:
            self._outbox.hand_on()
        if answer is not None and answer.status is not Status.OK:
            raise RecorderRefused(answer.text)

    def close(self) -> None:
        """Flush and let go of the recorder, which ends when nobody needs it. Raises as `flush`.

        Safe to call twice. What could not be flushed is lost after this, and the error says so.
        """
        if self._closed:
            return
        self._closed = True
        self._outbox.refuse()
        lost, self._lost = self._lost, None
        try:
            if self._outbox.busy():
                self.flush()
        finally:
            self._outbox.end()
            if self._thread.is_alive():
                self._thread.join()
            self._uplink.bye()
        if lost is not None:
            raise lost

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _encode(self, data: EventData, trial: str | None, *, spill: bool = True) -> bytes:
        return encode(
            data, source=self.source, trial=trial, blobs=self.store.blobs if spill else None,
            wall=self._wall, mono=self._mono,
        )  # fmt: skip

    def _raise_lost(self) -> None:
        if self._lost is not None:
            lost, self._lost = self._lost, None
            raise lost

    def _handed_over(self, line: bytes | None) -> int | None:
        """Leave the sending to the background and wait for the answer.

        What Ctrl-C may interrupt, the main thread, never sends itself: an interrupt then costs a wait, and
        never leaves others without a sender or a batch half answered.
        """
        answered = threading.Lock()
        answered.acquire()
        item = Item(line, lambda _: answered.release())
        self._outbox.put(item)
        answered.acquire()
        return self._outcome(item)

    def _settled(self, item: Item) -> int | None:
        """Send, or wait for whoever sends, until `item` is answered."""
        if self._outbox.lead_or_wait(item):
            self._lead(item)
        return self._outcome(item)

    def _outcome(self, item: Item) -> int | None:
        if item.error is not None:
            raise item.error
        return item.seq

    def _lead(self, item: Item | None, in_hand: list[bytes] | None = None) -> None:
        """Send until `item` is answered (None: all there is), then make another the sender.

        `in_hand` are the lines of a batch that was taken already.
        """
        try:
            lines = in_hand if in_hand is not None else self._take()
            while lines is not None and self._send(lines) and (item is None or not item.done):
                lines = self._take()
        finally:
            # After an interrupt the batch in hand goes back to the front: the same numbers are sent again.
            self._outbox.hand_on()

    def _take(self) -> list[bytes] | None:
        """Lines of the next batch (none for a batch of marks); None when nothing waits."""
        batch = self._outbox.take()
        return [item.line for item in batch if item.line is not None] if batch else None

    def _send(self, lines: list[bytes]) -> bool:
        """Send the lines in hand and settle their items; False when the disk refused them."""
        answer: Answer | None = Answer(Status.OK)
        try:
            if lines:
                request = pack_append(self._producer, self._number + 1, lines)
                answer = self._uplink.ask(request, time.monotonic() + self._timeout_s)
        except LogError as error:
            self._drop(error, queued=True, emitted=True)
            return True
        except OSError as error:
            cause = f"the recorder of {self.stream} cannot be reached: {error}"
            self._drop(RecorderUnavailable(cause), queued=True, emitted=True)
            return True
        assert answer is not None
        match answer.status:
            case Status.OK:
                self._number += len(lines)
                self._refused_since = None
                self._outbox.settle(answer.first, answer.duplicates)
                return True
            case Status.NO_ROOM:
                self._refused(RecorderRefused(answer.text))
                return False
            case _:
                self._drop(RecorderRefused(answer.text), queued=False, emitted=True)
                return True

    def _refused(self, error: RecorderRefused) -> None:
        """The disk is full: appends fail now, what was emitted is tried again for RETRY_S."""
        now = time.monotonic()
        if self._refused_since is None:
            self._refused_since = now
        self._drop(error, queued=True, emitted=now - self._refused_since > RETRY_S)

    def _drop(self, error: LogError, *, queued: bool, emitted: bool) -> None:
        """Answer items with `error`. What is sent from here on has numbers of a new producer.

        Otherwise a number could mean a dropped event that did reach the disk, and hide another one.
        """
        self._producer, self._number = os.urandom(16), 0
        lost = self._outbox.drop(error, queued=queued, emitted=emitted)
        if emitted:
            self._refused_since = None
        if lost:
            self._lost = type(error)(
                f"emitted events of stream {self.stream} that are not recorded: {lost} ({error})"
            )

    def _send_in_background(self) -> None:
        while self._outbox.wait_due():
            if self._outbox.try_lead():
                try:
                    self._lead(None)
                except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must be told
                    self._drop(
                        LogError(f"sending to {self.stream} failed: {error!r}"), queued=True, emitted=True
                    )
            if self._refused_since is not None:
                self._outbox.pause(_RETRY_PAUSE_S)
