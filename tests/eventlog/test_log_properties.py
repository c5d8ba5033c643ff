"""Any sequence of appends, seals, crashes and reopens gives back exactly the acknowledged events."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from eventlog import anchor as anchors
from eventlog.reader import read, read_lines, stream_state
from eventlog.seal import seal
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter
from eventlog.verify import verify
from tests.eventlog.conftest import line


class LogMachine(RuleBasedStateMachine):
    """The log beside a plain list: what was acknowledged must be what is read.

    A crash keeps everything at or below the anchor's mark (it was synced) and any prefix of what a commit in
    flight wrote above it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="log-"))
        self.store = Store.open(self.root / "s", create=True)
        self.acknowledged: list[str] = []
        self.numbers = {b"a" * 16: 0, b"b" * 16: 0}
        self.writer: StreamWriter | None = None

    @initialize()
    def create(self) -> None:
        """A new stream."""
        self.writer = StreamWriter.open(self.store, "run", create=True)

    def opened(self) -> StreamWriter:
        """The open writer; opens the stream when nobody does."""
        if self.writer is None:
            self.writer = StreamWriter.open(self.store, "run")
        return self.writer

    def lines(self, producer: bytes, count: int) -> list[bytes]:
        """The next `count` lines of a producer."""
        first = self.numbers[producer] + 1
        return [line(f"{producer[:1].decode()}:{first + i}") for i in range(count)]

    @rule(producer=st.sampled_from([b"a" * 16, b"b" * 16]), count=st.integers(1, 40), resend=st.booleans())
    def append(self, producer: bytes, count: int, resend: bool) -> None:
        """A group commit, perhaps sent twice."""
        lines = self.lines(producer, count)
        batch = Incoming(producer, self.numbers[producer] + 1, lines)
        for _ in range(2 if resend else 1):
            self.opened().commit([batch])
        name = producer[:1].decode()
        self.acknowledged += [f"{name}:{self.numbers[producer] + 1 + i}" for i in range(count)]
        self.numbers[producer] += count

    @rule()
    def reopen(self) -> None:
        """An orderly end; the next append opens the stream again."""
        self.opened().close()
        self.writer = None

    @rule()
    def finish(self) -> None:
        """The end of a run: everything is sealed."""
        self.opened().finish()
        self.writer = None

    @rule()
    def seal_at_rest(self) -> None:
        """A person seals the stream."""
        self.opened().close()
        self.writer = None
        seal(self.store, "run")

    @rule(
        kept=st.integers(0, 1000),
        name_lost=st.booleans(),
        producer=st.sampled_from([b"a" * 16, b"b" * 16]),
        count=st.integers(1, 30),
    )
    def crash(self, kept: int, name_lost: bool, producer: bytes, count: int) -> None:
        """The process dies in a commit: any prefix of the unacknowledged bytes is on disk."""
        writer = self.opened()
        directory = self.store.stream_path("run")
        anchor = (directory / anchors.NAME).read_bytes()
        before = {s.path: s.size for s in list_segments(directory)}
        lines = self.lines(producer, count)
        writer.commit([Incoming(producer, self.numbers[producer] + 1, lines)])
        (live,) = [s.path for s in list_segments(directory) if before.get(s.path) != s.size]
        durable, size = before.get(live, 0), live.stat().st_size
        keep = durable + (size - durable) * kept // 1000
        # The dead process: its descriptors are gone with it, nothing is written any more.
        writer._lock.release()
        writer._anchor.close()
        if writer._fd >= 0:
            os.close(writer._fd)
        self.writer = None
        (directory / anchors.NAME).write_bytes(anchor)
        os.truncate(live, keep)
        if keep == 0 and name_lost:
            live.unlink()
        # The producer never got its answer and sends again: whatever survived must not be doubled.
        self.opened().commit([Incoming(producer, self.numbers[producer] + 1, lines)])
        name = producer[:1].decode()
        self.acknowledged += [f"{name}:{self.numbers[producer] + 1 + i}" for i in range(count)]
        self.numbers[producer] += count

    @invariant()
    def reads_back_what_was_acknowledged(self) -> None:
        """If this failed, the log would lose, double, swap or invent events."""
        events = list(read(self.store, "run")) if self.store.streams() else []
        assert [e.data["call"] for e in events] == self.acknowledged
        assert [e.seq for e in events] == list(range(1, len(events) + 1))
        if events:
            middle = len(events) // 2 + 1
            assert [e.seq for e in read(self.store, "run", start=middle, stop=middle + 3)] == [
                n for n in range(middle, middle + 4) if n <= len(events)
            ]
            assert sum(1 for _ in read_lines(self.store, "run")) == stream_state(self.store, "run").last_seq

    def teardown(self) -> None:
        """The stream verifies, then goes."""
        if self.writer is not None:
            self.writer.close()
        report = verify(self.store)
        assert report.ok, report.problems
        shutil.rmtree(self.root)


LogMachine.TestCase.settings = settings(
    max_examples=int(os.environ.get("HEMRA_LOG_EXAMPLES", "60")),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestLog = LogMachine.TestCase
TestLog.__doc__ = (
    "If this failed, some order of appends, seals, crashes and reopens would not give back the log."
)
