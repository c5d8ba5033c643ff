"""docs/log-format.md says what the code does: its bytes and its reader are run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from eventlog.frames import walk
from eventlog.reader import read_lines
from eventlog.segments import list_segments
from eventlog.store import Store
from tests.eventlog.conftest import filled

PAGE = Path(__file__).parents[2] / "docs" / "log-format.md"


def block(name: str) -> str:
    """The fenced block after `<!-- example:NAME -->`."""
    match = re.search(rf"<!-- example:{name} -->\n```\w*\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert match is not None, name
    return match.group(1)


def page_reader() -> Any:
    """The page's own reader, as a function."""
    namespace: dict[str, Any] = {}
    exec(compile(block("reader"), "log-format.md", "exec"), namespace)
    return namespace["read_segment"]


def test_the_pages_reader_reads_the_pages_bytes() -> None:
    """If this failed, the described bytes and the described reader would not agree."""
    assert page_reader()(bytes.fromhex(block("segment"))) == block("lines").encode().splitlines()


def test_the_walker_reads_the_pages_bytes(tmp_path: Path) -> None:
    """If this failed, the format would have changed without its page (and old logs would be unreadable)."""
    path = tmp_path / "segment"
    path.write_bytes(bytes.fromhex(block("segment")))
    with path.open("rb") as file:
        units = list(walk(file))
    assert [(u.header.first, u.header.events, u.header.synced) for u in units] == [(1, 1, 0), (2, 2, 1)]
    assert units[1].header.prev == units[0].link
    assert units[1].header.marks == {b"producer-one----": 3}


def test_the_pages_reader_reads_a_real_segment(store: Store) -> None:
    """If this failed, somebody who followed the page could not read a log that hemra wrote."""
    filled(store)
    (segment,) = list_segments(store.stream_path("run"))
    assert page_reader()(segment.path.read_bytes()) == list(read_lines(store, "run"))
