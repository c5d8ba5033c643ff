"""Values of JSON that somebody else wrote: taken as they are where they have the form that is expected, else not.

Nothing here raises, whatever it is given: what passes through the gateway is written by harnesses and models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import orjson

from eventlog.escape import json_bytes
from hemra.gateway.normal import ToolCall

#: Levels of nesting up to which values are kept as they are: far beyond any schema, and no stack is at risk.
DEEPEST = 200

#: Kinds of content parts that are nothing but text, with the field that has it.
_TEXT = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
#: Marks for a provider's cache, which harnesses move from message to message.
_CACHE_MARK = "cache_control"


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def text_or_none(value: Any) -> str | None:
    """The value if it is a text with something in it."""
    return value if isinstance(value, str) and value else None


def loads(content: bytes) -> Any:
    """The JSON in these bytes. Raises ValueError. Bytes that are no UTF-8 are kept as surrogates (PEP 383)."""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return loads_exactly(content)
    return bounded(value) if content.count(b"[") + content.count(b"{") > DEEPEST else value


def loads_exactly(content: bytes | str) -> Any:
    """The same, slower, and with integers of any size. Raises ValueError."""
    text = content if isinstance(content, str) else content.decode("utf-8", "surrogateescape")
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError("nested too deep") from None
    return bounded(value) if text.count("[") + text.count("{") > DEEPEST else value


def bounded(value: Any) -> Any:
    """The same value; what lies deeper than DEEPEST is given as the text of its JSON."""
    return _cut(value, DEEPEST) if _is_deep(value) else value


def _is_deep(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        if not level:
            return False
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for values in inner for each in values if isinstance(each, dict | list)]
    return bool(level)


def _cut(value: Any, levels: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if levels <= 0:
        return json_bytes(value).decode("utf-8", "replace")
    if isinstance(value, dict):
        return {key: _cut(inner, levels - 1) for key, inner in value.items()}
    return [_cut(inner, levels - 1) for inner in value]


def function_call(call: Any, name: Any, written: Any) -> ToolCall:
    """A call whose arguments are JSON, as a text or, from some servers, as the value itself.

    Left out they are an empty object, as all clients take it.
    """
    arguments, text = written, None
    if written is None or (isinstance(written, str) and not written.strip()):
        arguments, text = {}, written
    elif isinstance(written, str):
        try:
            arguments = loads_exactly(written)
        except ValueError:
            text = written
        else:
            text = None if isinstance(arguments, dict) else written
    elif not isinstance(written, dict):
        text = json_bytes(written).decode("utf-8", "replace")
    return ToolCall(id=as_text(call), name=as_text(name), arguments=arguments, written=text)


def freeform_call(call: Any, name: Any, written: Any) -> ToolCall:
    """A call whose arguments are plain text; what is none is kept as it came."""
    text = written if isinstance(written, str) else json_bytes(written).decode("utf-8", "replace")
    arguments = "" if written is None else written
    return ToolCall(
        id=as_text(call), name=as_text(name), arguments=arguments, written="" if written is None else text
    )


def part_text(part: Any) -> str | None:
    """The text of a content part that is nothing but text."""
    if isinstance(part, str):
        return part
    field = _TEXT.get(as_text(as_dict(part).get("type")))
    text = part.get(field) if field else None
    return text if isinstance(text, str) else None


def content(value: Any, *, joint: str = "\n") -> Any:
    """A message's content: one text where all its parts are text, else the parts as they came.

    Marks for a cache are no content. `joint` stands between texts: nothing in what a model writes, which is cut
    anywhere.
    """
    if not isinstance(value, list):
        return unmarked(value)
    texts = [part_text(part) for part in value]
    plain = [text for text in texts if text is not None]
    return joint.join(plain) if len(plain) == len(texts) else [unmarked(part) for part in value]


def unmarked(part: Any) -> Any:
    """A content part without marks for a cache, in the parts within it neither."""
    if not isinstance(part, dict):
        return part
    if _CACHE_MARK in part:
        part = {name: value for name, value in part.items() if name != _CACHE_MARK}
    inner = part.get("content")
    return part | {"content": [unmarked(each) for each in inner]} if isinstance(inner, list) else part


def texts_of(parts: Any, *fields: str) -> str:
    """The texts of a list of parts, each under the first of these fields that has one; a text is itself."""
    if isinstance(parts, str):
        return parts
    return "".join(_first_text(as_dict(part).get(field) for field in fields) for part in as_list(parts))


def _first_text(values: Iterable[Any]) -> str:
    return next((value for value in values if isinstance(value, str) and value), "")
