"""What a tool gave back, without what the harness wraps around it for the model."""

from __future__ import annotations

import json
import re

_CODEX = re.compile(
    r"\A(?:.*\n)*?(?:Wall time: .*|Exit code: .*)\n(?:.*\n)*?(?:Output|Output:):?\n(?P<said>.*)\Z", re.DOTALL
)
_MINI = re.compile(r"<returncode>-?\d+</returncode>\s*<output>\n?(?P<said>.*?)\n?</output>", re.DOTALL)
_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
_NOTHING = re.compile(r"\A\s*\((?:\w+ )?(?:no output|completed with no output)\)\s*\Z", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s*(?:<\w+>)?\s*(\d+)(?:→|\t|\||: ?)(.*)$")
_KEYS = ("output", "content", "stdout", "result", "text", "files", "matches")


def plain(result: str) -> str:
    """The output of a command or the text of a file, as it was before the harness laid it out."""
    text = _REMINDER.sub("", _unwrapped(result))
    for form in (_CODEX, _MINI):
        if found := form.search(text):
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
    found = [match for line in lines if (match := _NUMBERED.match(line))]
    numbers = [int(match[1]) for match in found]
    if (
        not found
        or len(found) * 2 < len(lines)
        or numbers != list(range(numbers[0], numbers[0] + len(found)))
    ):
        return text
    return (
        "\n".join(match[2].removeprefix(" ") if ": " in match[0][:8] else match[2] for match in found) + "\n"
    )
