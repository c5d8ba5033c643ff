"""What JSON cannot hold is kept exactly, at any depth; what only looks like a mark is left alone."""

from __future__ import annotations

import inspect
import json
import math
import re
import sys
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventlog.envelope import decode_lines, encode
from eventlog.errors import BadEvent
from eventlog.escape import READ_DEPTH, escape, unescape
from eventlog.reader import read, resolve
from eventlog.schemas.conversation import ToolCalled
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from tests.eventlog.conftest import named_blobs
from tests.eventlog.test_envelope import ODD, round_trip, same

BLOB = {"$blob": "sha256:" + "0" * 64, "size": 3, "kind": "text", "head": "abc"}
LOOKALIKES: list[Any] = [
    BLOB, {"$bytes": 5}, {"$bytes": "QQ=="}, {"$float": "abc"}, {"$int": "x"}, {"$json": "[]"}, {"$pairs": 1},
    {"$text": "QQ==", "shown": "A"},
]  # fmt: skip

WRAPS: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: [x],
    "object": lambda x: {"a": x},
    "dollar": lambda x: {"$bytes": x},
    "surrogate": lambda x: {"\udcff": x, "\ufffd": None},  # noqa: F601 - ruff reads both as U+FFFD
    "int": lambda x: {1: x, "1": None},
    "bytes": lambda x: {b"\xff": x},
    "tuple": lambda x: {((1, 2), 3): x},
    "none": lambda x: {None: x},
}


def nested(value: Any, depth: int, wrap: Callable[[Any], Any] = WRAPS["list"]) -> Any:
    """`value` inside `depth` wraps."""
    for _ in range(depth):
        value = wrap(value)
    return value


def unwrapped(value: Any, depth: int, wrap: Callable[[Any], Any]) -> Any:
    """What is inside `depth` wraps; each must be as `wrap` makes it."""
    for _ in range(depth):
        keys = list(wrap(0)) if isinstance(wrap(0), dict) else [0]
        assert isinstance(value, list) or list(value) == keys
        value = value[keys[0]]
    return value


def line_depth(line: bytes) -> int:
    """How many lists and objects stand around the innermost value of a line."""
    texts_gone = re.sub(rb'"(\\.|[^"\\])*"', b"", line)
    depth = deepest = 0
    for char in texts_gone.decode():
        depth += (char in "[{") - (char in "]}")
        deepest = max(depth, deepest)
    return deepest


@pytest.mark.parametrize("depth", [1, 198, 199, 200, 201, 254, 300, READ_DEPTH - 5])
def test_odd_values_are_kept_exactly_at_any_depth(store: Store, depth: int) -> None:
    """If this failed, a value would be altered, or taken for a mark, because of how deep it lies."""
    for value in [*ODD, *LOOKALIKES]:
        for found in (round_trip(nested(value, depth)), round_trip(nested(value, depth), store)):
            assert same(unwrapped(found, depth, WRAPS["list"]), value)


@pytest.mark.parametrize("name", WRAPS)
def test_keys_are_kept_exactly_at_any_depth(name: str) -> None:
    """If this failed, the keys of a deep object would come back as others, or make the log unreadable."""
    for depth in (3, 199, 200, 201, 300):
        found = round_trip(nested("core", depth, WRAPS[name]))
        assert unwrapped(found, depth, WRAPS[name]) == "core"


@pytest.mark.parametrize("name", WRAPS)
def test_no_line_is_nested_deeper_than_json_tools_read(name: str) -> None:
    """If this failed, a line of the log could not be read by jq or another JSON reader."""
    for depth in (100, 200, 201, 230, 250, 500):
        value = nested(1, depth, WRAPS[name])
        assert line_depth(encode(called(value), source="s", trial=None, blobs=None)) <= 206


def called(value: Any) -> ToolCalled:
    """An event that carries `value`."""
    return ToolCalled(call="c", name="n", arguments=value)


