"""An event's line keeps every value exactly and is always plain JSON."""

from __future__ import annotations

import json
import math
import runpy
import tracemalloc
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventlog import clock
from eventlog.envelope import MAX_EVENT, decode_lines, encode, with_seq
from eventlog.errors import BadEvent
from eventlog.reader import resolve
from eventlog.schemas.conversation import MessageRecorded, ModelResponded, ToolCalled
from eventlog.schemas.trials import Usage
from eventlog.store import Store
from tests.eventlog.conftest import named_blobs


def round_trip(value: Any, store: Store | None = None) -> Any:
    """Write `value` as an event's field, check that the line is plain JSON, and read it back."""
    blobs = store.blobs if store else None
    line = encode(ToolCalled(call="c", name="n", arguments=value), source="s", trial=None, blobs=blobs)
    full = with_seq(line, 7)
    assert b"\n" not in full
    assert len(full) <= MAX_EVENT
    orjson.loads(full)  # refuses lone surrogates, NaN and bad UTF-8
    json.loads(full.decode())
    (event,) = decode_lines(full + b"\n")
    assert event.seq == 7
    return event.data["arguments"] if store is None else resolve(store, event.data)["arguments"]


def same(a: Any, b: Any) -> bool:
    """Equality in which NaN equals NaN and types count."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    if isinstance(a, dict) and isinstance(b, dict):
        return list(map(repr, a)) == list(map(repr, b)) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


ODD = [
    "cut \ud83d", "\x00", "line\nbreak\r\n", b"\xff\xfe\x00", float("nan"), float("inf"), -float("inf"), 1e308,
    2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**400, {"\ud800": 1}, {"$blob": "x"}, {"$bytes": "x"},
    {"$pairs": []}, {"": ""}, {1: 2}, {"a": {"$x": [{"$float": "NaN"}]}}, [], {}, None, True, "25-11-2025", "007",
    "BBD05AE7-0000-4000-8000-000000000000", {"shown": 1, "$text": "a"},
]  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_odd_values_are_kept_exactly(value: Any) -> None:
    """If this failed, a value that JSON cannot hold would be altered or lose its event."""
    assert same(round_trip(value), value)


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_odd_values_are_kept_exactly_inside_a_large_event(store: Store, value: Any) -> None:
    """If this failed, moving a payload to a blob would alter it or its neighbours."""
    large = {"odd": value, "text": "y" * 100_000, "more": [value, "z\udcff" * 50_000, b"\xff" * 70_000]}
    assert same(round_trip(large, store), large)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters()) | st.sampled_from(["$blob", "$x"]), inner)
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(json_values)
def test_any_value_round_trips(value: Any) -> None:
    """If this failed, some value of a harness would come back as another one."""
    assert same(round_trip(value), value)


def test_deep_nesting_never_loses_the_event() -> None:
    """If this failed, a deeply nested tool argument would raise instead of being recorded."""
    deep: Any = "core"
    for _ in range(5000):
        deep = [deep]
    found = round_trip(deep)
    while isinstance(found, list):
        found = found[0]
    assert found == "core" or '"core"' in found["$json"]


def test_many_small_fields_move_out_as_json(store: Store) -> None:
    """If this failed, an event of many small values above the limit could not be written."""
    value = {f"k{i}": {"n": i, "nan": float("nan")} for i in range(5000)}
    assert same(round_trip(value, store), value)


def stored_blobs(store: Store) -> int:
    """How many blobs the store holds."""
    return sum(1 for path in store.blobs.root.rglob("*") if path.is_file())


def test_thousands_of_texts_move_out_as_one_blob(store: Store) -> None:
    """If this failed, an event of many texts would take minutes and leave a synced file for each."""
    value = [f"{i:05d}" + "a" * 3000 for i in range(6000)]
    assert round_trip(value, store) == value
    assert stored_blobs(store) == 1


def test_a_few_texts_move_out_one_by_one(store: Store) -> None:
    """If this failed, a short field beside a long text could only be read together with it."""
    value = {"short": "s", "texts": [f"{i}" + "a" * 10_000 for i in range(20)]}
    line = encode(ToolCalled(call="c", name="n", arguments=value), source="s", trial=None, blobs=store.blobs)
    (event,) = decode_lines(with_seq(line, 1) + b"\n")
    assert event.data["arguments"]["short"] == "s"
    assert resolve(store, event.data)["arguments"] == value
    # what still fits stays: 20 texts of 10 KB are 136 KB too many
    assert 14 <= len(named_blobs(event)) == stored_blobs(store) <= 17


def test_a_huge_text_in_a_field_that_moves_has_its_own_blob(store: Store) -> None:
    """If this failed, the small values of a field could only be read by loading a huge text with them."""
    value = {"huge": "h" * 2_000_000, "b": b"\xff" * 2_000_000, "rows": [[i, math.nan] for i in range(9000)]}
    assert same(round_trip(value, store), value)
    assert stored_blobs(store) == 3


def test_several_large_fields_and_a_deep_one_share_a_line(store: Store) -> None:
    """If this failed, an event whose fields are all too large would be lost."""
    deep: Any = b"\xff" * 3000
    for _ in range(1000):
        deep = [deep, "text"]
    data = ModelResponded(model="m" * 100_000, usage=Usage(), raw=[deep] * 4, finish_reason="\udcff" * 30_000)
    line = encode(data, source="s", trial="t" * 1000, blobs=store.blobs)
    assert len(line) < MAX_EVENT
    (event,) = decode_lines(with_seq(line, 1) + b"\n")
    found = resolve(store, event.data)
    assert (found["model"], found["finish_reason"]) == ("m" * 100_000, "\udcff" * 30_000)
    assert found["usage"]["input_tokens"] is None
    assert "/////" in json.dumps(found["raw"])


@pytest.mark.parametrize(
    "value",
    ["a" * 30_000_000, "ü" * 15_000_000, "\udcff" * 10_000_000, b"\xff" * 30_000_000],
    ids=lambda v: repr(v)[:6],
)
def test_a_large_payload_is_not_copied(store: Store, value: str | bytes) -> None:
    """If this failed, recording a harness's huge output would take several times its size in memory."""
    events = (
        MessageRecorded(role="tool", text=value),
        ToolCalled(call="c", name="n", arguments={"x": [value]}),
    )
    for data in events:
        tracemalloc.start()
        try:
            encode(data, source="s", trial=None, blobs=store.blobs)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 15_000_000


