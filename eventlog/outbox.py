"""The one queue of a client, and who may send from it.

At any time at most one thread is the *sender*. A thread that wants its item answered becomes the sender if
there is none, else it waits; the sender hands its place on when its own item is answered. Nothing here
sends or knows the bus.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from eventlog.errors import LogError

#: What one request carries at most.
BATCH_EVENTS = 2000
BATCH_BYTES = 512 * 1024
#: Emitted events wait while this many bytes are queued already.
MAX_QUEUED_BYTES = 8 * 1024 * 1024
#: Where several append at once, the next batch waits this long at most for those that the last one set free: they
#: are about to append again, and one commit for all is worth more than two for halves.
GATHER_S = 0.0003


class Item:
    """One event on its way (or, with line None, a mark that everything before it is answered)."""

    #: Called once when the item is answered, by the sending thread.
    notify: Callable[[Item], None] | None = None
    #: Somebody waits for the answer; False for what was emitted.
    waits = True
    waiter: threading.Lock | None = None
    promoted = False
    done = False
    seq: int | None = None
    error: LogError | None = None

    def __init__(
        self, line: bytes | None, notify: Callable[[Item], None] | None = None, *, waits: bool = True
    ) -> None:
        self.line = line
        if notify is not None:
            self.notify = notify
        if not waits:
            self.waits = False


def _tell(items: Sequence[Item]) -> None:
    """Call those who asked to be called; without the mutex, because what they do is their business."""
    for item in items:
        if item.notify is not None:
            item.notify(item)


class Outbox:
    """Items in the order of their coming. Thread-safe."""

    def __init__(self, emit_delay_s: float) -> None:
        self._delay = emit_delay_s
        self._mutex = threading.Lock()
        self._due_changed = threading.Condition(self._mutex)
        self._freed = threading.Condition(self._mutex)
        self._gathered = threading.Condition(self._mutex)
        self._queue: deque[Item] = deque()
        self._in_hand: list[Item] = []
        self._waiting: deque[Item] = deque()
        self._bytes = 0
        self._asynchronous = 0
        #: Queued items that somebody waits for, and how many such there were at once when the last batch was answered.
        self._wanted = 0
        self._at_once = 0
        self._gathering = 0
        self._led = False
        self._refusing = False
        self._ended = False
        #: When the background sender has something to do, and until when it sleeps (monotonic seconds).
        self._due = math.inf
        self._sleeps_until = -math.inf

    def put(self, item: Item) -> None:
        """Queue an item; what is emitted waits here while the queue is full. LogError after `end`."""
        with self._mutex:
            while not item.waits and self._bytes >= MAX_QUEUED_BYTES and not self._ended:
                self._be_due(0.0)
                self._freed.wait()
            if self._ended or (self._refusing and item.line is not None):
                raise LogError("this client is closed")
            self._queue.append(item)
            if item.line is not None:
                self._bytes += len(item.line)
            if item.waits:
                self._count_wanted()
            if not item.waits:
                if self._due == math.inf:
                    self._be_due(self._delay)
            elif item.notify is not None:
                self._asynchronous += 1
                self._be_due(0.0)

    def put_and_lead(self, item: Item) -> bool:
        """Queue an item that somebody waits for.

        Where nothing waits and nobody sends, the caller becomes the sender with the item in hand: True.
        """
        with self._mutex:
            if self._ended or self._refusing:
                raise LogError("this client is closed")
            assert item.line is not None
            self._bytes += len(item.line)
            if self._led or self._queue or self._at_once > 1:
                self._queue.append(item)
                self._count_wanted()
                return False
            self._led = True
            self._in_hand = [item]
            return True

    def _count_wanted(self) -> None:
        self._wanted += 1
        if self._wanted == self._gathering:
            self._gathered.notify()

    def _be_due(self, delay_s: float) -> None:
        """Have the background sender look in `delay_s` seconds at the latest."""
        self._due = min(self._due, time.monotonic() + delay_s if delay_s else 0.0)
        if self._due < self._sleeps_until:
            self._due_changed.notify()

    def lead_or_wait(self, item: Item) -> bool:
        """True: the caller is the sender now. False: `item` is answered. Waits for one or the other."""
        with self._mutex:
            if item.done:
                return False
            if not self._led:
                self._led = True
                return True
            waiter = threading.Lock()
            waiter.acquire()
            item.waiter = waiter
            self._waiting.append(item)
        try:
            waiter.acquire()
        except BaseException:
            with self._mutex:
                item.waiter = None
                if item.promoted:
                    self._hand_on()
            raise
        return not item.done

    def try_lead(self) -> bool:
        """Become the sender if there is none."""
        with self._mutex:
            if self._led:
                return False
            self._led = True
            return True

    def lead_alone(self) -> None:
        """Become the sender, waiting until there is none."""
        with self._mutex:
            while self._led:
                self._freed.wait()
            self._led = True

    def take(self) -> list[Item]:
        """The sender's next batch: it stays in hand until it is settled, dropped or handed back."""
        with self._mutex:
            if self._at_once > 1 and not self._in_hand:
                self._gather()
            batch, size, queue = self._in_hand, 0, self._queue
            while queue and len(batch) < BATCH_EVENTS:
                line = queue[0].line
                if line is not None:
                    if batch and size + len(line) > BATCH_BYTES:
                        break
                    size += len(line) + 1
                item = queue.popleft()
                self._wanted -= item.waits
                batch.append(item)
            if not queue:
                self._due = math.inf
            return batch

    def _gather(self) -> None:
        """Wait until as many want an answer as did at once the last time, but not long."""
        deadline = time.monotonic() + GATHER_S
        self._gathering = self._at_once
        while self._wanted < self._gathering and (left := deadline - time.monotonic()) > 0:
            self._gathered.wait(left)
        self._gathering = 0

    def settle(self, first: int, duplicates: int) -> None:
        """The batch in hand is on disk: its lines after the first `duplicates` have seqs from `first` on."""
        with self._mutex:
            batch, self._in_hand = self._in_hand, []
            self._forget(batch)
            self._at_once = self._wanted + sum(item.waits for item in batch)
            number = 0
            for item in batch:
                if item.line is not None:
                    if number >= duplicates:
                        item.seq = first + number - duplicates
                    number += 1
            self._answer(batch)
        _tell(batch)

    def drop(self, error: LogError, *, queued: bool, emitted: bool) -> int:
        """Answer items with `error` instead: those in hand, with `queued` also all that wait.

        What was only emitted stays, in its order, unless `emitted`. Returns how many emitted events were
        dropped.
        """
        with self._mutex:
            items = self._in_hand + (list(self._queue) if queued else [])
            dropped = [item for item in items if item.waits or emitted]
            kept = [] if emitted else [item for item in items if not item.waits]
            if queued:
                self._queue.clear()
                self._wanted = 0
            self._queue.extendleft(reversed(kept))
            self._in_hand = []
            self._forget(dropped)
            for item in dropped:
                item.error = error
            self._answer(dropped)
        _tell(dropped)
        return sum(not item.waits for item in dropped)

    def _answer(self, items: Sequence[Item]) -> None:
        """Wake whoever waits. Under the mutex: nobody can begin to wait for what was answered a moment before."""
        for item in items:
            item.done = True
            if item.waiter is not None:
                item.waiter.release()

    def _forget(self, items: Sequence[Item]) -> None:
        for item in items:
            if item.notify is not None:
                self._asynchronous -= 1
            if item.line is not None:
                self._bytes -= len(item.line)
        self._freed.notify_all()

    def hand_on(self) -> None:
        """The caller is the sender no longer: another that waits becomes it, or nobody."""
        with self._mutex:
            self._hand_on()

    def _hand_on(self) -> None:
        self._wanted += sum(item.waits for item in self._in_hand)
        self._queue.extendleft(reversed(self._in_hand))
        self._in_hand = []
        while self._waiting:
            heir = self._waiting.popleft()
            if not heir.done and heir.waiter is not None:
                waiter, heir.waiter, heir.promoted = heir.waiter, None, True
                waiter.release()
                return
        self._led = False
        self._freed.notify_all()
        # The background sender may sleep without a date since it saw a sender: from now on it is to be told again.
        self._sleeps_until = math.inf
        if self._queue:
            self._be_due(0.0 if self._asynchronous else self._delay)
            self._due_changed.notify()  # it sleeps without a date while another sends

    def refuse(self) -> None:
        """Take no more events: what is queued by now can be flushed, and nothing comes in unseen after that."""
        with self._mutex:
            self._refusing = True

    def busy(self) -> bool:
        """Whether anything is queued or being sent."""
        with self._mutex:
            return bool(self._queue) or bool(self._in_hand) or self._led

    def wait_due(self) -> bool:
        """Sleep until something queued is due for the background sender; False when the outbox has ended."""
        with self._mutex:
            while not self._ended:
                left = self._due - time.monotonic()
                if left <= 0 and not self._led:
                    self._due = math.inf
                    return True
                # While another sends it need not be told of what comes: that one's handing on tells it.
                self._sleeps_until = -math.inf if self._led else self._due
                self._due_changed.wait(None if self._led or left == math.inf else left)
                self._sleeps_until = -math.inf
            return False

    def pause(self, seconds: float) -> None:
        """Let `seconds` pass, or less when the outbox ends."""
        deadline = time.monotonic() + seconds
        with self._mutex:
            while not self._ended and (left := deadline - time.monotonic()) > 0:
                self._due_changed.wait(left)

    def end(self) -> None:
        """No more sending in the background; whoever waits for room goes on."""
        with self._mutex:
            self._ended = True
            self._due_changed.notify_all()
            self._freed.notify_all()
