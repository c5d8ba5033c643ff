"""Reading small YAML files strictly: duplicate keys, aliases and YAML's surprises are named, not guessed."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from harnesses.enums import with_choices
from hemra.datasets.model import ALLOWED
from hemra.errors import UsageError

#: Bytes. A file of this kind is written by hand; a larger one is something else.
MAX_BYTES = 256 * 1024

T = TypeVar("T", bound=msgspec.Struct)


class StrictLoader(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice and every alias (aliases can blow up exponentially)."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next node. Raises YAMLError for an alias."""
        if self.check_event(yaml.AliasEvent):
            problem, mark = "an alias (*name) is not allowed here", self.current_event.start_mark
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping. Raises YAMLError for a key given twice."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                problem = f"the key {key.value!r} is given twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def read_yaml(path: Path, schema: type[T]) -> T:
    """The file's content as a `schema`.

    Raises UsageError that names the file, the field and what is wrong with it.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return parse_yaml(content, schema, str(path))


def parse_yaml(content: bytes, schema: type[T], name: str) -> T:
    """The YAML document `content` as a `schema`; `name` stands for it in errors (UsageError)."""
    if len(content) > MAX_BYTES:
        raise UsageError(
            f"{name}: {len(content)} bytes are too many for a file of this kind (at most {MAX_BYTES})"
        )
    try:
        raw = yaml.load(content.decode("utf-8"), Loader=StrictLoader)
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: is not UTF-8 (byte {error.start})") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{name}: {_yaml_problem(error)}") from error
    if not isinstance(raw, dict):
        raise UsageError(f"{name}: must be a mapping of fields, not {_kind(raw)}")
    try:
        return msgspec.convert(raw, schema)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {_schema_problem(str(error), schema)}") from error


def _kind(value: Any) -> str:
    return "empty" if value is None else f"a {type(value).__name__}"


def _yaml_problem(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return f"is not YAML: {' '.join(str(error).split())}"


def _schema_problem(message: str, schema: type) -> str:
    """msgspec's message with the field first, the choices where there are some, and a word on what YAML does to
    unquoted text."""
    text, _, place = message.partition(" - at ")
    text = with_choices(text, schema, place.strip("`"))
    if place.startswith("`key` in "):
        text, place = f"a name in it is none: {text}", place.removeprefix("`key` in ")
    if pattern := re.search(r"Expected `str` matching regex '(.*)'", text):
        allowed = ALLOWED.get(pattern[1].replace(r"\\", "\\"))
        text = text.replace(pattern[0], f"must be {allowed}") if allowed else text
    field = place.strip("`").removeprefix("$").removeprefix(".")
    found = re.search(r"[Ee]xpected `([^`]+)`, got `([^`]+)`", text)
    hint = ""
    if found and "str" in found[1] and found[2] == "bool":
        hint = " (YAML reads an unquoted yes, no, on or off as true or false: put it in quotes)"
    elif found and "str" in found[1] and found[2] in ("int", "float", "date", "datetime"):
        hint = " (YAML reads it as a number or a date: put it in quotes)"
    text = text.replace("`", "").replace("Object missing", "missing").replace("Object contains", "has an")
    return f"{field}: {text}{hint}" if field else f"{text}{hint}"
