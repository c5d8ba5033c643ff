"""From what is to be done to the call that does it: every harness has its own tools, names and fields.

An action (`terminal`, `read_file`, …) is looked up among the tools that a request offers, by name, and the
arguments are laid into the fields of the tool's own schema. So a new version of a harness that renames a field
needs no change here, and a harness without the tool is served by its shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .exchange import Call, Offered, compact
from .schemas import arrays, fill, laid_out, properties
from .v4a import replacing


@dataclass(frozen=True)
class Action:
    """Something to do: `kind` names it, `given` holds its values. `changes`: it alters the workspace."""

    kind: str
    given: Mapping[str, Any]
    changes: bool = False


#: What tools are called, best first; compared without case and without the prefix of an MCP server.
NAMES: dict[str, tuple[str, ...]] = {
    "terminal": (
        "terminal", "bash", "exec_command", "shell_command", "shell", "local_shell", "run_shell_command",
        "execute_command", "run_command", "run_terminal_cmd", "exec",
    ),
    "read_file": ("read_file", "read", "view", "view_file", "open_file", "read_text_file"),
    "write_file": ("write_file", "write", "create_file", "write_text_file"),
    "patch": ("patch", "edit", "edit_file", "str_replace", "replace"),
    "v4a": ("apply_patch", "patch"),
    "search_text": ("search_files", "grep", "search_text", "search"),
    "todo": ("todo", "todowrite", "todo_write", "update_plan", "write_todos", "manage_todo_list"),
    "execute_code": ("execute_code", "code_execution", "code_interpreter", "run_code", "python", "ipython"),
}  # fmt: skip

Maker = Callable[[Offered, Mapping[str, Any]], Call | None]


def bare(name: str) -> str:
    """A tool's own name: `mcp__server__tool` is `tool`."""
    return re.sub(r"^mcp__.+?__", "", name).lower()


def find(tools: Sequence[Offered], names: Sequence[str]) -> Offered | None:
    """The offered tool that comes first in `names`."""
    by_name = {bare(tool.name): tool for tool in reversed(tools)}
    return next((by_name[name.lower()] for name in names if name.lower() in by_name), None)


def call_for(action: Action, tools: Sequence[Offered]) -> Call | None:
    """The call that carries the action out with the tools offered; None where none of them can."""
    for name in NAMES[action.kind]:
        tool = find(tools, (name,))
        call = ACTIONS[action.kind](tool, action.given) if tool else None
        if call:
            return call
    if action.kind not in _SHELL:
        return None
    return call_for(Action("terminal", {"command": _SHELL[action.kind](action.given)}), tools)


def offers(kind: str, tools: Sequence[Offered]) -> bool:
    """Whether a tool is offered that is made for this action, and not only a shell that can do it too."""
    return any(ACTIONS[kind](tool, _SAMPLES[kind]) for name in NAMES[kind] if (tool := find(tools, (name,))))


def _function(tool: Offered, arguments: Mapping[str, Any]) -> Call:
    return Call(tool.name, compact(fill(tool.parameters, arguments)), "function", tool.namespace)


def _terminal(tool: Offered, given: Mapping[str, Any]) -> Call | None:
    if tool.kind != "function":
        return None
    known = properties(tool.parameters)
    arguments = laid_out(tool.parameters, {"command": given["command"]})
    if not arguments:
        return Call(tool.name, compact({"command": given["command"]}), "function", tool.namespace)
    (name,) = arguments
    if known[name].get("type") == "array":
        arguments[name] = ["bash", "-lc", given["command"]]
    if "yield_time_ms" in known:
        arguments["yield_time_ms"] = 30_000  # a slow machine must not turn a result into a session
    return _function(tool, arguments)


def _plain(*wanted: str) -> Maker:
    """A tool that takes these values, all of which its schema must know."""

    def make(tool: Offered, given: Mapping[str, Any]) -> Call | None:
        present = {key: value for key, value in given.items() if value is not None}
        arguments = laid_out(tool.parameters, present)
        known = laid_out(tool.parameters, {key: given.get(key) for key in wanted})
        if tool.kind != "function" or len(known) < len(wanted):
            return None
        return _function(tool, arguments)

    return make


