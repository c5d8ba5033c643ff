"""Text as a person reads it: of an answer, of a recorded result, whatever shape it has."""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

#: So deep are nested results and JSON within JSON looked into.
LEVELS = 64

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]")
_SIGNS = {
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d"), '"'),
    ord("\u2044"): "/",
    **{ord(char): f"^{digit}" for digit, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}
_CODE = re.compile(r"(`+)([^`\n]{1,2000})\1")
_FENCE = re.compile(r"^[ \t]*(?:```+|~~~+)[ \t]*[\w+-]*[ \t]*$", re.MULTILINE)
_STARS = re.compile(r"(?<!\*)(\*{1,3})([^*\s](?:[^*\n]{0,500}[^*\s])?)\1(?!\*)")
_LOW_LINES = re.compile(r"(?<!\w)(_{1,3})(?!_)([^_\s](?:[^\n]{0,200}?[^_\s])?)\1(?!\w)")
_DUNDER = re.compile(r"__[a-z]\w*__")


def folded(text: str) -> str:
    """The text without colours and invisible characters, in NFKC, with one kind of hyphen, minus and quote."""
    text = _INVISIBLE.sub("", _ANSI.sub("", text)).translate(_SIGNS)
    text = re.sub("(?<=\\d)(?=[\u00bc-\u00be\u2150-\u215e])", " ", text)
    return unicodedata.normalize("NFKC", text).translate(_SIGNS)


def plain(text: Any) -> str:
    """The text as a person reads it: `folded`, and without markdown's backticks and emphasis.

    What stands in backticks is kept as it is (`*.py`, `__init__`); so are `__dunder__` names.
    """
    text = _FENCE.sub("", folded(as_text(text)))
    pieces, end = [], 0
    for span in _CODE.finditer(text):
        pieces += [_unmarked(text[end : span.start()]), span[2]]
        end = span.end()
    return "".join([*pieces, _unmarked(text[end:])])


def _bare(span: "re.Match[str]") -> str:
    """What is emphasised; stars between letters or digits on both sides are no emphasis (2*3*4)."""
    before, after = span.string[span.start() - 1 : span.start()], span.string[span.end() : span.end() + 1]
    return span[0] if before.isalnum() and after.isalnum() else span[2]


def _unmarked(text: str) -> str:
    text = _STARS.sub(_bare, _STARS.sub(_bare, text.replace("`", "")))
    return _LOW_LINES.sub(lambda span: span[0] if _DUNDER.fullmatch(span[0]) else span[2], text)


def as_text(value: Any) -> str:
    """All text inside a recorded result, a line each: text, JSON in a text, keys and values of nested objects."""
    found: list[str] = []
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, str):
            inner = _json_in(item) if depth < LEVELS else None
            if inner is None:
                found.append(item)
            else:
                waiting.append((inner, depth + 1))
        elif isinstance(item, Mapping):
            waiting += [
                (part, depth + 1)
                for pair in reversed(list(item.items()))
                for part in (pair[1], _Key(pair[0]))
            ]
        elif isinstance(item, Sequence):
            waiting += [(part, depth + 1) for part in reversed(item)]
        elif isinstance(item, _Key):
            found.append(item.name)
        elif item is not None:
            found.append(str(item).lower() if isinstance(item, bool) else str(item))
    return "\n".join(found)


class _Key:
    """The name of a field, which is not to be read as JSON again."""

    def __init__(self, name: Any) -> None:
        self.name = str(name)


def _json_in(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
