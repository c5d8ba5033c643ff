"""Values that plain JSON cannot hold are kept exactly, as small marked objects.

| value | written as |
|---|---|
| bytes | `{"$bytes": base64}` |
| text with lone surrogates | `{"$text": base64 of UTF-8 with surrogates, "shown": text with U+FFFD}` |
| NaN, Infinity, -Infinity | `{"$float": "NaN"}` … |
| integer outside [-2^63, 2^64) | `{"$int": decimal text}`, above 2048 bits `{"$int": "-0x1f…"}` |
| object with a key that is no text, is not valid Unicode, or begins with `$` | `{"$pairs": [[key, value], …]}` |
| nesting deeper than 200 | `{"$json": JSON text}`, the text written by these rules without a limit of depth |
| payload moved out of the event | `{"$blob": "sha256:…", "size": n, "kind": text, bytes or json, "head": …}` |

`escape` and `unescape` are inverse to each other; a `$blob` is fetched by `eventlog.reader.resolve`. There is one
writer, `walk`: it is a loop, so depth changes nothing about what is kept. Whatever looks like a mark but is not of
these shapes was not written here; `unescape` leaves it as it is.
"""

from __future__ import annotations

import base64
import math
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import orjson

#: Levels of a field's value that stand in the line as they are.
MAX_DEPTH = 200
#: Levels that reading rebuilds; below that the `$json` text stays. Every walk over a value that was read
#: (resolve, comparison) recurses, so this must stay well below the interpreter's limit of 1000 frames.
READ_DEPTH = 400
#: A text or bytes longer than this fits no line.
LONG = 64 * 1024
#: Integers with more bits are written in hexadecimal: Python refuses long decimals, and they take quadratic time.
_DECIMAL_BITS = 2048
_SCALARS = frozenset({str, int, float, bool, type(None), bytes})
_BYTES = (bytes, bytearray)
_LONGABLE = (str, *_BYTES)
_LISTS = (list, tuple)


def is_plain(value: Any, levels: int = MAX_DEPTH) -> bool:
    """Whether orjson may be given `value` as it is: nothing in it is altered in silence, looks like one of our
    marks, lies deeper than `levels`, or is longer than `LONG`.

    What orjson refuses by itself (surrogates, huge integers) is not searched for.
    """
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value) <= LONG
    if value is None or kind is int or kind is bool:
        return True
    if kind is float:
        return math.isfinite(value)
    if not levels:
        return False
    if kind is dict:
        for key, child in value.items():
            if type(key) is not str or key[:1] == "$" or not is_plain(child, levels - 1):
                return False
        return True
    if kind is list or kind is tuple:
        return all(is_plain(child, levels - 1) for child in value)
    if isinstance(value, msgspec.Struct):
        return all(is_plain(getattr(value, name), levels - 1) for name in value.__struct_fields__)
    return False


def escape(value: Any) -> Any:
    """JSON-safe form of any value made of JSON types, bytes, tuples and msgspec structs, nested to any depth.

    Raises TypeError for anything else (a bug of the producer, not of its data).
    """
    return orjson.loads(json_bytes(value))


def json_bytes(value: Any, max_depth: int = MAX_DEPTH) -> bytes:
    """The JSON of `value`'s escaped form. Raises TypeError as `escape` does."""
    return b"".join(p if isinstance(p, bytes) else p.json() for p in walk(value, max_depth=max_depth))


class Apart:
    """A piece that `walk` hands out unwritten: a long text or bytes, or what lies too `deep`."""

    __slots__ = ("deep", "value")

    def __init__(self, value: Any, *, deep: bool = False) -> None:
        self.value = value
        self.deep = deep

    def json(self) -> bytes:
        """Its JSON, to stand in the place where it was. Raises TypeError as `escape` does."""
        if not self.deep:
            return _scalar(self.value)
        text = json_bytes(self.value, sys.maxsize).decode()
        return b'{"$json":%s}' % orjson.dumps(text)