odd_keys = (
    st.text(st.characters()) | st.integers() | st.binary() | st.none() | st.tuples(st.text(), st.tuples())
)
deep_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.sampled_from(LOOKALIKES),
    lambda inner: st.lists(inner) | st.dictionaries(odd_keys, inner),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(deep_values, st.integers(0, 250), st.sampled_from(sorted(WRAPS)))
def test_any_value_round_trips_at_any_depth(value: Any, depth: int, name: str) -> None:
    """If this failed, some value of a harness would come back as another one when it lies deep."""
    assert same(unwrapped(round_trip(nested(value, depth, WRAPS[name])), depth, WRAPS[name]), value)


def test_what_is_too_deep_to_be_rebuilt_stays_as_its_exact_text() -> None:
    """If this failed, reading a very deep value would raise, or what it holds would be lost."""
    for depth in (READ_DEPTH + 1, 900, 5000):
        found = unwrapped(round_trip(nested({1: b"\xff"}, depth)), 200, WRAPS["list"])
        core = '{"$pairs":[[1,{"$bytes":"/w=="}]]}'
        assert found == {"$json": "[" * (depth - 200) + core + "]" * (depth - 200)}
        assert escape(found) == found


def test_a_forged_blob_in_the_depth_is_no_reference(store: Store) -> None:
    """If this failed, a harness could make verify and export ask for bytes that nobody stored."""
    for depth in (230, 300, 1000):
        with StreamWriter.open(store, f"run{depth}", create=True) as writer:
            writer.append(called(nested(BLOB, depth)))
        (event,) = read(store, f"run{depth}")
        assert named_blobs(event) == set()
        resolve(store, event.data)
    assert verify(store).ok


def test_a_blob_in_the_text_of_an_older_writer_is_no_reference() -> None:
    """If this failed, a log that holds a forged reference below depth 200 would stay unreadable."""
    assert unescape({"$json": json.dumps([BLOB])}) == [BLOB]
    assert not named_blobs(decode_lines(stored({"x": {"$json": json.dumps([BLOB])}}))[0])


@pytest.mark.parametrize(
    "value", [10**5000, -(10**5000), 2**2048 - 1, 2**2048, -(2**2048)], ids=lambda n: n.bit_length()
)
def test_huge_integers_are_kept_exactly(value: int) -> None:
    """If this failed, an integer longer than Python's limit of digits would lose its event."""
    assert round_trip([value, {value: 1}]) == [value, {value: 1}]
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert round_trip(value) == value
    finally:
        sys.set_int_max_str_digits(limit)


def stored(data: dict[str, Any], kind: str = "note.recorded") -> bytes:
    """A line as another writer might have stored it."""
    event = {"seq": 1, "id": "i", "time": "t", "mono": 1, "type": kind, "v": 1, "source": "s", "trial": None}
    return orjson.dumps(event | {"data": data}) + b"\n"


MALFORMED: list[dict[str, Any]] = [
    {"$bytes": 5}, {"$bytes": None}, {"$bytes": "a"}, {"$bytes": "!!!!"}, {"$bytes": "ü"}, {"$bytes": "QQ==", "x": 1},
    {"$text": "a", "shown": ""}, {"$text": "QQ=="}, {"$text": "/w==", "shown": ""}, {"$text": 1, "shown": 1},
    {"$text": "QQ==", "shown": 1}, {"$float": "abc"}, {"$float": 1.5}, {"$float": "1.5"}, {"$float": []},
    {"$int": "abc"}, {"$int": 5}, {"$int": ""}, {"$int": "1_0"}, {"$int": "9" * 5000}, {"$int": " 1"}, {"$int": "0x"},
    {"$pairs": 1}, {"$pairs": {}}, {"$pairs": [1]}, {"$pairs": [[1]]}, {"$pairs": [[1, 2, 3]]}, {"$pairs": ["ab"]},
    {"$pairs": [[{}, 1]]}, {"$pairs": [[[{}], 1]]}, {"$pairs": [[1, 2], [1, 3]]}, {"$pairs": [[1, 2]], "x": 1},
    {"$json": 5}, {"$json": None}, {"$json": ""}, {"$json": "[1"}, {"$json": "[" * 3000}, {"$json": "NaN"},
    {"$blob": 5}, {"$blob": None}, {"$blob": ["x"]}, {"$blob": "x"}, {"$blob": "sha256:" + "0" * 63},
    {"$pairs": [[{"$blob": BLOB["$blob"]}, 1]]}, {"$new": 1},
]  # fmt: skip


