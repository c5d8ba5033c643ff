"""Sending from within an event loop: no thread is woken for an append, nor for its answer.

What the loop's tasks append in one round goes out together at its end. While the answer is awaited the sender's place
is *parked*: a thread that must wait anyway takes it over and awaits the answer itself, and so does the background
thread when the loop does not come back soon, for it may be blocked, or gone. What would block the loop is left to the
background thread: connecting, restarting a recorder, trying again on a full disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable

from eventlog.bus_peer import Unreachable
from eventlog.outbox import Outbox
from eventlog.outbox_items import Item
from eventlog.sender import Sender

#: A request of this size fits the socket's buffer, so that sending it never blocks.
MOST_BYTES = 64 * 1024


class AsyncItem(Item):
    """An item whose answer goes to a future of a loop."""

    def __init__(
        self, line: bytes, notify: Callable[[Item], None], future: asyncio.Future[int | None]
    ) -> None:
        # Set here and not by Item: this is made for every append.
        self.line = line
        self.notify = notify
        self.future = future


class LoopSender:
    """One loop's way into the outbox. Methods belong to the loop's thread unless they say otherwise."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sender: Sender, outbox: Outbox) -> None:
        self.loop = loop
        self._sender = sender
        self._outbox = outbox
        self._scheduled = False
        self._awake = False
        #: The loop settles a flight at this moment: answers need no way into the loop.
        self._settling = False
        #: A descriptor of its own for the connection that is watched: it stays valid when that is closed.
        self._watched: tuple[object, int] | None = None
        self._mutex = threading.Lock()
        self._answered: list[Item] = []

    def append(self, line: bytes) -> asyncio.Future[int | None]:
        """Queue a line; the future gives its seq when it is on disk. Raises LogError when the client is closed."""
        future: asyncio.Future[int | None] = self.loop.create_future()
        item = AsyncItem(line, self.answered, future)
        if self._sender.at_rest:
            self._outbox.put_soon(item)
            self._schedule()
        else:
            self._outbox.put(item)
        return future

    def be_told(self) -> None:
        """Have this loop told when others leave to it what loops have queued."""
        self._outbox.left_to_loop = self._told

    def _told(self) -> None:
        with contextlib.suppress(
            RuntimeError
        ):  # the loop has ended: the background sender is due a moment later
            self.loop.call_soon_threadsafe(self._schedule)

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self.loop.call_soon(self._go)

    def _go(self) -> None:
        """Send what waits, where nobody else sends."""
        self._scheduled = False
        try:
            if self._outbox.claim(self) or self._outbox.try_lead(self):
                self._go_on()
        except (Unreachable, OSError):
            self._leave_off()
        except BaseException:
            self._leave_off()
            raise

    def _go_on(self) -> None:
        """As the sender: send what may be sent, then leave the place to whoever can wait, or to nobody."""
        able = self._sender.at_rest
        while able and self._sender.take_off(MOST_BYTES):
            self._watch()
        self._leave(soon=True)
        self._stay_awake()

    def _stay_awake(self) -> None:
        """Keep the loop from sleeping while an answer is about to come: it goes round, and whatever else is to be done
        in it is done."""
        if not self._awake and self._sender.lands_soon():
            self._awake = True
            self.loop.call_soon(self._go_round)

    def _go_round(self) -> None:
        self._awake = False
        self._stay_awake()

    def _leave(self, *, soon: bool) -> None:
        since = self._sender.flying_since
        if since is not None:
            self._outbox.park(self, since)
            return
        able = self._sender.at_rest
        self._outbox.hand_on(soon=soon or not able, able=able)

    def _leave_off(self) -> None:
        """What is in hand is to be sent again, by others."""
        if self._outbox.leads(self):
            self._sender.crashed()
            self._outbox.hand_on(able=False)

    def _readable(self) -> None:
        """Something came on the connection: an answer, its beginning, or the end."""
        try:
            if not self._outbox.claim(self):
                self._unwatch()
                return
            self._settling = True
            try:
                self._sender.land()
            finally:
                self._settling = False
            self._leave(soon=False)
            # The tasks that were answered run first; what they append goes out behind them, together.
            self._schedule()
        except Unreachable:
            self._leave_off()
        except BaseException:
            self._leave_off()
            raise

    def _watch(self) -> None:
        connection = self._sender.uplink.connection
        if self._watched is None or self._watched[0] is not connection:
            self._unwatch()
            assert connection is not None
            fd = os.dup(connection.fileno())
            self._watched = connection, fd
            self.loop.add_reader(fd, self._readable)

    def _unwatch(self) -> None:
        if self._watched is not None:
            (_, fd), self._watched = self._watched, None
            self.loop.remove_reader(fd)
            os.close(fd)

    def leave(self) -> None:
        """The client is closed: stop watching. From any thread."""
        try:
            self.loop.call_soon_threadsafe(self._unwatch)
        except RuntimeError:  # the loop is closed, and watches nothing any more
            if self._watched is not None:
                (_, fd), self._watched = self._watched, None
                os.close(fd)

    def answered(self, item: Item) -> None:
        """`item` is answered; its future is resolved in the loop. From any thread, by whoever sends."""
        if self._settling:
            # Only who sends gets here, and that is the loop itself.
            _resolve(item)
            return
        with self._mutex:
            self._answered.append(item)
            first = len(self._answered) == 1
        if first:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
                self.loop.call_soon_threadsafe(self._resolve_all)

    def _resolve_all(self) -> None:
        with self._mutex:
            answered, self._answered = self._answered, []
        for item in answered:
            _resolve(item)


def _resolve(item: Item) -> None:
    assert isinstance(item, AsyncItem)
    if item.future.done():
        return  # whoever waited has been cancelled
    if item.error is not None:
        item.future.set_exception(item.error)
    else:
        item.future.set_result(item.seq)
