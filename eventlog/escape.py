"""Values that plain JSON cannot hold are kept exactly, as small marked objects.

| value | written as |
|---|---|
| bytes | `{"$bytes": base64}` |
| text with lone surrogates | `{"$text": base64 of UTF-8 with surrogates, "shown": text with U+FFFD}` |
| NaN, Infinity, -Infinity | `{"$float": "NaN"}` … |
| integer outside [-2^63, 2^64) | `{"$int": decimal text}` |
| object with a key that is no text, is not valid Unicode, or begins with `$` | `{"$pairs": [[key, value], …]}` |
| nesting deeper than 200 | `{"$json": JSON text}` |
| payload moved out of the event | `{"$blob": "sha256:…", "size": n, "kind": text, bytes or json, "head": …}` |

`escape` and `unescape` are inverse to each other; a `$blob` is fetched by `eventlog.reader.resolve`.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import msgspec

MAX_DEPTH = 200
_INT_LOW, _INT_HIGH = -(1 << 63), (1 << 64) - 1
_MARKS = frozenset({"$bytes", "$text", "$float", "$int", "$pairs", "$json"})


def needs_escape(value: Any) -> bool:
    """Whether `value` holds something orjson would alter in silence or that looks like one of our marks.

    What orjson refuses by itself (surrogates, huge integers, odd keys, depth) needs no search here.
    """
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(isinstance(k, str) and k[:1] == "$" for k in value) or any(
            map(needs_escape, value.values())
        )
    if isinstance(value, list | tuple):
        return any(map(needs_escape, value))
    if isinstance(value, msgspec.Struct):
        return any(needs_escape(getattr(value, name)) for name in value.__struct_fields__)
    return False


def escape(value: Any, depth: int = 0) -> Any:
    """JSON-safe form of any value made of JSON types, bytes, tuples and msgspec structs.

    Raises TypeError for anything else (a bug of the producer, not of its data).
    """
    if depth > MAX_DEPTH:
        return {"$json": flat_json(value)}
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _escape_text(value)
    if isinstance(value, int):
        return value if _INT_LOW <= value <= _INT_HIGH else {"$int": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": _FLOAT_NAMES.get(str(value), "NaN")}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [escape(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return _escape_dict(value, depth)
    if isinstance(value, msgspec.Struct):
        return {name: escape(getattr(value, name), depth + 1) for name in value.__struct_fields__}
    raise TypeError(f"an event cannot hold a {type(value).__name__}")


_FLOAT_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _escape_text(text: str) -> Any:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "surrogatepass")
        return {"$text": base64.b64encode(raw).decode(), "shown": shown(text)}
    return text


def shown(text: str) -> str:
    """Readable form of text that may hold lone surrogates."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def plain_keys(value: dict[Any, Any]) -> bool:
    """Whether the keys can stand in JSON as they are and look like none of our marks."""
    return all(isinstance(k, str) and k[:1] != "$" and _escape_text(k) is k for k in value)


def too_deep(value: Any) -> bool:
    """Whether `value` is nested deeper than JSON tools read; found without recursion."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        level = [child for item in level for child in _children(item)]
        depth += 1
    return bool(level)


def _children(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [child for child in inner if isinstance(child, dict | list | tuple)]


def _escape_dict(value: dict[Any, Any], depth: int) -> Any:
    if plain_keys(value):
        return {k: escape(v, depth + 1) for k, v in value.items()}
    return {"$pairs": [[escape(k, depth + 2), escape(v, depth + 2)] for k, v in value.items()]}


class Blob(dict[str, Any]):
    """A payload that was moved out of its event: `$blob` (digest), `size`, `kind`, `head`.

    Its own type, because a harness may have sent an ordinary object that looks the same.
    """


def unescape(value: Any) -> Any:
    """Undo `escape`; payloads that are in blobs become `Blob` objects."""
    if isinstance(value, list):
        return [unescape(item) for item in value]
    if not isinstance(value, dict):
        return value
    mark = next(iter(value), "")
    if mark == "$blob":
        return Blob(value)
    if mark in _MARKS:
        return _unmark(mark, value)
    return {k: unescape(v) for k, v in value.items()}


def _unmark(mark: str, value: dict[str, Any]) -> Any:
    body = value[mark]
    match mark:
        case "$bytes":
            return base64.b64decode(body)
        case "$text":
            return base64.b64decode(body).decode("utf-8", "surrogatepass")
        case "$float":
            return float(body)
        case "$int":
            return int(body)
        case "$pairs":
            return {_hashable(unescape(k)): unescape(v) for k, v in body}
        case _:
            try:
                return unescape(json.loads(body))
            except RecursionError:
                return value  # deeper than this interpreter can hold: the text stays available


def _hashable(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key


def flat_json(value: Any) -> str:
    """JSON text of a value nested to any depth, written without recursion."""
    out: list[str] = []
    stack: list[Any] = [_Value(value)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        inner = item.value
        if isinstance(inner, msgspec.Struct):
            inner = {name: getattr(inner, name) for name in inner.__struct_fields__}
        if isinstance(inner, dict):
            pairs = [(escape(str(k)), v) for k, v in inner.items()]
            stack.append("}")
            for index, (key, child) in reversed(list(enumerate(pairs))):
                text = key if isinstance(key, str) else key["shown"]
                stack.append(_Value(child))
                stack.append(("," if index else "") + json.dumps(text) + ":")
            out.append("{")
        elif isinstance(inner, list | tuple):
            stack.append("]")
            for index, child in reversed(list(enumerate(inner))):
                stack.append(_Value(child))
                if index:
                    stack.append(",")
            out.append("[")
        else:
            out.append(json.dumps(escape(inner)))
    return "".join(out)


class _Value:
    """Tells a value on the stack of `flat_json` from text that is already JSON."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
