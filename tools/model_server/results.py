"""What a tool gave back, without what the harness wraps around it for the model."""

from __future__ import annotations

import json
import re

#: At most a few lines of facts, one of them on the time, before the output.
_CODEX = re.compile(
    r"\A(?=(?:[^\n]*\n){0,6}?Wall time: )(?:[^\n]*\n){1,8}?(?:Total output lines: \d+\n+)?Output:\n(?P<said>.*)\Z",
    re.DOTALL,
)
_MINI = re.compile(r"<returncode>-?\d+</returncode>\s*<output>\n?(?P<said>.*?)\n?</output>", re.DOTALL)
#: A reader that puts the file between tags, with a remark on its end.
_WRAPPED = re.compile(r"<(?P<tag>content|file)>\n(?P<said>.*?)(?:\n+\([^\n]*\))?\n</(?P=tag)>", re.DOTALL)
_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
_NOTHING = re.compile(r"\A\s*\((?:\w+ )?(?:no output|completed with no output)\)\s*\Z", re.IGNORECASE)
#: `     1→text`, `1<tab>text`, `1|text`, `00001| text` and `1: text`.
_NUMBERED = re.compile(r"\s*(?:(\d+)(?:→|\t)|(\d{5,})\| |(\d+)\||(\d+): )(.*)")
_KEYS = ("output", "content", "stdout", "result", "text", "files", "matches")


def plain(result: str) -> str:
    """The output of a command or the text of a file, as it was before the harness laid it out."""
    text = _REMINDER.sub("", _unwrapped(result))
    for form in (_CODEX, _MINI):
        if found := form.search(text):
            text = found["said"]
    if found := _WRAPPED.search(text):
        text = found["said"]
    if _NOTHING.match(text):
        return ""
    return _without_numbers(text)


def _unwrapped(result: str) -> str:
    """The text in a JSON object (Hermes answers every call with one)."""
    if not result.lstrip().startswith("{"):
        return result
    try:
        loaded = json.loads(result)
    except ValueError:
        return result
    for key in _KEYS:
        value = loaded.get(key) if isinstance(loaded, dict) else None
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return "\n".join(_listed(each) for each in value)
    return result


def _listed(each: object) -> str:
    if isinstance(each, dict):
        return str(each.get("path") or each.get("file") or json.dumps(each, ensure_ascii=False))
    return str(each)


def _without_numbers(text: str) -> str:
    """Lines without the numbers in front, where a reader numbers them one after the other."""
    lines = text.split("\n")
    found = [match for line in lines if (match := _NUMBERED.fullmatch(line))]
    numbers = [int(next(filter(None, match.groups()[:4]))) for match in found]
    follow = numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else False
    if not follow or len(found) * 2 < len(lines):
        return text
    return "\n".join(match[5] for match in found) + "\n"
