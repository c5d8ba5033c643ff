"""One name for the same tool: harnesses call their shell and their file reader differently.

Tasks and verifiers speak of `terminal` and `read_file`; `canonical` says what a harness's own name means.
A name that is not in the table keeps its own name: it is never taken for a tool that it may not be.
"""

from __future__ import annotations

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
_CANONICAL = {alias: name for name, aliases in ALIASES.items() for alias in aliases}


def canonical(name: str) -> str:
    """The canonical name of a tool, or its own name where the table has none."""
    return _CANONICAL.get(name.lower(), name)
