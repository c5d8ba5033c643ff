"""Takes tools out of a request's body, and whatever names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hemra.gateway.dialects.content import as_dict, as_list, as_text

#: What says how tools may be used; without any tool providers refuse it.
_HOW = ("tool_choice", "parallel_tool_calls", "function_call")


def tool_name(tool: Any) -> str:
    """A tool's own name. One that the provider runs itself has its kind for a name."""
    definition = as_dict(tool)
    for place in (definition, as_dict(definition.get("function")), as_dict(definition.get("custom"))):
        if as_text(place.get("name")):
            return as_text(place["name"])
    return as_text(definition.get("type"))


def in_namespace(namespace: Any, name: str) -> str:
    """The name of a tool in a namespace. An MCP server's tools are called alike in all dialects:
    `mcp__server__tool`; another namespace is only the provider's way to group."""
    if isinstance(namespace, str) and namespace.startswith("mcp__"):
        return namespace.rstrip("_") + "__" + name
    return name


def take_out(body: dict[str, Any], unwanted: Callable[[str], bool]) -> list[str]:
    """Take tools out of `tools` and `functions`, in place, and a choice that forces one of them.

    A list that is empty then goes as a whole, with what said how to use it. Returns the names, each once.
    """
    removed: list[str] = []
    for field in ("tools", "functions"):
        if isinstance(body.get(field), list):
            body[field] = _left(body[field], unwanted, removed)
            if not body[field]:
                del body[field]
    if removed:
        _mend_choice(body, set(removed))
    return list(dict.fromkeys(removed))


def _left(tools: list[Any], unwanted: Callable[[str], bool], removed: list[str]) -> list[Any]:
    """The tools without the unwanted ones, whose names are added to `removed`."""
    left = []
    for tool in tools:
        definition = as_dict(tool)
        if definition.get("type") == "namespace":
            space = definition.get("name")
            inner = [
                (each, in_namespace(space, tool_name(each))) for each in as_list(definition.get("tools"))
            ]
            removed += [name for _, name in inner if unwanted(name)]
            kept = [each for each, name in inner if not unwanted(name)]
            if kept:
                left.append(definition | {"tools": kept})
        elif unwanted(tool_name(tool)):
            removed.append(tool_name(tool))
        else:
            left.append(tool)
    return left


def _mend_choice(body: dict[str, Any], removed: set[str]) -> None:
    """Without tools no choice is left; one that names a removed tool, or nothing any more, goes."""
    if not as_list(body.get("tools")) and not as_list(body.get("functions")):
        for field in _HOW:
            body.pop(field, None)
        return
    for field in ("tool_choice", "function_call"):
        choice = body.get(field)
        if not isinstance(choice, dict):
            continue
        if choice.get("type") == "allowed_tools":
            body[field] = _allowed(choice, removed)
        if body[field] is None or _chosen(choice) in removed:
            del body[field]


def _chosen(choice: dict[str, Any]) -> str:
    return in_namespace(choice.get("namespace"), tool_name(choice))


def _allowed(choice: dict[str, Any], removed: set[str]) -> dict[str, Any] | None:
    """A choice among some tools without the removed ones; null if none is left. Chat completions nest the list."""
    inner = choice.get("allowed_tools")
    holder = inner if isinstance(inner, dict) else choice
    kept = [each for each in as_list(holder.get("tools")) if _chosen(as_dict(each)) not in removed]
    if not kept:
        return None
    return choice | ({"allowed_tools": inner | {"tools": kept}} if holder is inner else {"tools": kept})
