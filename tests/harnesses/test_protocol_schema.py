"""The JSON Schema of the harness protocol: it says what the code reads and writes."""

from __future__ import annotations

import copy
import json
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harnesses.base import HarnessFile
from harnesses.mcp import McpServer
from harnesses.protocol import ProtocolHarness, ProtocolInterpreter
from harnesses.protocol_schema import protocol_schema
from tests.harnesses.adapters import bend
from tests.harnesses.trial_inputs import trial_input

ROOT = Path(__file__).parents[2]
DEFS = protocol_schema()["$defs"]
LINES: list[dict[str, Any]] = [
    {"type": "hello", "protocol": "hemra/1", "name": "a", "version": "1"},
    {"type": "message", "text": "Let me look.", "role": "assistant", "reasoning": None},
    {"type": "message", "text": [{"type": "text", "text": "parts"}]},
    {"type": "tool_call", "call": "1", "name": "terminal", "arguments": {"command": "ls"}, "turn": 1},
    {"type": "tool_result", "call": 1, "ok": None, "result": ["x"]},
    {
        "type": "usage",
        "input_tokens": 1200,
        "cache_read_tokens": 1000,
        "output_tokens": 45,
        "model": "m",
        "cost_usd": 0.5,
    },
    {"type": "log", "text": "a remark", "level": "debug"},
    {"type": "error", "kind": "quota", "text": "no credit"},
    {"type": "final", "text": "There is one file."},
]
_TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "number": (int, float)
}  # fmt: skip


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value fits a schema, for as much of JSON Schema as ours is written with; more is a KeyError."""
    checks = {
        "$ref": lambda ref: fits(value, DEFS[ref.removeprefix("#/$defs/")]),
        "oneOf": lambda parts: sum(fits(value, part) for part in parts) == 1,
        "anyOf": lambda parts: any(fits(value, part) for part in parts),
        "const": lambda only: value == only and type(value) is type(only),
        "enum": lambda choices: isinstance(value, str | None) and value in choices,
        "type": lambda kinds: any(
            _is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)
        ),
        "required": lambda names: not isinstance(value, dict) or set(names) <= set(value),
        "properties": lambda parts: (
            not isinstance(value, dict)
            or all(fits(value[name], part) for name, part in parts.items() if name in value)
        ),
        "additionalProperties": lambda part: (
            not isinstance(value, dict)
            or all(
                fits(each, part) for name, each in value.items() if name not in schema.get("properties", {})
            )
        ),
        "items": lambda part: not isinstance(value, list) or all(fits(each, part) for each in value),
        "minimum": lambda least: not _is(value, "number") or value >= least,
        "exclusiveMaximum": lambda bound: not _is(value, "number") or value < bound,
        "minLength": lambda least: not isinstance(value, str) or len(value) >= least,
        "pattern": lambda pattern: not isinstance(value, str) or re.search(pattern, value) is not None,
    }
    told = ("title", "description", "default")
    return all(checks[name](part) for name, part in schema.items() if name not in told)


def _is(value: Any, kind: str) -> bool:
    if kind == "integer":
        return isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    if isinstance(value, bool) and kind != "boolean":
        return False
    return isinstance(value, _TYPES[kind])


def is_understood(line: dict[str, Any]) -> bool:
    """Whether the reader takes a line without a word against it."""
    interpreter = ProtocolInterpreter()
    interpreter.feed("stdout", json.dumps(line).encode() + b"\n")
    _, said = interpreter.finish(0, None)
    return said.recognised == 1 and not {"bad_usage", "other_protocol", "unknown_lines"} & set(said.flags)


def test_the_published_schema_is_in_step_with_the_code() -> None:
    """Programs would be checked against a protocol that is spoken no more."""
    published = json.loads((ROOT / "docs" / "harness-protocol.schema.json").read_text(encoding="utf-8"))
    assert published == protocol_schema(), "run `make docs`"


def test_it_describes_the_task_that_is_written() -> None:
    """A program that trusts the schema would miss a field, or wait for one that never comes."""
    file = HarnessFile(name="p", kind="protocol", command="agent", model="m", settings={"a": 1})
    harness = ProtocolHarness(file, Path("/nowhere"), {})
    servers = {
        "a": McpServer(command="x", args=("y",), env={"K": "v"}),
        "b": McpServer(url="http://h/", headers={"K": "v"}, transport="sse"),
    }
    for trial in (
        trial_input(),
        trial_input(solution_dir="/s", allowed_tools=["terminal"], mcp_servers=servers),
    ):
        task = json.loads(harness.launch(trial).stdin or b"")
        assert fits(task, DEFS["task"])
        assert set(task) <= set(DEFS["task"]["properties"])
        for name in DEFS["task"]["required"]:
            assert not fits({key: value for key, value in task.items() if key != name}, DEFS["task"])


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line["type"]))
def test_every_kind_of_line_is_in_it(line: dict[str, Any]) -> None:
    """A line that HEMRA takes would be refused by a program's own check, or one that it cannot read be let through."""
    assert fits(line, DEFS["line"])
    assert is_understood(line)
    for name in DEFS[line["type"]]["required"]:
        assert not fits({key: value for key, value in line.items() if key != name}, DEFS["line"])


