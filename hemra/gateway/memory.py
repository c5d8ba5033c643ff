"""Bounds what requests and answers take of the engine's memory, all together.

A gateway lives in the process of the engine, and a harness may send as much as it likes, as often as it likes. So
bodies, what is read of requests, and what is kept of answers have a pool each. What does not fit in waits: a harness
that asks for too much at a time is slower for it, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass, field

MIB = 1 << 20
#: No request that is passed on is larger: whatever is, is a mistake.
LARGEST_REQUEST = 256 * MIB
#: Bytes of a request of unknown length that are taken before it has to wait for the room of the largest. All requests
#: of a trial may hold so much and one still becomes whole.
FIRST = 256 << 10
#: What a request may take once it is read (see `weigh`): nearly all are far below the first.
LIGHT, HEAVIEST = 8 * MIB, 256 * MIB
#: Bytes in which what is held of an answer grows.
_STEP = 64 << 10
#: Bytes that a value takes where it is read, beside its text: an empty list takes as much.
_EACH = 64
_SIGNS = b",:[{"


def weigh(text: bytes) -> int:
    """Bytes that a JSON text takes once it is read, about: a small text can hold very many values."""
    return len(text) + _EACH * (len(text) - len(text.translate(None, _SIGNS)))


def fits(text: bytes, most: int) -> bool:
    """Whether a JSON text takes at most so much. Of a short one, as nearly all are, nothing has to be counted."""
    return len(text) * (1 + _EACH) <= most or weigh(text) <= most


class Pool:
    """Bytes that requests of trials may hold at a time. `own`: so many every trial may hold, whatever others do.
    `common`: what all of them may hold beyond that; `most`: how much of both one trial may hold."""

    def __init__(self, *, own: int, most: int, common: int) -> None:
        self._own, self._most, self._common = own, most, common
        self._held: Counter[str] = Counter()
        self._beyond = 0
        self._waiting: deque[tuple[str, int, asyncio.Future[None]]] = deque()

    @property
    def held(self) -> int:
        """Bytes that are held by all."""
        return self._held.total()

    def move(self, trial: str, size: int) -> bool:
        """Let a trial hold `size` bytes more (or fewer); false, and nothing is changed, where there is no room."""
        before = self._held[trial]
        after = before + size
        beyond = self._beyond + max(0, after - self._own) - max(0, before - self._own)
        if size > 0 and (after > self._most or (after > self._own and beyond > self._common)):
            return False
        self._beyond = beyond
        self._held[trial] = after
        if not after:
            del self._held[trial]
        if size < 0 and self._waiting:
            self._serve()
        return True

    async def wait(self, trial: str, size: int) -> bool:
        """The same once there is room, in the order in which a trial asks. Returns whether it had to wait."""
        if all(other != trial for other, _, _ in self._waiting) and self.move(trial, size):
            return False
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((trial, size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.move(trial, -size)
            self._serve()
            raise
        return True

    def _serve(self) -> None:
        """Let those in that fit in now. Who does not holds up the later ones of its trial, not those of others."""
        waiting, self._waiting = self._waiting, deque()
        late: set[str] = set()
        for trial, size, turn in waiting:
            if turn.done():
                continue  # whoever waited has gone
            if trial not in late and self.move(trial, size):
                turn.set_result(None)
                continue
            late.add(trial)
            self._waiting.append((trial, size, turn))


class Held:
    """What one request holds of a pool: `size` bytes."""

    def __init__(self, pool: Pool, trial: str) -> None:
        self._pool, self._trial = pool, trial
        self._used = 0
        self.size = 0

    async def take(self, size: int) -> bool:
        """Hold `size` bytes altogether, once there is room for them. Returns whether that had to be waited for."""
        if size <= self.size:
            self.keep(size)
            return False
        waited = await self._pool.wait(self._trial, size - self.size)
        self.size = size
        return waited

    def more(self, size: int) -> bool:
        """Use `size` bytes more, if there is room for them now. For many small pieces: what is held grows in steps."""
        lacking = self._used + size - self.size
        if lacking > 0:
            step = max(_STEP, lacking)
            if not self._pool.move(self._trial, step):
                return False
            self.size += step
        self._used += size
        return True

    def keep(self, size: int) -> None:
        """Hold no more than that any longer."""
        less = self.size - min(size, self.size)
        self.size -= less
        if less:
            self._pool.move(self._trial, -less)

    def free(self) -> None:
        """Hold nothing any longer. Twice does no harm."""
        self.keep(0)


class Holding:
    """What one request holds: its body as it is sent on, what was read of it and of its answer, the answer's copy for
    cassettes, and an answer from a cassette that is given."""

    def __init__(self, memory: Memory, trial: str) -> None:
        self.body = Held(memory.bodies, trial)
        self.reading = Held(memory.readings, trial)
        self.answer = Held(memory.answers, trial)
        self.copy = Held(memory.answers, trial)
        self.played = Held(memory.answers, trial)

    def leave(self) -> None:
        """It was answered. What is kept of the answer may be written down later."""
        for held in (self.body, self.reading, self.played):
            held.free()

    def written(self) -> None:
        """Its answer is written down."""
        self.answer.free()
        self.copy.free()


@dataclass
class Memory:
    """The pools of a gateway. Nobody waits for answers' room: what does not fit in is passed on, and not kept."""

    bodies: Pool = field(
        default_factory=lambda: Pool(own=16 * MIB, most=LARGEST_REQUEST + 128 * MIB, common=512 * MIB)
    )
    readings: Pool = field(
        default_factory=lambda: Pool(own=16 * MIB, most=HEAVIEST + 64 * MIB, common=512 * MIB)
    )
    answers: Pool = field(default_factory=lambda: Pool(own=16 * MIB, most=256 * MIB, common=512 * MIB))
