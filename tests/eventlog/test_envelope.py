"""An event's line keeps every value exactly and is always plain JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventlog.envelope import MAX_EVENT, decode_lines, encode, event_blobs, with_seq
from eventlog.errors import BadEvent
from eventlog.reader import resolve
from eventlog.schemas.conversation import MessageRecorded, ToolCalled
from eventlog.store import Store


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


def test_300_mb_payload_goes_to_a_blob(store: Store) -> None:
    """If this failed, a huge output would be cut, refused, or put into the log itself."""
    text = "a" * (300 * 1024 * 1024)
    line = encode(MessageRecorded(role="tool", text=text), source="s", trial=None, blobs=store.blobs)
    assert len(line) < 4096
    (event,) = decode_lines(with_seq(line, 1) + b"\n")
    assert event.data["text"]["size"] == len(text)
    (digest,) = event_blobs(event)
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
    assert event_blobs(event) == set()
    raw = orjson.loads(line)["data"]["arguments"]
    assert "$pairs" in raw
