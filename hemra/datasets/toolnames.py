"""One name for the same tool: harnesses call their shell and their file reader differently.

Tasks and verifiers speak of `terminal` and `read_file`; `ToolNames.canonical` says what a harness's own name means.
A name that is not in the table keeps its own name: it is never taken for a tool that it may not be.

A tool of an MCP server is `mcp__SERVER__TOOL`, whatever is no letter, digit or `_` in either of them as `_`. Harnesses
say `mcp__server__tool`, `mcp_server_tool`, `server__tool`, `server_tool`, `server.tool`: to tell what is the server's
name, that has to be known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Canonical name -> names that harnesses use for it (lower case).
ALIASES = {
    "terminal": (
        "bash",
        "shell",
        "sh",
        "exec",
        "exec_command",
        "execute_command",
        "command_execution",
        "local_shell",
        "run_command",
        "run_shell_command",
        "run_terminal_cmd",
    ),
    "read_file": ("read", "view", "view_file", "open_file", "read_text_file", "fs/read_text_file"),
    "write_file": ("write", "create_file", "write_to_file", "write_text_file", "fs/write_text_file"),
    "patch": ("edit", "multiedit", "apply_patch", "str_replace", "replace_in_file", "edit_file"),
    "search_files": ("grep", "glob", "search", "find_files", "grep_search", "file_search", "search_text"),
    "execute_code": ("python", "run_python", "code_interpreter", "code_execution"),
}
#: Tools that harnesses have of their own and call alike: no tool of a server whose name theirs begins with.
OWN = frozenset(
    (
        "web_search", "web_extract", "web_fetch", "session_search", "skills_list", "skill_view", "skill_manage",
        "delegate_task", "vision_analyze", "image_generate", "todo_write", "update_plan", "write_todos",
        "write_stdin", "process", "clarify", "todo", "memory",
    )
)  # fmt: skip
_CANONICAL = {alias: name for name, aliases in ALIASES.items() for alias in aliases}
_MCP = re.compile(r"mcp__(.+?)__(.+)", re.DOTALL)


def plain(name: str) -> str:
    """A name as all harnesses can spell it: whatever is no letter, digit or `_` becomes `_`."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def mcp_prefix(server: str) -> str:
    """How the canonical names of a server's tools begin."""
    return f"mcp__{plain(server)}__"


def is_of_server(name: str) -> bool:
    """Whether a canonical name is one of an MCP server's tool."""
    return _MCP.fullmatch(name) is not None


class ToolNames:
    """What the tools of one trial are called. `servers` are the names of the MCP servers that it was given."""

    def __init__(self, servers: Iterable[str] = ()) -> None:
        # Longest first: with `git` and `git_hub`, `git_hub_search` is a tool of the latter.
        known = sorted({plain(server) for server in servers}, key=lambda name: (-len(name), name))
        self._servers = [
            (mcp_prefix(name), re.compile(rf"(?:mcp_+)?{name}_+(.+)", re.DOTALL)) for name in known
        ]

    def canonical(self, name: str) -> str:
        """The canonical name of a tool, or its own name where nothing is known of it."""
        lower = name.lower()
        if lower in _CANONICAL:
            return _CANONICAL[lower]
        if lower in ALIASES or lower in OWN:
            return name
        spelt = plain(name)
        for prefix, form in self._servers:
            if found := form.fullmatch(spelt):
                return prefix + found[1]
        if found := _MCP.fullmatch(name):
            return mcp_prefix(found[1]) + plain(found[2])
        return name


canonical = ToolNames().canonical
