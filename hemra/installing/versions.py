"""Whether a version lies in a range, as pip and npm write ranges; enough of both for what recipes say."""

from __future__ import annotations

import re

Version = tuple[int, ...]

_TERM = re.compile(r"(>=|<=|==|!=|~=|>|<|=|\^|~)?\s*v?(\d+(?:\.\d+)*)(?:\.[x*])?")
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


def version_of(text: str) -> Version | None:
    """The first version that a text holds (`v22.3.1`, `Python 3.11.7`); None when it holds none."""
    found = _NUMBERS.search(text)
    return tuple(map(int, found[0].split("."))) if found else None


def fits(version: str, wanted: str | None) -> bool:
    """Whether a version is in a range: `>=3.11,<3.14`, `>=22.19`, `^20.6 || >=22`, `22.x`. Null takes any.

    Raises ValueError for a range that is not understood.
    """
    if wanted is None or wanted.strip() in ("", "*"):
        return True
    have = version_of(version)
    if have is None:
        return False
    return any(_all_of(have, part) for part in wanted.split("||"))


def _all_of(have: Version, part: str) -> bool:
    terms = list(_TERM.finditer(part))
    if not terms or re.sub(r"[\s,]", "", _TERM.sub("", part)):
        raise ValueError(f"{part.strip()!r} is no range of versions")
    return all(_holds(have, term[1] or "=", tuple(map(int, term[2].split(".")))) for term in terms)


def _holds(have: Version, operator: str, bound: Version) -> bool:
    width = max(len(have), len(bound))
    left, right = _padded(have, width), _padded(bound, width)
    if operator in ("=", "=="):
        return have[: len(bound)] == bound
    if operator == "!=":
        return have[: len(bound)] != bound
    if operator in ("^", "~", "~="):
        return left >= right and have[: _kept(operator, bound)] == bound[: _kept(operator, bound)]
    return {">=": left >= right, "<=": left <= right, ">": left > right, "<": left < right}[operator]


def _kept(operator: str, bound: Version) -> int:
    """How many leading numbers stay as they are."""
    if operator == "^":
        return next((at + 1 for at, number in enumerate(bound) if number), len(bound))
    if operator == "~":
        return min(2, len(bound))
    return max(1, len(bound) - 1)


def _padded(version: Version, width: int) -> Version:
    return version + (0,) * (width - len(version))
