"""What the sender of a client does: takes batches from the outbox, asks the recorder, settles or drops.

Whoever leads the outbox calls here; nobody else. A request may also be sent without waiting: it is then a *flight*,
which the same caller or the next leader brings to its end, in their order.
"""

from __future__ import annotations

import os
import time
from collections import deque
from typing import NamedTuple

from eventlog.bus_messages import Answer, Status, pack_append
from eventlog.bus_peer import Unreachable
from eventlog.errors import LogError, RecorderRefused, RecorderUnavailable
from eventlog.outbox import Outbox
from eventlog.outbox_items import Item
from eventlog.pace import Pace
from eventlog.uplink import Uplink

#: Emitted events that a full disk refused are sent again for this long before they count as lost.
RETRY_S = 5.0
_RETRY_PAUSE_S = 0.25


#: Requests that a loop may have on their way at once, so that the recorder finds the next one when a commit is over.
WINDOW = 4
#: Where an answer takes longer than this, syncs are what costs: one request at a time carries more events a sync.
_QUICK_S = 0.001


class _Flight(NamedTuple):
    """A request whose answer nobody has taken yet: its number on the connection, the lines in it, how many items
    of the outbox it answers, their bytes, and since when it flies (monotonic seconds)."""

    number: int
    lines: list[bytes]
    items: int
    size: int
    since: float