def test_it_has_a_line_for_everything_that_is_read() -> None:
    """A kind that was added to the reader would be missing in the schema, or the other way round."""
    kinds = {reference["$ref"].removeprefix("#/$defs/") for reference in DEFS["line"]["oneOf"]}
    assert kinds == set(ProtocolInterpreter()._readers) == {line["type"] for line in LINES}


def test_whatever_fits_is_understood() -> None:
    """A program that keeps to the schema would find lines of its own among those that nobody understood."""
    chance = random.Random(6)
    fitting = 0
    for _ in range(1500):
        line = copy.deepcopy(chance.choice(LINES))
        bend(line, chance)
        if fits(line, DEFS["line"]):
            fitting += 1
            assert is_understood(line), line
    assert fitting > 150


TYPES = ROOT / "examples" / "harnesses" / "typescript-agent" / "protocol.d.ts"


def test_the_types_of_the_example_are_those_of_the_schema() -> None:
    """A program that is checked with the types of the example would write what nobody reads, or miss a field."""
    text = TYPES.read_text(encoding="utf-8")
    task = re.findall(r"^  (\w+)\??:", text.split("export interface Task {")[1].split("\n}")[0], re.MULTILINE)
    assert task == list(DEFS["task"]["properties"])
    usage = re.findall(r"^  (\w+)\?:", text.split("export interface Usage {")[1], re.MULTILINE)
    lines = {}
    for row in re.findall(r"^  \| (.*?);?$", text, re.MULTILINE):
        fields = re.findall(r"(\w+)(\??): ", row) + (
            [(name, "?") for name in usage] if "& Usage" in row else []
        )
        lines[re.findall(r'type: "(\w+)"', row)[0]] = dict(fields)
    assert set(lines) == {reference["$ref"].removeprefix("#/$defs/") for reference in DEFS["line"]["oneOf"]}
    for kind, fields in lines.items():
        assert set(fields) == set(DEFS[kind]["properties"]), kind
        assert {name for name, mark in fields.items() if not mark} == set(DEFS[kind]["required"]), kind


def test_the_types_of_the_example_hold() -> None:
    """The example is said to be checked by the compiler; one that does not pass it teaches what is wrong."""
    if shutil.which("tsc") is None:
        pytest.skip("needs tsc, which is not installed")
    done = subprocess.run(
        ["tsc", "-p", TYPES.parent], capture_output=True, text=True, timeout=120, check=False
    )
    if "type definition file for 'node'" in done.stdout:
        pytest.skip("needs @types/node, which is not installed")
    assert done.returncode == 0, done.stdout
