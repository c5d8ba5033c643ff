"""A log of every released version is read for ever."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eventlog.reader import read, read_lines, resolve
from eventlog.schemas import SCHEMAS
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify

VERSIONS = sorted(p for p in Path(__file__).parent.iterdir() if (p / "store").is_dir())


@pytest.fixture(params=VERSIONS, ids=lambda p: p.name)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Store, bytes]:
    """A copy of a golden store and the lines it must give back."""
    shutil.copytree(request.param / "store", tmp_path / "store")
    return Store.open(tmp_path / "store"), (request.param / "expected.ndjson").read_bytes()


def test_lines_are_as_they_were(golden: tuple[Store, bytes]) -> None:
    """If this failed, a log of an earlier version would read differently today."""
    store, expected = golden
    assert b"".join(line + b"\n" for line in read_lines(store, "golden")) == expected


def test_it_verifies(golden: tuple[Store, bytes]) -> None:
    """If this failed, today's checks would call a sound old log damaged."""
    report = verify(golden[0])
    assert report.ok, report.problems


def test_every_event_fits_todays_schema(golden: tuple[Store, bytes]) -> None:
    """If this failed, an old event would not be brought to the newest version of its type."""
    import msgspec

    store, _ = golden
    for event in read(store, "golden"):
        schema = SCHEMAS[event.type, event.v]
        assert (event.type, event.v + 1) not in SCHEMAS
        msgspec.convert(resolve(store, event.data), schema)


def test_it_can_be_continued(golden: tuple[Store, bytes]) -> None:
    """If this failed, a run begun with an earlier version could not be resumed."""
    store, expected = golden
    writer = StreamWriter.open(store, "golden")
    assert writer.last_seq == expected.count(b"\n")
    writer.append(SCHEMAS["note.recorded", 1](level="info", code="c", text="t"))
    writer.finish()
    assert sum(1 for _ in read(store, "golden")) == expected.count(b"\n") + 1
    assert verify(store).ok
