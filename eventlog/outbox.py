"""The one queue of a client, and who may send from it.

At any time at most one thread is the *sender*. A thread that wants its item answered becomes the sender if
there is none, else it waits; the sender hands its place on when its own item is answered. An event loop, which
must not wait, *parks* the place while its request is on the way: it claims it back when the answer comes, unless
somebody took it meanwhile. Nothing here sends or knows the bus.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from eventlog.errors import LogError
from eventlog.outbox_items import Item, tell

#: What one request carries at most.
BATCH_EVENTS = 2000
BATCH_BYTES = 512 * 1024
#: Emitted events wait while this many bytes are queued already.
MAX_QUEUED_BYTES = 8 * 1024 * 1024
#: Where several append at once, the next batch waits this long at most for those that the last one set free: they
#: are about to append again, and one commit for all is worth more than two for halves.
GATHER_S = 0.0003


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
        #: The loop that is the sender, or parked the place; and from when on the background sender may take it.
        self._loop: object | None = None
        self._parked = False
        self._overdue = math.inf
        self._looped = 0
        #: Called when somebody leaves to the loop what it has queued. It must not call back.
        self.left_to_loop: Callable[[], None] | None = None
        self._refusing = False
        self._ended = False
        #: When the background sender has something to do; before which time it need not be told of what is due; and
        #: when it wakes by itself (monotonic seconds).
        self._due = math.inf
        self._sleeps_until = -math.inf
        self._wakes_at = -math.inf

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
                if self._parked:
                    # The loop may be what is blocked by the wait for this item.
                    self._overdue = 0.0
                    self._due_changed.notify()
                self._be_due(0.0)

    def put_soon(self, item: Item) -> None:
        """Queue an item of a loop that sends it soon; where it does not, the background sender will."""
        with self._mutex:
            if self._ended or self._refusing:
                raise LogError("this client is closed")
            assert item.line is not None
            item.looped = True
            self._queue.append(item)
            self._bytes += len(item.line)
            self._looped += 1
            self._count_wanted()
            if self._due == math.inf:
                self._be_due(self._delay)

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
            if not self._led or self._parked:
                self._take_place()
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

    def _take_place(self, loop: object | None = None) -> None:
        self._led, self._parked, self._loop = True, False, loop

    def try_lead(self, loop: object | None = None) -> bool:
        """Become the sender if there is none, or if a loop parked the place and has not come back in time."""
        with self._mutex:
            if self._led and not (self._parked and time.monotonic() >= self._overdue):
                return False
            self._take_place(loop)
            return True

    def lead_alone(self) -> None:
        """Become the sender, waiting until there is none."""
        with self._mutex:
            while self._led and not self._parked:
                self._freed.wait()
            self._take_place()

    def leads(self, loop: object) -> bool:
        """Whether `loop` is the sender and has not parked its place."""
        with self._mutex:
            return self._led and not self._parked and self._loop is loop

    def park(self, loop: object, since: float) -> None:
        """The loop's requests are on their way, `since` then: whoever waits already becomes the sender, else nobody."""
        with self._mutex:
            if self._promoted():
                return
            self._parked, self._loop = True, loop
            self._overdue = since + self._delay
            self._freed.notify_all()
            if self._wakes_at > self._overdue:
                self._due_changed.notify()

    def claim(self, loop: object) -> bool:
        """Take back the place that the loop parked; False when another has it."""
        with self._mutex:
            if not self._parked or self._loop is not loop:
                return False
            self._parked = False
            return True

    def take(self) -> list[Item]:
        """The sender's next batch: it stays in hand until it is settled, dropped or handed back."""
        with self._mutex:
            if self._at_once > 1 and not self._in_hand:
                self._gather()
            self._fill(self._in_hand, BATCH_BYTES)
            return self._in_hand

    def take_more(self, most_bytes: int) -> list[Item]:
        """For a loop: items that come into its hand behind those that are in it, about `most_bytes` of them.

        None that a thread waits for: Ctrl-C may interrupt a loop anywhere, and then that thread would wait for ever.
        """
        with self._mutex:
            more: list[Item] = []
            self._fill(more, most_bytes, for_loop=True)
            self._in_hand += more
            return more

    def _fill(self, batch: list[Item], most_bytes: int, *, for_loop: bool = False) -> None:
        """Take from the queue into `batch` what fits into one request with it."""
        size, queue = 0, self._queue
        while queue and len(batch) < BATCH_EVENTS:
            if for_loop and not queue[0].for_loop:
                break
            line = queue[0].line
            if line is not None:
                if batch and size + len(line) > most_bytes:
                    break
                size += len(line) + 1
            item = queue.popleft()
            self._wanted -= item.waits
            batch.append(item)
        if not queue:
            self._due = math.inf

    def _gather(self) -> None:
        """Wait until as many want an answer as did at once the last time, but not long."""
        deadline = time.monotonic() + GATHER_S
        self._gathering = self._at_once
        while self._wanted < self._gathering and (left := deadline - time.monotonic()) > 0:
            self._gathered.wait(left)
        self._gathering = 0

    def settle(self, first: int, duplicates: int, items: int | None = None) -> None:
        """What is in hand, or its first `items`, is on disk: lines behind `duplicates` have seqs from `first` on."""
        with self._mutex:
            batch, self._in_hand = self._split(items)
            self._forget(batch)
            self._at_once, number = self._wanted, -duplicates
            for item in batch:
                if item.line is not None:
                    if number >= 0:
                        item.seq = first + number
                    number += 1
                if item.waits:
                    self._at_once += 1
            self._answer(batch)
        tell(batch)

    def _split(self, items: int | None) -> tuple[list[Item], list[Item]]:
        """What is in hand: the first `items` of it (None: all), and the rest."""
        if items is None:
            return self._in_hand, []
        return self._in_hand[:items], self._in_hand[items:]

    def drop(self, error: LogError, *, queued: bool, emitted: bool, items: int | None = None) -> int:
        """Answer items with `error` instead: those in hand, with `queued` also all that wait.

        Of what is in hand only the first `items`, where that is given: the rest waits again. What was only emitted
        stays, in its order, unless `emitted`. Returns how many emitted events were dropped.
        """
        with self._mutex:
            meant, again = self._split(items)
            if queued:
                meant = meant + again + list(self._queue)
                again = []
                self._queue.clear()
                self._wanted = 0
            dropped = [item for item in meant if item.waits or emitted]
            kept = [] if emitted else [item for item in meant if not item.waits]
            self._queue.extendleft(reversed(kept + again))
            self._wanted += sum(item.waits for item in again)
            self._in_hand = []
            self._forget(dropped)
            for item in dropped:
                item.error = error
            self._answer(dropped)
        tell(dropped)
        return sum(not item.waits for item in dropped)

    def _answer(self, items: Sequence[Item]) -> None:
        """Wake whoever waits. Under the mutex: nobody can begin to wait for what was answered a moment before."""
        for item in items:
            item.done = True
            if item.waiter is not None:
                item.waiter.release()

    def _forget(self, items: Sequence[Item]) -> None:
        for item in items:
            if item.looped:
                self._looped -= 1
            elif item.notify is not None:
                self._asynchronous -= 1
            if item.line is not None:
                self._bytes -= len(item.line)
        self._freed.notify_all()

    def hand_on(self, *, soon: bool = True, able: bool = True) -> None:
        """The caller is the sender no longer: another that waits becomes it, or nobody.

        What is queued for a loop is sent by that loop, which is told (without `soon`: it is the caller, and about to);
        where it is not `able` to, without blocking, by the background sender.
        """
        with self._mutex:
            self._hand_on(soon, able)

    def _hand_on(self, soon: bool = True, able: bool = True) -> None:
        self._wanted += sum(item.waits for item in self._in_hand)
        self._queue.extendleft(reversed(self._in_hand))
        self._in_hand = []
        if self._promoted():
            return
        self._led, self._loop = False, None
        self._freed.notify_all()
        # The background sender may sleep since it saw a sender: from now on it is to be told again.
        self._sleeps_until = self._wakes_at
        if not self._queue:
            return
        at_once = self._asynchronous if able else self._asynchronous + self._looped
        self._be_due(0.0 if at_once and soon else self._delay)
        if soon:
            self._due_changed.notify()
            if not at_once and self.left_to_loop is not None and self._for_the_loop():
                self.left_to_loop()

    def for_the_loop(self) -> bool:
        """Whether what waits can be left to a loop, which sends it with less effort."""
        with self._mutex:
            return self._for_the_loop()

    def _for_the_loop(self) -> bool:
        alone = self._looped and not self._asynchronous and self.left_to_loop is not None
        return bool(alone and self._queue and self._queue[0].for_loop)

    def _promoted(self) -> bool:
        """Make the first that waits the sender."""
        while self._waiting:
            heir = self._waiting.popleft()
            if not heir.done and heir.waiter is not None:
                waiter, heir.waiter, heir.promoted = heir.waiter, None, True
                self._loop = None
                waiter.release()
                return True
        return False

    def refuse(self) -> None:
        """Take no more events: what is queued by now can be flushed, and nothing comes in unseen after that."""
        with self._mutex:
            self._refusing = True

    def busy(self) -> bool:
        """Whether anything is queued or being sent."""
        with self._mutex:
            return bool(self._queue) or bool(self._in_hand) or self._led

    def wait_due(self) -> bool:
        """Sleep until something is due for the background sender; False when the outbox has ended."""
        with self._mutex:
            while not self._ended:
                now = time.monotonic()
                if self._parked and now >= self._overdue:
                    return True
                if not self._led and now >= self._due:
                    self._due = math.inf
                    return True
                self._sleep(now)
            return False

    def _sleep(self, now: float) -> None:
        """Wait to be told, or until there may be something to do untold."""
        if not self._led:
            self._wakes_at = self._sleeps_until = self._due
        else:
            # While another sends it need not be told of what comes: that one's handing on tells it. Who parks its
            # place tells nobody where this sleep is short anyway.
            looping = self.left_to_loop is not None
            self._wakes_at = self._overdue if self._parked else now + self._delay if looping else math.inf
            self._sleeps_until = -math.inf
        self._due_changed.wait(None if self._wakes_at == math.inf else max(0.0, self._wakes_at - now))
        self._wakes_at = self._sleeps_until = -math.inf

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