class Sender:
    """Sends one client's events under the numbers of one producer."""

    def __init__(self, uplink: Uplink, outbox: Outbox, stream: str, timeout_s: float) -> None:
        self.uplink = uplink
        self._outbox = outbox
        self._stream = stream
        self._timeout_s = timeout_s
        self._producer, self._number = os.urandom(16), 0
        self._flights: deque[_Flight] = deque()
        self._answer_s = 0.0
        self._pace = Pace()
        self._refused_since: float | None = None
        #: Emitted events that are lost, to be told to whoever comes next.
        self.lost: LogError | None = None

    @property
    def at_rest(self) -> bool:
        """Whether nothing stands in the way of sending at once: connected, and the disk takes events."""
        return self._refused_since is None and self.uplink.connected

    def lead(self, item: Item, in_hand: list[bytes] | None = None) -> None:
        """Send until `item` is answered, then make another the sender.

        `in_hand` are the lines of a batch that was taken already.
        """
        try:
            lines = in_hand or self._next()
            while lines is not None and self._send(lines) and (self._flights or not item.done):
                lines = self._next()
        finally:
            self._leave()

    def _leave(self) -> None:
        """Hand the place on. After an interrupt what is in hand goes back to the front: the same numbers are sent
        again."""
        if self._flights:
            self.crashed()
        self._outbox.hand_on(able=self.at_rest)

    def _next(self) -> list[bytes] | None:
        """Lines in flight, or of the next batch (none for a batch of marks); None when nothing waits."""
        if self._flights:
            return self._flights[0].lines
        batch = self._outbox.take()
        return _lines(batch) if batch else None

    def _send(self, lines: list[bytes]) -> bool:
        """Send the lines in hand and settle their items; False when the disk refused them."""
        answer: Answer | None = Answer(Status.OK)
        items = self._flights[0].items if self._flights else None
        try:
            if lines:
                answer = self._asked(lines)
        except LogError as error:
            self.drop(error, queued=True, emitted=True)
            return True
        except OSError as error:
            cause = f"the recorder of {self._stream} cannot be reached: {error}"
            self.drop(RecorderUnavailable(cause), queued=True, emitted=True)
            return True
        assert answer is not None
        return self._settle(lines, answer, items)

    def _asked(self, lines: list[bytes]) -> Answer | None:
        """The answer to `lines`, which may be on their way already."""
        deadline = time.monotonic() + self._timeout_s
        if self._flights:
            try:
                answer = self.uplink.collect(self._flights[0].number, deadline)
                if answer.status is not Status.CLOSING:
                    self._flights.popleft()
                    return answer
                cause = "it is ending"
            except Unreachable as reason:
                cause = str(reason)
            self.crashed()  # all is sent again, under the same numbers
            if time.monotonic() >= deadline:
                raise RecorderUnavailable(f"the recorder of {self._stream} does not answer: {cause}")
        request = pack_append(self._producer, self._number + 1, lines)
        asked = self.uplink.ask(request, deadline, awake_until=self._pace.awake_until())
        self._pace.beat()
        return asked

    def take_off(self, most_bytes: int) -> bool:
        """Send the next batch without waiting for its answer; False where nothing waits, or enough is on its way.

        At most `most_bytes` fly at once, and one line more. Raises Unreachable.
        """
        room = most_bytes - sum(flight.size for flight in self._flights)
        if room <= 0 or len(self._flights) >= self._window():
            return False
        batch = self._outbox.take_more(room)
        if not batch:
            return False
        lines = _lines(batch)
        if not lines and self._flights:
            last = self._flights[-1]
            self._flights[-1] = last._replace(items=last.items + len(batch))
            return True
        if not lines:
            self._outbox.settle(0, 0)
            return False
        now = time.monotonic()
        first = self._number + 1 + sum(len(flight.lines) for flight in self._flights)
        number = self.uplink.post(pack_append(self._producer, first, lines), now + self._timeout_s)
        self._flights.append(_Flight(number, lines, len(batch), sum(map(len, lines)), now))
        return True

    def _window(self) -> int:
        """A producer that the recorder does not know may begin at any number: its first request flies alone, so that
        what flies behind a refused request is refused too."""
        return WINDOW if self._number and self._answer_s < _QUICK_S else 1

    @property
    def flying_since(self) -> float | None:
        """When the oldest request took off whose answer is awaited (monotonic seconds)."""
        return self._flights[0].since if self._flights else None

    def lands_soon(self) -> bool:
        """Whether something flies whose answer is worth staying awake for."""
        return bool(self._flights) and time.monotonic() < self._pace.awake_until()

    def land(self) -> None:
        """Settle what is answered of what flies. Raises Unreachable when the rest never will be."""
        while self._flights:
            flight = self._flights[0]
            answer = self.uplink.arrived(flight.number)
            if answer is None:
                return
            if answer.status is Status.CLOSING:
                raise Unreachable("it is ending")
            self._flights.popleft()
            self._pace.beat()
            self._answer_s += (time.monotonic() - flight.since - self._answer_s) / 8
            self._settle(flight.lines, answer, flight.items)

    def crashed(self) -> None:
        """The answers of what flies will not come: what is in hand is to be sent again, under the same numbers."""
        self._flights.clear()
        self.uplink.drop()

    def _settle(self, lines: list[bytes], answer: Answer, items: int | None) -> bool:
        """Do as the recorder's answer says of the first `items` in hand; False when the disk refused them."""
        match answer.status:
            case Status.OK:
                self._number += len(lines)
                self._refused_since = None
                self._outbox.settle(answer.first, answer.duplicates, items)
                return True
            case Status.NO_ROOM:
                self._refused(RecorderRefused(answer.text))
                return False
            case _:
                self.drop(RecorderRefused(answer.text), queued=False, emitted=True, items=items)
                return True

    def _refused(self, error: RecorderRefused) -> None:
        """The disk is full: appends fail now, what was emitted is tried again for RETRY_S."""
        now = time.monotonic()
        if self._refused_since is None:
            self._refused_since = now
        self.drop(error, queued=True, emitted=now - self._refused_since > RETRY_S)

    def drop(self, error: LogError, *, queued: bool, emitted: bool, items: int | None = None) -> None:
        """Answer items with `error`, see `Outbox.drop`. What is sent from here on has numbers of a new producer.

        Otherwise a number could mean a dropped event that did reach the disk, and hide another one.
        """
        self._producer, self._number = os.urandom(16), 0
        if self._flights:
            self.crashed()  # what flies behind was refused with it: its numbers do not follow
        lost = self._outbox.drop(error, queued=queued, emitted=emitted, items=items)
        if emitted:
            self._refused_since = None
        if lost:
            self.lost = type(error)(
                f"emitted events of stream {self._stream} that are not recorded: {lost} ({error})"
            )

    def _lead_in_background(self) -> None:
        """Send all there is, then leave; what a loop has queued is left to the loop, once it can go on by itself."""
        try:
            lines = self._next()
            while lines is not None and self._send(lines):
                if not self._flights and self.at_rest and self._outbox.for_the_loop():
                    break
                lines = self._next()
        finally:
            self._leave()

    def finish(self) -> Answer | None:
        """Have the stream finished, after what is in flight. The caller leads."""
        while self._flights:
            self._send(self._flights[0].lines)
        return self.uplink.finish()

    def send_in_background(self) -> None:
        """Send what is due until the outbox ends: the body of the client's thread."""
        while self._outbox.wait_due():
            if self._outbox.try_lead():
                try:
                    self._lead_in_background()
                except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must be told
                    self.drop(
                        LogError(f"sending to {self._stream} failed: {error!r}"), queued=True, emitted=True
                    )
            if self._refused_since is not None:
                self._outbox.pause(_RETRY_PAUSE_S)


def _lines(batch: list[Item]) -> list[bytes]:
    return [item.line for item in batch if item.line is not None]
