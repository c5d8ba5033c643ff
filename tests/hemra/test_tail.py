"""`hemra tail`: the end of a long run, of all runs, and what neither may cost."""

from __future__ import annotations

import contextlib
import itertools
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eventlog.errors import DamageError
from eventlog.reader import read
from eventlog.schemas.conversation import NoteRecorded
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from hemra.cli import tail
from tests.hemra.command_line import Run


def noted(store: Store, name: str, sessions: int = 2, each: int = 20) -> None:
    """A stream of notes, a segment for each session."""
    numbers = itertools.count(1)
    for session in range(sessions):
        with StreamWriter.open(store, name, create=session == 0) as writer:
            for number in itertools.islice(numbers, each):
                kind = "odd" if number % 7 == 0 else "even"
                writer.append(
                    NoteRecorded(level="info", code=kind, text=f"n{number}"), trial=f"{number % 3:04d}"
                )


def damage(store: Store, name: str) -> None:
    """Change bytes in the middle of the first segment."""
    path = list_segments(store.stream_path(name))[0].path
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8] = bytes(8)
    path.write_bytes(content)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    count=st.integers(0, 50), start=st.integers(1, 45), trials=st.sets(st.sampled_from(["0000", "0002", "9999"])),
    window=st.integers(1, 9),
)  # fmt: skip
def test_the_last_events_are_the_end_of_all(
    tmp_path_factory: Any, count: int, start: int, trials: set[str], window: int
) -> None:
    """If this failed, `-n` would leave out events at the end, or show others in their place."""
    store = Store.open(tmp_path_factory.mktemp("s") / "store", create=True)
    noted(store, "run")
    wanted = tail.Wanted(start, None, (), tuple(sorted(trials)), count, follow=False)
    everything = [event.seq for event in read(store, "run", start=start, trials=wanted.trials)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail, "_WINDOW", window)
        found = [event.seq for event in tail._events(store, "run", wanted, threading.Event())]
    assert found == everything[max(0, len(everything) - count) :]


def test_the_end_of_a_run_is_seen_whatever_its_beginning_is(
    store: Store, hemra: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damage in the first events, or a million of them, would keep a user from the last three."""
    monkeypatch.setattr(tail, "_WINDOW", 5)
    noted(store, "20261201-000000-aaaaaa")
    damage(store, "20261201-000000-aaaaaa")
    code, out, _ = hemra("tail", "20261201-000000-aaaaaa", "-n", "3")
    assert (code, [line[-3:] for line in out.splitlines()]) == (0, ["n38", "n39", "n40"])
    assert hemra("tail", "20261201-000000-aaaaaa")[0] == 1


def test_a_damaged_old_run_does_not_end_the_tail_of_live_ones(store: Store, hemra: Run) -> None:
    """Whoever watches tonight's run would see nothing of it for damage in last month's."""
    noted(store, "20261101-000000-aaaaaa")
    damage(store, "20261101-000000-aaaaaa")
    with StreamWriter.open(store, "20261201-000000-bbbbbb", create=True) as writer:
        writer.append(NoteRecorded(level="info", code="c", text="tonight"))
        code, out, err = hemra("tail")
    assert (code, err) == (0, "")
    assert "tonight" in out


class _Enough(Exception):
    """The test has seen what it waits for."""


class _Printer:
    """Prints nothing and notes the streams; the first event is held until `go` is set, the last one ends it all."""

    def __init__(self, go: threading.Event, last: int) -> None:
        self.go, self.last, self.streams = go, last, list[str]()

    def print(self, stream: str, event: object) -> None:
        assert self.go.wait(30)
        self.streams.append(stream)
        if len(self.streams) == self.last:
            raise _Enough


def test_a_reader_that_does_not_read_costs_no_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """`hemra tail -f | less` left open over night would take all the memory of the machine."""
    given, go, waits = itertools.count(1), threading.Event(), threading.Event()
    taken = 0

    def endless(*_: object) -> Any:
        nonlocal taken
        for taken in given:
            yield f"event {taken}"

    class Full(tail.queue.Queue):  # type: ignore[type-arg,misc]
        def put(self, *args: Any, **options: Any) -> None:
            if self.full():
                waits.set()
            super().put(*args, **options)

    monkeypatch.setattr(tail, "_events", endless)
    monkeypatch.setattr(tail, "_LOOK_S", 0.01)
    monkeypatch.setattr(tail.queue, "Queue", Full)
    printer = _Printer(go, 3 * tail._AHEAD)

    def follow() -> None:
        with contextlib.suppress(_Enough):
            tail._follow_all(store, ["run"], tail.Wanted(1, None, (), (), None, True), printer)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "streams", lambda: ["run"])
    following = threading.Thread(target=follow)
    following.start()
    assert waits.wait(30)
    assert taken <= tail._AHEAD + 3
    go.set()
    following.join(30)
    assert len(printer.streams) == 3 * tail._AHEAD


def test_a_run_that_cannot_be_read_is_told_and_left(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run's damage would end the tail of all others."""
    go = threading.Event()
    go.set()

    def some(_: Store, stream: str, *__: object) -> Any:
        if stream == "bad":
            raise DamageError(Path("bad/0001.ndjson.zst"), 7, "its checksum is wrong")
        yield from ["event", "event"]

    monkeypatch.setattr(tail, "_events", some)
    monkeypatch.setattr(store, "streams", lambda: ["bad", "good"])
    printer = _Printer(go, 2)
    wanted = tail.Wanted(1, None, (), (), None, True)
    with pytest.raises(_Enough):
        tail._follow_all(store, ["bad", "good"], wanted, printer)  # type: ignore[arg-type]
    assert printer.streams == ["good", "good"]
    err = capsys.readouterr().err
    assert err.count("\n") == err.count("bad is followed no further") <= 1
