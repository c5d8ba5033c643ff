"""What stands in a login file that must never be recorded: its values under names of credentials."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 20
_SECRET = re.compile(r"key|token|secret|passw|credential|auth|session|cookie", re.IGNORECASE)
_LINE = re.compile(r"""^\s*(?:export\s+)?["']?([\w.:/@-]+)["']?\s*[=:]\s*["']?([^"'\s]+)["']?\s*$""")


def secrets_of(path: Path) -> dict[str, str]:
    """Values of a login file by `<file>:<name>`; none where it cannot be read.

    JSON is searched at every depth, other files line by line (`name = value`, `name: value`, .netrc words).
    """
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return {}
    try:
        pairs = list(_leaves(json.loads(text), ""))
    except (ValueError, RecursionError):
        pairs = list(_lines(text))
    found: dict[str, str] = {}
    for name, value in pairs:
        label, number = f"{path.name}:{name}", 2
        while label in found and found[label] != value:
            label, number = f"{path.name}:{name}#{number}", number + 1
        found[label] = value
    return found


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _leaves(below, key if _SECRET.search(key) or not name else name)
    elif isinstance(value, list):
        for below in value:
            yield from _leaves(below, name)
    elif isinstance(value, str) and value and _SECRET.search(name):
        yield name, value


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is not None and _SECRET.search(match[1]):
            yield match[1].rpartition(":")[2] or match[1], match[2]
        words = line.split()
        for word, value in pairwise(words):
            if word == "password":  # .netrc
                yield word, value
