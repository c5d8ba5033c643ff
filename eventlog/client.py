"""A producer's client: `append` returns when the event is on disk, `emit` hands it over soon.

Everything goes through one queue, so there is one order. Whoever appends while nobody sends becomes the
sender: it sends all that waits, others' events too, in batches, until its own is answered, then makes another
waiting thread the sender. So an uncontended append costs no thread switch, and many at once share requests. A
background thread sends what was emitted or appended asynchronously, and what nobody else sends.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from typing import Self

from eventlog import clock
from eventlog.bulk import Lane, batches
from eventlog.bus_messages import Status
from eventlog.envelope import encode
from eventlog.errors import BadEvent, LogError, RecorderRefused
from eventlog.loop_sender import LoopSender
from eventlog.outbox import Outbox
from eventlog.outbox_items import Item
from eventlog.schemas.base import EventData
from eventlog.sender import Sender
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.uplink import Uplink

#: How long one request may go unanswered, restarts of the recorder included.
TIMEOUT_S = 30.0
#: Emitted events are handed over within this time after the first of them.
EMIT_DELAY_S = 0.05


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
        self._may_start = start_recorder
        self._uplink = Uplink(store, stream, may_start=start_recorder)
        self._outbox = Outbox(EMIT_DELAY_S)
        #: Lanes for many events that nobody uses at the moment.
        self._lanes: list[Lane] = []
        self._sender = Sender(self._uplink, self._outbox, stream, timeout_s)
        self._closed = False
        #: The loops that appended, and the one that did so last.
        self._loops: dict[asyncio.AbstractEventLoop, LoopSender] = {}
        self._loop: LoopSender | None = None
        self._thread = threading.Thread(
            target=self._sender.send_in_background, name=f"client-{stream}", daemon=True
        )

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
        self._raise_lost()
        line = self._encode(data, trial)
        if threading.current_thread() is threading.main_thread():
            return self._handed_over(line)
        item = Item(line)
        if self._outbox.put_and_lead(item):
            self._sender.lead(item, [line])
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
        if self._loop is None or self._loop.loop is not loop:
            self._loop = self._sender_of(loop)
        return await self._loop.append(line)

    def append_many(self, events: Iterable[tuple[EventData, str | None]]) -> int | None:
        """Record events, given as (data, trial), in their order; all are on disk when this returns.

        For whoever has many at once: they are encoded and sent by the calling thread, many in a request and some
        requests at a time. Everything that this client took before comes before them; what others append meanwhile
        may stand between them. Returns the seq of the last one, None when a resend hid it or there was none.

        Raises as `append`, and what `events` raises: what came before that is recorded. With RecorderRefused and
        RecorderUnavailable a beginning of the events is recorded; the message says how many for certain. After any
        other interruption nobody knows.
        """
        self._check_open()
        if self._sender.lost is not None or self._outbox.busy():
            self.flush()
        lane = self._lanes.pop() if self._lanes else self._new_lane()
        try:
            return lane.record(batches(self._encode(data, trial) for data, trial in events))
        finally:
            self._lanes.append(lane)
            if self._closed:
                self._leave_lanes()

    async def append_many_async(self, events: Iterable[tuple[EventData, str | None]]) -> int | None:
        """As `append_many`, in a thread: `events` is read there."""
        return await asyncio.to_thread(self.append_many, events)

    def _check_open(self) -> None:
        if self._closed:
            raise LogError("this client is closed")

    def _sender_of(self, loop: asyncio.AbstractEventLoop) -> LoopSender:
        for ended in [known for known in self._loops if known.is_closed()]:
            self._loops.pop(ended).leave()
        sender = self._loops.setdefault(loop, LoopSender(loop, self._sender, self._outbox))
        sender.be_told()
        return sender

    def _new_lane(self) -> Lane:
        uplink = Uplink(self.store, self.stream, may_start=self._may_start, holder=self._uplink.holder)
        return Lane(uplink, self.stream, self._timeout_s)

    def _leave_lanes(self) -> None:
        while self._lanes:
            self._lanes.pop().bye()

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
            answer = self._sender.finish()
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
        lost, self._sender.lost = self._sender.lost, None
        try:
            if self._outbox.busy():
                self.flush()
        finally:
            self._outbox.end()
            if self._thread.is_alive():
                self._thread.join()
            self._leave_lanes()
            for loop in self._loops.values():
                loop.leave()
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
        lost = self._sender.lost
        if lost is not None:
            self._sender.lost = None
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
            self._sender.lead(item)
        return self._outcome(item)

    def _outcome(self, item: Item) -> int | None:
        if item.error is not None:
            raise item.error
        return item.seq
