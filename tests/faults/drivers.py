"""What stands in for chance, clocks, threads and the bus while work is recorded.

All that is random is seeded and the clocks stand still, so the same work gives the same trace, operation by operation
and byte by byte.
"""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import uuid_utils

from eventlog import anchor as anchor_module
from eventlog import clock
from eventlog import disk as disk_module
from eventlog import recorder as recorder_module
from eventlog.bus_messages import Kind, Status, pack_append, pack_plain, unpack_answer
from eventlog.envelope import encode
from eventlog.recorder import Recorder
from eventlog.stream import Incoming
from tests.faults import ledger as notes
from tests.faults.trace import Killed

if TYPE_CHECKING:
    from tests.faults.scene import Scene


class Seeded:
    """Everything random or of the clock, by one seed, while it is active."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._patch = pytest.MonkeyPatch()

    def uuid7(self) -> str:
        """A well-formed UUIDv7."""
        bits = self.rng.getrandbits(128) & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62
        text = f"{bits:032x}"
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def _names(self) -> Iterator[str]:
        while True:
            yield f"{self.rng.getrandbits(40):010x}"

    def __enter__(self) -> Seeded:
        self._patch.setattr(os, "urandom", self.rng.randbytes)
        self._patch.setattr(tempfile, "_name_sequence", self._names())
        self._patch.setattr(uuid_utils, "uuid7", self.uuid7)
        fixed = {
            **(encode.__kwdefaults__ or {}),
            "wall": lambda: 1_767_225_600_000_000_000,
            "mono": lambda: 1,
        }
        self._patch.setattr(encode, "__kwdefaults__", fixed)
        self._patch.setattr(clock, "wall_ns", lambda: 1_767_225_600_000_000_000)
        self._patch.setattr(recorder_module, "GATHER_FROM_S", 1e9)
        # By time the anchor would be synced where the machine happens to be slow; scenes have ticks for it.
        self._patch.setattr(anchor_module, "SYNC_S", 1e9, raising=False)
        self._patch.setattr(disk_module, "_durable", set())
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()


class Sealer:
    """In place of the background thread: seals at once; when the next group has been answered; or in two parts.

    With `pause` it is a real thread that stops after so many calls, lets the writer go on until the next group has
    been answered, and then comes to its end. At any time only one of the two runs.
    """

    late = False
    pause: int | None = None
    waiting: Sealer | None = None
    _real_thread = threading.Thread

    def __init__(self, *, target: Callable[..., None], args: tuple[Any, ...] = (), **_: Any) -> None:
        self._work: Callable[[], None] | None = lambda: target(*args)
        self._calls = 0
        self._paused, self._resumed = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, or wait for `join`."""
        if Sealer.pause is not None:
            Sealer.waiting = self
            self._thread = Sealer._real_thread(target=self._run)
            self._thread.start()
            assert self._paused.wait(60)
        elif Sealer.late:
            Sealer.waiting = self
        else:
            self.join()

    def _run(self) -> None:
        work, self._work = self._work, None
        assert work is not None
        with contextlib.suppress(Killed):
            work()
        self._paused.set()

    @staticmethod
    def gate() -> None:
        """Called before every operation, by whichever thread makes it."""
        sealer = Sealer.waiting
        if sealer is not None and sealer._thread is threading.current_thread():
            sealer._calls += 1
            if sealer._calls == Sealer.pause:
                sealer._paused.set()
                assert sealer._resumed.wait(60)

    def is_alive(self) -> bool:
        """Whether something is still to be done."""
        return self._work is not None or (self._thread is not None and self._thread.is_alive())

    def join(self) -> None:
        """Do it now."""
        if self._thread is not None:
            self._resumed.set()
            self._thread.join()
        elif self._work is not None:
            work, self._work = self._work, None
            work()


class Asked(NamedTuple):
    """A request as the recorder takes it, and what it was made of."""

    body: bytes
    item: Incoming | Kind


class Planned(NamedTuple):
    """Events that a producer will send when their turn comes; it has no numbers for them yet."""

    producer: int
    lines: list[bytes]


class ScriptedServer:
    """The recorder's end of a bus on which all requests are known beforehand, group by group; an empty one is a tick.

    One may serve several recorders, one after the other: what is left then goes to the next.
    """

    def __init__(self, scene: Scene, stream: str, groups: Sequence[Sequence[Any]]) -> None:
        self._scene, self._stream = scene, stream
        self._groups = [list(group) for group in groups]
        self.recorder: Recorder | None = None
        self._answers: list[tuple[Asked, bytes]] = []
        #: A finish was answered: well, or not.
        self.finished = self.unfinished = False

    def resend(self, items: Sequence[Incoming]) -> None:
        """What was not answered comes first, in place of what was to be sent again before."""
        self._groups = [g for g in self._groups if not any(isinstance(item, Incoming) for item in g)]
        if items:
            self._groups.insert(0, list(items))
        self.unfinished = False

    def receive(self, timeout_s: float, awake_until: float = 0.0) -> list[Asked]:
        """The next group."""
        if not timeout_s:
            return []
        if Sealer.waiting is not None:
            Sealer.waiting.join()
            Sealer.waiting = None
        if not self._groups:
            assert self.recorder is not None
            self.recorder.stop()
            return []
        scene = self._scene
        group = [scene.send(item) if isinstance(item, Planned) else item for item in self._groups.pop(0)]
        appends = [item for item in group if isinstance(item, Incoming)]
        self._scene.layer.note(notes.SENT, (self._stream, appends))
        if len(appends) < len(group):
            self._scene.layer.note(notes.UNSURE, self._stream)
        return [
            Asked(pack_append(*item) if isinstance(item, Incoming) else pack_plain(item), item)
            for item in group
        ]

    def answer_later(self, received: Asked, body: bytes) -> None:
        """Keep it until it is sent."""
        self._answers.append((received, body))

    def send_answers(self) -> None:
        """From here on producers know."""
        answers, self._answers = self._answers, []
        for received, body in answers:
            self._told(received, body)

    def _told(self, received: Asked, body: bytes) -> None:
        """Write down what a producer is told."""
        answer, item = unpack_answer(body), received.item
        layer = self._scene.layer
        # A finish may meet damage: what was refused to it stands there still, and the next recorder recovers it.
        assert answer.status in (Status.OK, Status.NO_ROOM) or item is Kind.FINISH, answer
        if isinstance(item, Incoming) and answer.status is Status.OK:
            fresh = answer.last - answer.first + 1 if answer.first else 0
            layer.note(notes.ACKED, (self._stream, item.producer, answer.first, fresh))
        elif isinstance(item, Incoming):
            layer.note(notes.REFUSED, (self._stream, item.producer))
            self._scene.refused(item)
        elif answer.status is Status.OK:
            layer.note(notes.ENDED, (self._stream, True))
            self.finished = True
        else:
            self._groups.append([Kind.FINISH])
            self.unfinished = True

    def wake(self) -> None:
        """Nobody follows."""

    def close(self) -> None:
        """Nothing is open."""
