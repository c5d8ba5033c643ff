"""Laying values into the fields of a JSON schema that somebody else named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What a value is, and the fields that hold such a value in the tools of the harnesses, best first.
FIELDS: dict[str, tuple[str, ...]] = {
    "command": ("command", "cmd", "script", "commands"),
    "path": ("path", "file_path", "filePath", "filename", "file", "target_file", "absolute_path", "dir_path"),
    "content": ("content", "contents", "step", "text", "title", "task", "file_text"),
    "old": ("old_string", "oldString", "oldText", "old_str", "old_text", "old"),
    "new": ("new_string", "newString", "newText", "new_str", "new_text", "new"),
    "offset": ("offset", "start_line", "line_start"),
    "limit": ("limit", "line_limit", "n_lines"),
    "patch": ("patch", "input", "patch_text", "patchText", "diff"),
    "pattern": ("pattern", "query", "regex"),
    "status": ("status", "state"),
    "code": ("code", "script", "source"),
}


def schema_of(given: Any) -> Mapping[str, Any]:
    """The schema that a tool came with; an empty one where it is none."""
    return given if isinstance(given, Mapping) else {}


def properties(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The fields of an object schema, each with its own schema; empty for any other."""
    listed = schema.get("properties")
    if not isinstance(listed, Mapping):
        return {}
    return {str(name): part if isinstance(part, Mapping) else {} for name, part in listed.items()}


def arrays(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The fields that are lists, each with the schema of an item."""
    return {
        name: part["items"]
        for name, part in properties(schema).items()
        if part.get("type") == "array" and isinstance(part.get("items"), Mapping)
    }


def laid_out(schema: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values under the names that the schema has for them; what it has no field for is left out."""
    known = properties(schema)
    found = {}
    for meaning, value in values.items():
        name = next((name for name in FIELDS.get(meaning, (meaning,)) if name in known), None)
        if name is not None:
            found[name] = value
    return found


def fill(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given fields, and something that fits for every other field that is required."""
    known = properties(schema)
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    return dict(given) | {
        name: example(known.get(name, {}), name) for name in map(str, names) if name not in given
    }


def example(schema: Mapping[str, Any], name: str = "value") -> Any:
    """A value that fits a schema: its default, its first choice, or the smallest of its type."""
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return "medium" if "medium" in choices else choices[0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    if kind == "object":
        return fill(schema, {})
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    plain: dict[str, Any] = {"boolean": False, "array": [], "null": None}
    return plain.get(str(kind), f"the {name.replace('_', ' ')} of this step")
