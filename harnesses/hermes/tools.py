"""Hermes' tools and the toolsets that it can be held to on its command line."""

from __future__ import annotations

from collections.abc import Iterable

#: Toolset -> tools, as far as tasks speak of them. Tasks and Hermes call them the same.
TOOLSETS = {
    "terminal": ("terminal", "process"),
    "file": ("read_file", "write_file", "patch", "search_files"),
    "todo": ("todo",),
    "code_execution": ("execute_code",),
    "memory": ("memory",),
    "session_search": ("session_search",),
    "web": ("web_search", "web_extract"),
    "skills": ("skills_list", "skill_view", "skill_manage"),
    "delegation": ("delegate_task",),
    "vision": ("vision_analyze",),
    "image_gen": ("image_generate",),
    "clarify": ("clarify",),
}
#: The toolset that stands for exactly the tools of a trial.
EXACT = "hemra"
#: A toolset without a tool: without any name Hermes takes its own choice.
NONE = "context_engine"

TOOL_NAMES = {tool: (tool,) for tools in TOOLSETS.values() for tool in tools}


def toolsets_with(tools: Iterable[str]) -> list[str]:
    """The toolsets that hold these tools: whatever else is in them comes with them."""
    wanted = set(tools)
    return [name for name, tools_of in TOOLSETS.items() if wanted & set(tools_of)] or [NONE]
