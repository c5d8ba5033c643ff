"""What waits in a client's outbox: events and marks, and who is told of their answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from eventlog.errors import LogError


class Item:
    """One event on its way (or, with line None, a mark that everything before it is answered)."""

    #: Called once when the item is answered, by the sending thread.
    notify: Callable[[Item], None] | None = None
    #: Somebody waits for the answer; False for what was emitted.
    waits = True
    #: A loop sends it by itself where it can.
    looped = False
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

    @property
    def for_loop(self) -> bool:
        """Whether a loop may send it: no thread waits for it."""
        return self.looped or not self.waits


def tell(items: Sequence[Item]) -> None:
    """Call those who asked to be called; without the mutex, because what they do is their business."""
    for item in items:
        if item.notify is not None:
            item.notify(item)