class _Level(NamedTuple):
    """A list or object of which a part is written."""

    members: Iterator[tuple[bytes, Any]]
    end: bytes
    depth: int
    identity: int


def walk(value: Any, *, apart_from: int = sys.maxsize, max_depth: int = MAX_DEPTH) -> Iterator[bytes | Apart]:
    """Write `value` as JSON, piece by piece. Texts and bytes of at least `apart_from`, and lists and objects below
    `max_depth` levels, come as `Apart`. Raises TypeError as `escape` does, also for what contains itself.
    """
    stack: list[_Level] = []
    inside: set[int] = set()
    level = _Level(iter([(b"", value)]), b"", 0, 0)
    while True:
        for before, child in level.members:
            opened = None if type(child) in _SCALARS else _opened(child)
            if opened is None:
                leaf = bytes(child) if isinstance(child, memoryview) else child
                if isinstance(leaf, _LONGABLE) and len(leaf) >= apart_from:
                    yield before
                    yield Apart(leaf)
                else:
                    yield before + _scalar(leaf)
                continue
            if level.depth >= max_depth:
                yield before
                yield Apart(child, deep=True)
                continue
            begin, members, end, levels = opened
            if id(child) in inside:
                raise TypeError(f"an event cannot hold a {type(child).__name__} that contains itself")
            inside.add(id(child))
            yield before + begin
            stack.append(level)
            level = _Level(members, end, level.depth + levels, id(child))
            break
        else:
            if not stack:
                return
            yield level.end
            inside.discard(level.identity)
            level = stack.pop()


def _opened(value: Any) -> tuple[bytes, Iterator[tuple[bytes, Any]], bytes, int] | None:
    """How a list or object begins, its members, how it ends, and the JSON levels it takes; None for all else."""
    if isinstance(value, dict):
        if isinstance(value, Kept):
            return None
        if plain_keys(value):
            return b"{", _object_members(value), b"}", 1
        return b'{"$pairs":[', _pair_members(value), b"]]}", 3
    if isinstance(value, _LISTS):
        return b"[", _list_members(value), b"]", 1
    if isinstance(value, msgspec.Struct):
        named = {name: getattr(value, name) for name in value.__struct_fields__}
        return b"{", _object_members(named), b"}", 1
    return None


def _list_members(value: Iterable[Any]) -> Iterator[tuple[bytes, Any]]:
    before = b""
    for child in value:
        yield before, child
        before = b","


def _object_members(value: dict[str, Any]) -> Iterator[tuple[bytes, Any]]:
    before = b""
    for key, child in value.items():
        yield b"%s%s:" % (before, orjson.dumps(key)), child
        before = b","


def _pair_members(value: dict[Any, Any]) -> Iterator[tuple[bytes, Any]]:
    """Keys and values in turn. A pair is never a member of its own: it has no place below the last level."""
    before = b"["
    for key, child in value.items():
        yield before, key
        yield b",", child
        before = b"],["


def plain_keys(value: dict[Any, Any]) -> bool:
    """Whether the keys can stand in JSON as they are and look like none of our marks."""
    return all(isinstance(k, str) and k[:1] != "$" and (k.isascii() or _is_valid(k)) for k in value)


