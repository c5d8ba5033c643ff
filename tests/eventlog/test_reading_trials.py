"""Reading some trials of a stream passes over the lines of others without decoding them, whoever wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from eventlog.reader import read
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter

_TRICKY = st.sampled_from(
    ["0001", "0002", '"trial":"0001"', ',"data":', "null", '","trial":"0001', "\\", '"', "é", ""]
)
_VALUES = st.recursive(_TRICKY | st.none(), lambda inner: st.dictionaries(_TRICKY, inner, max_size=2))
_FIELDS = ["id", "time", "mono", "type", "v", "source", "trial", "data"]


@st.composite
def _lines(draw: st.DrawFn) -> tuple[str | None, bytes]:
    """An event as some producer may write it: fields in any order, spaces or none, names inside of names."""
    event: dict[str, Any] = {
        "id": "x", "time": "2026-12-01T00:00:00.000000000Z", "mono": 1, "type": "note.recorded", "v": 1,
        "source": draw(_TRICKY), "trial": draw(_TRICKY | st.none()),
        "data": {"text": draw(_VALUES), "trial": draw(_TRICKY), "data": draw(_VALUES)},
    }  # fmt: skip
    order = draw(st.just(_FIELDS) | st.permutations(_FIELDS))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (",", ": ")]))
    text = json.dumps({name: event[name] for name in order}, separators=separators, ensure_ascii=False)
    return event["trial"], text.encode()


@settings(max_examples=60, deadline=None)
@given(st.lists(_lines(), min_size=1, max_size=6), st.sets(_TRICKY, min_size=1, max_size=2))
@example([("0001", b'{"trial":"0001","id":"x","time":"2026-12-01T00:00:00.000000000Z","mono":1,"type":"a.b","v":1,'
           b'"source":"\\"trial\\":null","data":{}}')], {"0001"})  # fmt: skip
def test_a_trial_s_events_are_found_however_they_were_written(
    tmp_path_factory: Any, events: list[tuple[str | None, bytes]], wanted: set[str]
) -> None:
    """If this failed, an event of a trial could be passed over, or one of another be shown as its own."""
    folder: Path = tmp_path_factory.mktemp("store")
    store = Store.open(folder, create=True)
    with StreamWriter.open(store, "run", create=True) as writer:
        writer.commit([Incoming(b"p" * 16, 1, [line for _, line in events])])
    found = [event.seq for event in read(store, "run", trials=sorted(wanted))]
    assert found == [seq for seq, (trial, _) in enumerate(events, 1) if trial in wanted]
