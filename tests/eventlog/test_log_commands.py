"""`hemra log seal` and `stats` as a person meets them on a full disk and on a long run."""

from __future__ import annotations

import errno
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventlog import reader
from eventlog.reader import StreamState
from eventlog.store import Store
from hemra.cli import log, main
from tests.eventlog.conftest import filled, line


def test_stats_keep_no_number_for_every_event(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, the memory that `hemra log stats` takes would grow with the run."""
    events, one = 50_000, line("x" * 300)
    line_of = b'{"seq":1,' + one.lstrip(b"{")

    def lines(*_: object) -> Iterator[bytes]:
        return (line_of for _ in range(events))

    state = StreamState(
        stream="run", last_seq=events, finished=True, live=False, writer=None, segments=1, sealed=1, bytes=7
    )
    monkeypatch.setattr(reader, "read_lines", lines)
    monkeypatch.setattr(log, "_state", lambda *_: state)
    log._stats(store, "run")  # what is imported once is no part of it
    tracemalloc.start()
    try:
        document = log._stats(store, "run")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000
    size = events * (len(line_of) + 1)
    assert (document["events"], document["bytes"], document["stored_bytes"]) == (events, size, 7)
    assert document["types"] == [{"type": "tool.called", "events": events, "bytes": size}]


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS], ids=["full", "quota", "read-only"]
)
def test_a_seal_that_the_disk_refuses_names_the_run(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    """If this failed, a full disk would be told without a word of whose it is and what helps."""
    filled(store)

    def refuse(_path: Path, *_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("eventlog.seal.seal_segments", refuse)
    assert main.main(["--store", str(store.path), "log", "seal", "run"]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"hemra: cannot seal run in {store.path}: {os.strerror(number)}; ")
    assert "`hemra log export run -o FILE` carries it to another disk" in told