def test_300_mb_payload_goes_to_a_blob(store: Store) -> None:
    """If this failed, a huge output would be cut, refused, or put into the log itself."""
    text = "a" * (300 * 1024 * 1024)
    line = encode(MessageRecorded(role="tool", text=text), source="s", trial=None, blobs=store.blobs)
    assert len(line) < 4096
    (event,) = decode_lines(with_seq(line, 1) + b"\n")
    assert event.data["text"]["size"] == len(text)
    (digest,) = named_blobs(event)
    assert store.blobs.check(digest) == len(text)


def test_large_event_without_blob_store_is_refused() -> None:
    """If this failed, a line above the limit would reach the log."""
    with pytest.raises(BadEvent, match="larger than"):
        encode(MessageRecorded(role="tool", text="a" * MAX_EVENT), source="s", trial=None, blobs=None)


def test_unknown_types_are_refused_by_name() -> None:
    """If this failed, a producer's bug would be recorded as something it is not."""
    with pytest.raises(BadEvent, match="complex"):
        encode(MessageRecorded(role="tool", text=1j), source="s", trial=None, blobs=None)


def test_a_forged_blob_reference_is_no_reference() -> None:
    """If this failed, a harness could make the log ask for bytes that nobody stored."""
    value = {"$blob": "sha256:" + "0" * 64}
    line = encode(ToolCalled(call="c", name="n", arguments=value), source="s", trial=None, blobs=None)
    (event,) = decode_lines(with_seq(line, 1) + b"\n")
    assert event.data["arguments"] == value
    assert named_blobs(event) == set()
    raw = orjson.loads(line)["data"]["arguments"]
    assert "$pairs" in raw


@pytest.mark.parametrize(
    ("source", "trial", "said"),
    [("a\udcff", None, "source 'a.udcff'"), ("s", "t\ud800", "trial 't"), ("s", "t" * 70_000, "70002 bytes"),
     ("s", 5, "trial 5")],
)  # fmt: skip
def test_a_source_or_trial_that_cannot_be_written_is_named(source: str, trial: Any, said: str) -> None:
    """If this failed, the producer would get a raw error, or write a line that nobody can read."""
    with pytest.raises(BadEvent, match=said):
        encode(MessageRecorded(role="tool", text="a"), source=source, trial=trial, blobs=None)


@pytest.mark.parametrize("ns", [253402300800 * 10**9, -62135596801 * 10**9, 10**30, -(10**30)])
def test_a_clock_beyond_the_calendar_is_a_bad_event(ns: int) -> None:
    """If this failed, a machine with a mad clock would end a run with a raw error."""
    with pytest.raises(BadEvent, match=r"message\.recorded .* years 1 to 9999"):
        encode(MessageRecorded(role="tool", text="a"), source="s", trial=None, blobs=None, wall=lambda: ns)


@pytest.mark.parametrize(("ns", "time"), [
    (-1, "1969-12-31T23:59:59.999999999Z"), (-62135596800 * 10**9, "0001-01-01T00:00:00.000000000Z"),
    (253402300800 * 10**9 - 1, "9999-12-31T23:59:59.999999999Z"),
])  # fmt: skip
def test_times_have_one_width_from_year_1_to_9999(ns: int, time: str) -> None:
    """If this failed, filters by time, which compare texts, would order such events wrongly."""
    line = encode(MessageRecorded(role="tool", text="a"), source="s", trial=None, blobs=None, wall=lambda: ns)
    assert orjson.loads(line)["time"] == time


def test_the_first_time_of_a_process_is_right() -> None:
    """If this failed, the remembered second would be wrong before there is one."""
    assert runpy.run_path(clock.__file__)["rfc3339"](-1) == "1969-12-31T23:59:59.999999999Z"
    assert runpy.run_path(clock.__file__)["rfc3339"](5) == "1970-01-01T00:00:00.000000005Z"
