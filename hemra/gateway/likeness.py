"""When a conversation counts as one that was recorded, although folders, dates and ids in it are others.

Agents put their working folder, the date and ids of sessions into their prompts, and tools print times, sizes and
process ids. Two conversations are alike

- `exact`: every message has the same key;
- `normalised`: the same but for folders of the trial, the gateway's address, run ids, UUIDs, dates and times of day,
  ids of tool calls (which count by their order), and marks for caching;
- `loose`: and, in what no model said, every word with a digit in it counts as the same, and so does white space.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from hemra.gateway.normal import Message

EXACT, NORMALISED, LOOSE = "exact", "normalised", "loose"

_PARTS = "(?:workspace|home|tmp|harness)"
_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|"
    "Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_DAY = "(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_ZONE = r"(?:Z|UTC|GMT|[A-Z]{2,4}T|[+-]\d{2}:?\d{2})"
_CLOCK = rf"\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d+)?)?(?:\s?[AaPp]\.?[Mm]\b\.?)?(?:\s?{_ZONE}\b)?"
_YEAR_AND_CLOCK = rf"(?:,?\s+\d{{4}}\b)?(?:,?\s+(?:at\s+)?{_CLOCK})?(?:\s+\d{{4}}\b)?(?!\w)"
_NUMBER = r"[0-3]?\d(?:st|nd|rd|th)?\b"
#: The end of a trial's folder on this machine, as a path and as the one name that some agents make of a path.
_SCRATCH = re.compile(
    rf"/hemra-\d+/[\w.-]{{1,128}}/\d{{4,}}\.\d+/{_PARTS}\b|"
    rf"-hemra-\d+-[\w-]{{1,128}}?-\d{{4,}}-\d+-{_PARTS}\b"
)
_BEFORE_A_PATH = frozenset(" \t\r\n\"'`=(")
#: What stands for something that is another one in every trial, in this order.
_PATTERNS = [
    (re.compile(r"https?://(?:\[[0-9A-Fa-f:]+\]|[\w.-]+)(?::\d+)?/t/[\w.-]+"), "<gateway>"),
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-z]{6}\b"), "<run>"),
    (re.compile(r"\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b"), "<id>"),
    (re.compile(rf"\b\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]\s*{_CLOCK})?"), "<time>"),
    (re.compile(r"\b(?:\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/\d{4})\b"), "<time>"),
    (re.compile(rf"\b(?:{_DAY},?\s+)?{_MONTH}\.?\s+{_NUMBER}{_YEAR_AND_CLOCK}"), "<time>"),
    (re.compile(rf"\b(?:{_DAY},?\s+)?{_NUMBER}\s+{_MONTH}\b\.?{_YEAR_AND_CLOCK}"), "<time>"),
    (re.compile(rf"\b{_CLOCK}(?!\w)"), "<time>"),
    (re.compile(r"\b\d{8}[T_-]?\d{6}\b|\b1[5-9]\d{8}(?:\.\d+)?\b|\b1[5-9]\d{11}\b"), "<time>"),
    (re.compile(r"<time>(?:[,\s]*(?:at\s+)?<time>)+"), "<time>"),
    (re.compile(rf"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b(?:,?\s*<time>)?|\b{_DAY},?\s*<time>"), "<time>"),
]  # fmt: skip
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_SEVERAL = re.compile(r"#(?:[.,:/+-]#)+")
_BLANKS = re.compile(r"\s+")
#: Marks of what a provider should cache; harnesses move them from message to message.
_NO_CONTENT = {"cache_control"}


class Likeness:
    """One side's view of what is its own. `places` are its folders by what they are (workspace, home, …)."""

    def __init__(self, places: dict[str, str] | None = None) -> None:
        self._patterns: list[tuple[re.Pattern[str], str]] = []
        for name, place in sorted((places or {}).items(), key=lambda item: -len(item[1])):
            if len(place) > 1:
                either = "|".join(map(re.escape, (place, place.replace("/", "-"))))
                self._patterns.append((re.compile(rf"(?<![\w.-])(?:{either})(?![\w-])"), f"<{name}>"))
        self._patterns += _PATTERNS
        self._seen: dict[tuple[str, str], bytes] = {}

    def text(self, text: str, *, loose: bool = False) -> str:
        """The text as it counts."""
        text = _without_scratch(text)
        for pattern, name in self._patterns:
            text = pattern.sub(name, text)
        if not loose:
            return text
        words = _WORD.sub(lambda word: "#" if _DIGIT.search(word[0]) else word[0], text)
        return _BLANKS.sub(" ", _SEVERAL.sub("#", words))

    def digests(self, messages: Sequence[Message], way: str) -> list[bytes]:
        """A digest for every message, with the places of its calls' ids in the conversation."""
        numbers: dict[str, int] = {}
        digests = []
        for message in messages:
            calls = [numbers.setdefault(call.id, len(numbers)) for call in message.calls]
            answers = message.answers
            answered = None if answers is None else numbers.setdefault(answers, len(numbers))
            content = self._digest(message, way)
            digests.append(hashlib.sha256(content + json.dumps([calls, answered]).encode()).digest())
        return digests

    def _digest(self, message: Message, way: str) -> bytes:
        """Of one message, without ids; made once for each key."""
        key = (message.key, way)
        if key not in self._seen:
            loose = way == LOOSE and message.role != "assistant"
            content = [
                message.role,
                self._value(message.text, loose=loose) or None,
                [[call.name, self._value(call.arguments, loose=False)] for call in message.calls],
            ]
            text = json.dumps(content, sort_keys=True)
            self._seen[key] = hashlib.sha256(text.encode()).digest()
        return self._seen[key]

    def _value(self, value: Any, *, loose: bool) -> Any:
        """Any JSON value with its texts as they count."""
        if isinstance(value, str):
            return self.text(value.rstrip(), loose=loose)
        if isinstance(value, list | tuple):
            return [self._value(item, loose=loose) for item in value]
        if isinstance(value, dict):
            return {k: self._value(v, loose=loose) for k, v in value.items() if k not in _NO_CONTENT}
        return value


def _without_scratch(text: str) -> str:
    """The text with a trial's folders on this machine as `<workspace>`, `<home>`, …"""
    pieces, done = [], 0
    for found in _SCRATCH.finditer(text):
        start = found.start()
        while (
            start > done
            and text[start - 1] not in _BEFORE_A_PATH
            and (text[start - 1] != "/" or found[0][0] == "/")
        ):
            start -= 1
        pieces += [text[done:start], f"<{re.split('[/-]', found[0])[-1]}>"]
        done = found.end()
    return "".join([*pieces, text[done:]])


def common(left: Sequence[bytes], right: Sequence[bytes]) -> int:
    """How many messages two conversations share from their beginning."""
    shared = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        shared += 1
    return shared