def _patch(tool: Offered, given: Mapping[str, Any]) -> Call | None:
    if tool.kind != "function":
        return None
    edit = {"old": given["old"], "new": given["new"]}
    whole = laid_out(tool.parameters, {"path": given["path"], **edit})
    if len(whole) == 3:
        mode = {"mode": "replace"} if "mode" in properties(tool.parameters) else {}
        return _function(tool, mode | whole)
    for name, item in arrays(tool.parameters).items():
        inner = laid_out(item, edit)
        if len(inner) == 2:
            return _function(tool, laid_out(tool.parameters, {"path": given["path"]}) | {name: [inner]})
    return None


def _v4a(tool: Offered, given: Mapping[str, Any]) -> Call | None:
    if tool.kind == "custom":
        return Call(tool.name, given["patch"], "custom", tool.namespace)
    arguments = laid_out(tool.parameters, {"patch": given["patch"]})
    if not arguments:
        return None
    mode = {"mode": "patch"} if "mode" in properties(tool.parameters) else {}
    return _function(tool, mode | arguments)


def _search(tool: Offered, given: Mapping[str, Any]) -> Call | None:
    arguments = laid_out(tool.parameters, {"pattern": given["pattern"], "path": "."})
    if tool.kind != "function" or "pattern" not in arguments:
        return None
    modes = str(properties(tool.parameters).get("output_mode", {}).get("enum"))
    mode = next((mode for mode in ("files_only", "files_with_matches") if repr(mode) in modes), None)
    return _function(tool, arguments | ({"output_mode": mode} if mode else {}))


def _todo(tool: Offered, given: Mapping[str, Any]) -> Call | None:
    if tool.kind != "function":
        return None
    for name, item in arrays(tool.parameters).items():
        entries = []
        for number, content in enumerate(given["items"], 1):
            entry = laid_out(item, {"content": content, "status": "pending"})
            if not any(value == content for value in entry.values()):
                break
            identity = {"id": str(number)} if "id" in properties(item) else {}
            form = {"activeForm": content} if "activeForm" in properties(item) else {}
            entries.append(fill(item, identity | entry | form))
        if len(entries) == len(given["items"]):
            return _function(tool, {name: entries})
    return None


ACTIONS: dict[str, Maker] = {
    "terminal": _terminal,
    "read_file": _plain("path"),
    "write_file": _plain("path", "content"),
    "patch": _patch,
    "v4a": _v4a,
    "search_text": _search,
    "todo": _todo,
    "execute_code": _plain("code"),
}

_SAMPLES: dict[str, Mapping[str, Any]] = {
    "terminal": {"command": "true"},
    "read_file": {"path": "x"},
    "write_file": {"path": "x", "content": "x"},
    "patch": {"path": "x", "old": "x", "new": "x"},
    "v4a": {"patch": "x"},
    "search_text": {"pattern": "x"},
    "todo": {"items": ["x"]},
    "execute_code": {"code": "x"},
}


def _read_by_shell(given: Mapping[str, Any]) -> str:
    path, first, limit = shlex.quote(given["path"]), given.get("offset") or 1, given.get("limit")
    if first == 1 and limit is None:
        return f"cat {path}"
    return f"sed -n '{first},{'$' if limit is None else first + limit - 1}p' {path}"


def _replace_by_shell(given: Mapping[str, Any]) -> str:
    path, old, new = given["path"], given["old"], given["new"]
    code = replacing(path, old, new)
    return f"python3 - <<'PYTHON'\n{code}\nPYTHON"


#: How a shell does what there is no tool for; an action that is not here cannot be done by a shell.
_SHELL: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "read_file": _read_by_shell,
    "write_file": lambda g: f"printf '%s' {shlex.quote(g['content'])} > {shlex.quote(g['path'])}",
    "patch": _replace_by_shell,
    "v4a": lambda g: f"apply_patch <<'PATCH'\n{g['patch']}\nPATCH",
    "search_text": lambda g: f"grep -rlE -e {shlex.quote(g['pattern'])} .",
    "execute_code": lambda g: f"python3 - <<'PYTHON'\n{g['code']}\nPYTHON",
}
