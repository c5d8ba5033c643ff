"""Todo lists as the tools of several harnesses write and give them back."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .plaintext import plain
from .recorded import calls, loaded, refused

TOOLS = ("todo", "TodoWrite", "todowrite", "todo_write", "write_todos", "update_plan", "manage_todo_list")
#: {"id", "content", "status"} of one item, each a text.
Item = dict[str, str]
_LISTS = ("todos", "newTodos", "plan", "items", "tasks", "todoList")
_WRAPPERS = ("result", "output", "content", "text", "data")
_CONTENT = ("content", "step", "task", "title", "text", "description")
_STATUS = {
    "": "pending",
    "todo": "pending",
    "not_started": "pending",
    "doing": "in_progress",
    "started": "in_progress",
    "active": "in_progress",
    "inprogress": "in_progress",
    "done": "completed",
    "complete": "completed",
}
_DEPTH = 6


def history(trace: "Mapping[str, Any]") -> "list[tuple[int, dict[str, Any], list[Item]]]":
    """The list after every successful writing call: [(place among all calls, call, list)].

    Where the tool gives the list back, that is what counts; else it is worked out from what was sent.
    """
    worked, now = calls(trace, *TOOLS), list[Item]()
    found = []
    for place, call in enumerate(trace.get("tool_calls") or []):
        written = call in worked and not refused(call["result"], "unknown tool")
        sent = _entries(call["arguments"]) if written else None
        if sent is None:
            continue
        shown = _entries(call["result"])
        now = shown if shown is not None else _merged(now, sent) if merges(call) else sent
        found.append((place, call, now))
    return found


def merges(call: "Mapping[str, Any]") -> bool:
    """Whether the call asks to change the list instead of writing it anew."""
    arguments = loaded(call["arguments"])
    return isinstance(arguments, dict) and str(arguments.get("merge")).lower() == "true"


def _entries(value: Any, depth: int = 0) -> "list[Item] | None":
    """The todo list in arguments or in a result; None where there is none."""
    value = loaded(value)
    if isinstance(value, dict) and depth < _DEPTH:
        key = next((key for key in (*_LISTS, *_WRAPPERS) if key in value), None)
        return None if key is None else _entries(value[key], depth + 1)
    if not isinstance(value, list):
        return None
    if value and all(isinstance(part, dict) and part.get("type") == "text" for part in value):
        return _entries("".join(str(part.get("text", "")) for part in value), depth + 1)
    return [_entry(each) for each in value]


def _entry(each: Any) -> Item:
    """One item of a list in the one form."""
    each = each if isinstance(each, dict) else {"content": each}
    content = next((str(each[key]) for key in _CONTENT if each.get(key)), "")
    status = re.sub(r"[\s-]+", "_", str(each.get("status") or "").strip().lower())
    return {"id": str(each.get("id") or ""), "content": plain(content), "status": _STATUS.get(status, status)}


def _merged(before: "Sequence[Item]", sent: "Sequence[Item]") -> "list[Item]":
    """The list after a merging call: known ids are changed, new ones come at the end."""
    after = [dict(item) for item in before]
    for new in sent:
        old = next((item for item in after if item["id"] == new["id"]), None)
        if old is None:
            after.append(dict(new))
        else:
            old.update({key: value for key, value in new.items() if value})
    return after
