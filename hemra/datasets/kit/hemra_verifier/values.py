"""Whether a text says a value: exactly this one, in one of the ways in which people write it."""

import re
from collections.abc import Iterator
from typing import Any

from .plaintext import folded


def states(text: str, value: Any, *, ignore_case: bool = False, tolerance: float = 0.0) -> bool:
    """Whether the text says exactly this value, and not a longer one that contains it.

    A number (int or float) may be written 1234, 1,234, 1 234, 1234.0, 1.234e3, "12 files", forty-two; not 12345,
    1234.5, -1234, 1234 %, 1234k. `tolerance` is the largest difference accepted. Any other value is a text: a
    word, a path ("a.py" is not in "b/a.py"), a version ("1.2" is in "v1.2" and not in "1.2.3"), "85%".
    """
    return next(_places(text, value, ignore_case, tolerance), None) is not None


def _places(text: str, value: Any, ignore_case: bool, tolerance: float) -> "Iterator[tuple[int, int]]":
    """Start and end, in the folded text, of every place that says the value."""
    text = folded(text)
    if isinstance(value, int | float) and not isinstance(value, bool):
        for number, start, end, unit in _said(text):
            if not unit and abs(number - value) <= max(tolerance, abs(value) * 1e-12):
                yield start, end
        return
    flags = re.IGNORECASE if ignore_case else 0
    pattern = _exact(folded(str(value)))
    if pattern:
        yield from (match.span() for match in re.finditer(pattern, text, flags))


def _exact(value: str) -> str:
    """A regular expression for a text that is not part of a longer word, path, version or address."""
    words = value.split()
    if not words:
        return ""
    core = r"\s+".join(re.escape(word) for word in words)
    first, last = words[0][0], words[-1][-1]
    before = after = ""
    if re.fullmatch(r"\d+(?:\.\d+)+", value):  # a version
        before, after = r"(?<![\d.])(?<![\w.-]v)(?<![^\Wv])(?<!\w-)", r"(?!\w|[-./+]\w)"
    elif re.fullmatch(r"-?[\d.,]+\s?%", value):
        core, before = core.replace("%", r"\s?\\?%"), r"(?<![\w.-])(?<!\d,)"
    else:
        if first == "/":
            before = r"(?<![\w./~-])"
        elif (first.isalnum() or first in "_.") and first < "\u2e80":
            before = r"(?<![\w.])(?<!\w-)(?:(?<!/)|(?<=(?<![\w./-])\./))"
        if (last.isalnum() or last == "_") and last < "\u2e80":
            after = r"(?!\w|[-./]\w|/[-.]?\w)" + (r"(?![?#&=:]\w)" if "://" in value else "")
        elif last == "/":
            after = r"(?![\w.])"
    return f"{before}{core}{after}"


_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+(?![\d ]*\d{4})|\d{1,3}(?:['_]\d{3})+|\d+)"
_NUMBER = re.compile(
    rf"(?<![\w.^])(?<![\w.]-)(?<!\d[,/:])(?P<sign>(?<![\w)-])[-+])?(?P<body>(?!0\d){_DIGITS}(?:\.\d+)?|\.\d+)"
    r"(?P<power>[eE][-+]?\d{1,3})?(?P<unit>\s?\\?%|\s?(?:percent|per cent|thousand|million|billion|dozen)\b|[kKMG]\b)?"
    r"(?:(?:s|ms|B|bytes?|lines?|files?)\b)?(?!\w|[.^]\w|,\d{3}(?!\d)|[:/]\d|-\d+-\d)"
)
_RANGE = re.compile(r"(?<![\w.-])(\d{1,9})-(\d{1,9})(?![\w.-]\w|\w)")
_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {word: number for number, word in enumerate(_SMALL)} | {"hundred": 100}
_WORDS |= {word: 10 * number for number, word in enumerate(_TENS, 2)}
_WORD_NUMBER = re.compile(
    rf"(?<![\w-])(?:{'|'.join(_WORDS)})(?:(?:[ -]|[ -]and[ -])(?:{'|'.join(_WORDS)}))*(?![\w-])"
)
_NO_ONE = re.compile(r"(?:this|that|the|which|each|any|every|no|another|first|last|other)\s+$")


def _said(text: str) -> "Iterator[tuple[float, int, int, str]]":
    """(number, start, end, its unit of scale or empty) of every number in a folded text, words included."""
    for match in _NUMBER.finditer(text):
        digits = re.sub("[, '_]", "", match["body"]) + (match["power"] or "")
        number = float(digits) * (-1 if match["sign"] == "-" else 1)
        yield number, match.start(), match.end(), (match["unit"] or "").strip()
    for match in _RANGE.finditer(text):
        yield float(match[2]), match.start(2), match.end(2), ""
    low = text.lower()
    for match in _WORD_NUMBER.finditer(low) if len(low) == len(text) else ():
        value = _of_words(re.findall("[a-z]+", match[0]))
        one = match[0] == "one" and (
            _NO_ONE.search(low[max(0, match.start() - 12) : match.start()])
            or re.match(
                r"\s+(?:of|by|after|or|more|another|turn|line|call)\b", low[match.end() : match.end() + 12]
            )
        )
        scaled = re.match(
            r"\s?(?:%|percent|per cent|thousand|million|billion|dozen)", low[match.end() : match.end() + 12]
        )
        if value is not None and not one:
            yield value, match.start(), match.end(), scaled[0].strip() if scaled else ""


def _of_words(words: "list[str]") -> "float | None":
    """107 for ["one", "hundred", "and", "seven"]; None for what is no number ("two two")."""
    total, last = 0, 1000
    for word in words:
        if word == "and":
            continue
        size = _WORDS[word]
        if size == 100:
            if not 0 < total < 10:
                return None
            total, last = total * 100, 100
        elif size >= last or last < 20 or (last < 100 and size >= 10) or (size == 0 and len(words) > 1):
            return None
        else:
            total, last = total + size, size
    return float(total)


def numbers(text: str) -> "list[float]":
    """Every number written in digits, in order; 85 for "85 %", 12 and 20 for "12-20", 3 for "3 million"."""
    shown = folded(text)
    found = {(start, end): number for number, start, end, _ in _said(shown)}
    return [
        number for (start, end), number in sorted(found.items()) if any(c.isdigit() for c in shown[start:end])
    ]


_NEGATED = re.compile(
    r"(?:\b(?:not|no|never|neither|nor|cannot|without|except|excluding|rather than|instead of|other than)|n't)"
    r"(?:\s+(?!but\b)[^\s.;:,!?()]+){0,3}[\s'\"(=]*$",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"['\")]*\s+(?:(?:is|was|are|were|does|do|did|has|have|had|would|could|should|can|will)(?:\s+\w+)?"
    r"(?:\s+not\b|n't\b|not\b|\s+(?:wrong|incorrect|false|absent|missing)\b)|cannot\b|can't\b|won't\b)",
    re.IGNORECASE,
)


def denies(text: str, value: Any, *, ignore_case: bool = False) -> bool:
    """Whether the value stands in a negated phrase: "not 17", "isn't the 17", "rather than 17", "17 is not"."""
    said = folded(text)
    for start, end in _places(said, value, ignore_case, 0.0):
        if _NEGATED.search(said[max(0, start - 80) : start]) or _DENIED.match(said[end : end + 40]):
            return True
    return False
