"""The client's queue: exactly one sender, and nobody waits for what was answered already."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from eventlog.errors import LogError
from eventlog.outbox import Outbox
from eventlog.outbox_items import Item


@pytest.fixture
def eager_switching() -> Iterator[None]:
    """Threads change places as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def send(outbox: Outbox, item: Item, seqs: list[int]) -> None:
    """Put an item and see it answered, as the client does; the sender gives out seqs."""
    outbox.put(item)
    if outbox.lead_or_wait(item):
        while not item.done:
            batch = outbox.take()
            first = len(seqs) + 1
            seqs.extend(range(first, first + len(batch)))
            outbox.settle(first, 0)
        outbox.hand_on()


def test_nobody_waits_for_an_answer_that_was_given(eager_switching: None) -> None:
    """If this failed, a thread would hang: it began to wait just when its answer had been given."""
    outbox = Outbox(0.05)
    seqs: list[int] = []
    answered: list[int] = []

    def work() -> None:
        for _ in range(1500):
            item = Item(b"{}")
            send(outbox, item, seqs)
            assert item.seq is not None
            answered.append(item.seq)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread waits for ever"
    assert sorted(answered) == list(range(1, 6001))


def test_an_answer_between_looking_and_waiting_is_noticed() -> None:
    """If this failed, the same, in the one order of steps that makes it happen."""
    outbox = Outbox(0.05)
    telling, go_on = threading.Event(), threading.Event()

    def told(_: Item) -> None:
        telling.set()
        go_on.wait(5)

    assert outbox.try_lead()
    outbox.put(Item(b"{}", told))
    outbox.put(Item(b"{}"))
    _, item = outbox.take()
    answering = threading.Thread(target=outbox.settle, args=(1, 0))
    answering.start()
    assert telling.wait(5)  # the first item is answered, the sender stands before the second or after it

    class Late(Item):
        """Lets the sender go on between the look whether the answer is there and the beginning to wait."""

        @property
        def done(self) -> bool:
            """What was seen before the sender went on."""
            seen = bool(self.__dict__["done"]) if "done" in self.__dict__ else False
            go_on.set()
            answering.join(0.2)
            return seen

        @done.setter
        def done(self, value: bool) -> None:
            self.__dict__["done"] = value

    item.__class__ = Late
    waiting = threading.Thread(target=outbox.lead_or_wait, args=(item,), daemon=True)
    waiting.start()
    waiting.join(5)
    assert not waiting.is_alive(), "it waits for an answer that was given"
    answering.join()
    assert item.seq == 2


def test_a_stranger_cannot_send_beside_the_sender() -> None:
    """If this failed, two threads would use one connection at once."""
    outbox = Outbox(0.05)
    assert outbox.try_lead()
    assert not outbox.try_lead()
    item = Item(b"{}")
    assert not outbox.put_and_lead(item)
    outbox.hand_on()
    assert outbox.lead_or_wait(item)
    assert outbox.take() == [item]
    outbox.hand_on()
    assert outbox.try_lead()
    assert outbox.take() == [item], "what was in hand goes back to the front"


def test_after_the_end_nothing_is_taken() -> None:
    """If this failed, an event that comes during close would vanish."""
    outbox = Outbox(0.05)
    outbox.end()
    for put in (outbox.put, outbox.put_and_lead):
        with pytest.raises(LogError, match="closed"):
            put(Item(b"{}"))