@pytest.mark.parametrize("value", MALFORMED, ids=lambda v: repr(v)[:40])
def test_a_malformed_mark_stays_as_it_is(value: dict[str, Any]) -> None:
    """If this failed, one object that hemra did not write would make a whole stream unreadable."""
    (event,) = decode_lines(stored({"x": value, "y": [value, {"$float": "Infinity"}]}))
    assert event.data == {"x": value, "y": [value, math.inf]}
    assert named_blobs(event) == set()
    assert same(unescape(escape(event.data)), event.data)


def test_data_itself_is_never_a_mark() -> None:
    """If this failed, an event's data could be read as something else than its fields."""
    for mark in ({"$bytes": "QQ=="}, {"$float": "NaN"}, {"$json": "1"}, BLOB):
        assert decode_lines(stored(mark))[0].data == mark


def test_a_line_nested_without_end_is_a_decode_error() -> None:
    """If this failed, a hostile line would raise something that readers do not expect."""
    line = stored({"x": 0}).replace(b'"x":0', b'"x":' + b"[" * 20_000 + b"]" * 20_000)
    with pytest.raises(msgspec.DecodeError, match="deep"):
        decode_lines(line)


def test_what_contains_itself_is_refused() -> None:
    """If this failed, such a value would be written for ever."""
    endless: list[Any] = []
    endless.append({"again": endless})
    with pytest.raises(BadEvent, match="contains itself"):
        encode(called(endless), source="s", trial=None, blobs=None)
    twice = [1.5, b"x"]
    assert round_trip([twice, twice, {"$": twice}]) == [twice, twice, {"$": twice}]


def test_a_producer_with_a_full_stack_keeps_its_event() -> None:
    """If this failed, the same value would be recorded or lost depending on who calls."""
    value = nested({"a": 1}, 190)

    def called_at(frames: int) -> bytes:
        if frames:
            return called_at(frames - 1)
        return encode(called(value), source="s", trial=None, blobs=None)

    free = sys.getrecursionlimit() - len(inspect.stack(0))
    assert b'{"a":1}' in called_at(free - 250)


class Level(IntEnum):
    """A subclass of int, as a producer may use it."""

    HIGH = 7


class Number(float):
    """A subclass of float, as numpy has one."""


class Name(str):
    """A subclass of str."""

    __slots__ = ()


def test_subclasses_of_plain_types_are_those_types() -> None:
    """If this failed, a numpy number or an enum in an event would lose the event."""
    value = {
        Name("k"): [
            Number(1.5),
            Number("nan"),
            Level.HIGH,
            Name("t"),
            bytearray(b"b"),
            memoryview(b"abcd")[::2],
        ]
    }
    assert same(round_trip(value), {"k": [1.5, math.nan, 7, "t", b"b", b"ac"]})


def test_the_page_lists_every_mark() -> None:
    """If this failed, docs/log-format.md would not say how some value is written."""
    page = (Path(__file__).parents[2] / "docs" / "log-format.md").read_text("utf-8")
    rows = dict(re.findall(r'^\| (.+?) \| `\{"(\$\w+)"', page, re.MULTILINE))
    assert set(rows.values()) == {"$bytes", "$text", "$float", "$int", "$pairs", "$json", "$blob"}
    for value in (2**64, -(2**3000)):
        (text,) = escape(value).values()
        assert f'`{{"$int": "{text[:5]}' in page