def _is_valid(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_FLOAT_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _scalar(value: Any) -> bytes:
    """JSON of anything but a list or object."""
    if isinstance(value, float):
        if math.isfinite(value):
            return orjson.dumps(float(value))  # a subclass, as of numpy, is a number too
        return b'{"$float":"%s"}' % _FLOAT_NAMES[float.__repr__(value)].encode()
    if isinstance(value, _BYTES):
        return b'{"$bytes":"%s"}' % base64.b64encode(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATACLASS)
    except TypeError:
        if isinstance(value, str):
            return orjson.dumps({"$text": base64.b64encode(_raw(value)).decode(), "shown": shown(value)})
        if isinstance(value, int):
            return b'{"$int":"%s"}' % _int_text(value).encode()
    raise TypeError(f"an event cannot hold a {type(value).__name__}")


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def shown(text: str) -> str:
    """Readable form of text that may hold lone surrogates."""
    return _raw(text).decode("utf-8", "replace")


def _int_text(value: int) -> str:
    return str(value) if value.bit_length() <= _DECIMAL_BITS else hex(value)


class Blob(dict[str, Any]):
    """A payload that was moved out of its event: `$blob` (digest), `size`, `kind`, `head`.

    Its own type, because a harness may have sent an ordinary object that looks the same.
    """


class Kept(dict[str, str]):
    """A `$json` that is nested too deep to be rebuilt: its one value is the exact JSON text."""


class _TooDeep(Exception):
    """What a `$json` holds goes deeper than `READ_DEPTH`."""


_MARKS = frozenset({"$bytes", "$text", "$float", "$int", "$pairs", "$json"})
_NESTED = (dict, list)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_INT = re.compile(r"-?(0x[0-9a-f]+|[0-9]+)")


def unescape(value: Any) -> Any:
    """Undo `escape`; payloads that are in blobs become `Blob` objects. Raises nothing for any JSON value."""
    return _undo(value, 0, False)


def _undo(value: Any, depth: int, in_text: bool) -> Any:
    """`unescape`, one frame a level. `in_text`: below a `$json`, where nothing was moved to a blob."""
    if depth > READ_DEPTH:
        if in_text:
            raise _TooDeep
        return value
    if isinstance(value, list):
        items = []
        for child in value:
            items.append(_undo(child, depth + 1, in_text) if isinstance(child, _NESTED) else child)
        return items
    if not isinstance(value, dict):
        return value
    mark = next(iter(value), "")
    if mark in _MARKS:
        return _unmark(mark, value, depth, in_text)
    if mark == "$blob" and not in_text:
        digest = value["$blob"]
        return Blob(value) if isinstance(digest, str) and _DIGEST.fullmatch(digest) else value
    members = {}
    for key, child in value.items():
        members[key] = _undo(child, depth + 1, in_text) if isinstance(child, _NESTED) else child
    return members


def _unmark(mark: str, value: dict[str, Any], depth: int, in_text: bool) -> Any:
    """What a mark stands for; `value` itself when it has not the shape that `escape` gives it."""
    body = value[mark]
    if mark == "$pairs":
        return _from_pairs(value, body, depth, in_text)
    if not isinstance(body, str) or len(value) != (2 if mark == "$text" else 1):
        return value
    try:
        match mark:
            case "$bytes":
                return base64.b64decode(body, validate=True)
            case "$text" if isinstance(value.get("shown"), str):
                return base64.b64decode(body, validate=True).decode("utf-8", "surrogatepass")
            case "$float" if body in _FLOAT_NAMES.values():
                return float(body)
            case "$int" if _INT.fullmatch(body):
                return int(body, 16 if "x" in body else 10)
            case "$json":
                return _from_text(value, body, depth)
    except ValueError:
        pass  # no base64, no UTF-8, more digits than this interpreter takes
    return value


def _from_text(value: dict[str, Any], text: str, depth: int) -> Any:
    try:
        return _undo(orjson.loads(text), depth, True)
    except (orjson.JSONDecodeError, _TooDeep, RecursionError):
        return Kept(value)


def _from_pairs(value: dict[str, Any], pairs: Any, depth: int, in_text: bool) -> Any:
    if len(value) != 1 or not isinstance(pairs, list):
        return value
    made: dict[Any, Any] = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            return value
        key = _as_key(_undo(pair[0], depth + 1, in_text))
        child = _undo(pair[1], depth + 1, in_text)
        try:
            made[key] = child
        except TypeError:
            return value  # an object is no key
    return made if len(made) == len(pairs) else value


def _as_key(key: Any) -> Any:
    """A list stands for a tuple where it is a key, and so do the lists in it."""
    return tuple(map(_as_key, key)) if isinstance(key, list) else key
