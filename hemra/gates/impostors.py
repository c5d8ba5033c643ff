"""Traces of harnesses that did not do the task, however much they look as if they had."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from hemra.datasets.model import Task

#: Arguments that a call of the tool might have; `{}` is a word of the instruction.
ARGUMENTS: dict[str, tuple[dict[str, Any], ...]] = {
    "terminal": ({"command": "cat {}"}, {"command": "ls -la {}"}, {"command": "python3 {}"}),
    "read_file": ({"path": "{}"}, {"path": "{}", "offset": 1, "limit": 50}),
    "write_file": ({"path": "{}", "content": "{}"},),
    "patch": ({"path": "{}", "old_string": "{}", "new_string": "{}", "mode": "replace"},
              {"mode": "patch", "patch": "*** Begin Patch\n*** Update File: {}\n+{}\n*** End Patch"}),
    "search_files": ({"pattern": "{}", "path": ".", "file_glob": "*.py", "output_mode": "count"},),
    "execute_code": ({"code": "print('{}')"}, {"code": "x = 1; print(x)"}),
    "todo": ({"todos": [{"id": str(n), "content": "step {}", "status": "completed"} for n in range(1, 6)]},
             {"todos": [{"id": "5", "content": "{}", "status": "pending"}], "merge": True}),
    "process": ({"action": "list"}, {"action": "poll", "session_id": "1"},
                {"action": "kill", "session_id": "1"}),
    "web_search": ({"query": "{}", "limit": 5},),
    "web_extract": ({"urls": ["{}"]}, {"url": "{}"}),
    "memory": ({"action": "add", "target": "memory", "content": "{}"}, {"action": "read"}),
}  # fmt: skip
ERRORS = (
    "error: {}: no such file or directory",
    '{"success": false, "error": "{}: failed"}',
    "Traceback: {}",
)


def nop(blank: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Nothing done, and next to nothing said."""
    for final in (None, "", "  \n", "Done.", "I could not do this."):
        for recorded in (True, False):
            yield f"final {final!r}", blank | {"final": final, "tools_recorded": recorded}


def saboteur(task: Task, blank: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every allowed tool called with plausible arguments, every call an error, the answer all the right words."""
    instruction = blank["instruction"]
    words = [*dict.fromkeys(re.findall(r"`([^`\n]+)`", instruction)), "answer.txt"]
    calls = [
        {"call": f"s{number}", "name": tool, "tool": tool, "arguments": arguments, "ok": False,
         "result": _filled(ERRORS[number % len(ERRORS)], word), "turn": 1 + number // 3}
        for number, (tool, arguments, word) in enumerate(_calls(task, words))
    ]  # fmt: skip
    answers = [
        f"Done. {instruction}",
        f"All done: {', '.join(words)}. Everything is clean and correct, no errors; it exists, it does not exist; "
        "yes, no, success, fixed, created, updated, found, not found, none, 0, 1, 2, 3, 42, 100 %.",
        "\n".join(str(number) for number in range(400)),
        f"```python\n{instruction}\n```\nOK\nPASS\nAll tests passed.",
    ]
    for number, final in enumerate(answers, 1):
        for ok, recorded in ((False, True), (None, True), (False, False)):
            told = [{**call, "ok": ok} for call in calls] if recorded else []
            changes: dict[str, Any] = {"final": final, "tool_calls": told, "tools_recorded": recorded}
            yield f"answer {number}, calls ok={ok}" + ("" if recorded else ", not recorded"), blank | changes


def parrot(blank: dict[str, Any], finals: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """No work; the right answers of other seeds, alone and with the instruction's own words."""
    for final in dict.fromkeys(finals):
        for text in (final, f"{final}\n\n{blank['instruction']}"):
            for recorded in (True, False):
                changes: dict[str, Any] = {"final": text, "tool_calls": [], "tools_recorded": recorded}
                yield f"says {text[:60]!r}" + ("" if recorded else ", calls not recorded"), blank | changes


def _calls(task: Task, words: Sequence[str]) -> Iterator[tuple[str, Any, str]]:
    for tool in task.spec.allowed_tools:
        for word in words[:6]:
            for arguments in ARGUMENTS.get(tool, ({"input": "{}"},)):
                yield tool, _filled(arguments, word), word


def _filled(value: Any, word: str) -> Any:
    if isinstance(value, str):
        return value.replace("{}", word)
    if isinstance(value, dict):
        return {key: _filled(item, word) for key, item in value.items()}
    return [_filled(item, word) for item in value] if isinstance(value, list) else value
