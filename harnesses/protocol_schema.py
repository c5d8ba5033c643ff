"""The harness protocol as a JSON Schema: what a program reads from stdin, and the lines that it may write.

It is for whoever writes a program; HEMRA itself takes more than this (see docs/harness-protocol.md). Names and limits
are those of the code that reads and writes the protocol, so that the two cannot differ.
"""

from __future__ import annotations

from typing import Any

import msgspec

from eventlog.schemas.runs import Limits
from harnesses.protocol import ERRORS, LEVELS, PROTOCOL
from harnesses.usage import COUNTS, MOST

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: dict[str, Any] = {"type": "string"}
_TOOLS: dict[str, Any] = {"type": "array", "items": _TEXT}
_CALL = {
    "type": ["string", "integer"],
    "minLength": 1,
    "description": "The id of a call, of the program's choice; its result has the same.",
}


def protocol_schema() -> dict[str, Any]:
    """The JSON Schema; `$defs` has `task`, `line` (any of the lines), and each line by its type."""
    (_, parts) = msgspec.json.schema_components([Limits], ref_template="#/$defs/{name}")
    lines = _conversation() | _remarks()
    return {
        "$schema": DIALECT,
        "title": f"The HEMRA harness protocol {PROTOCOL}",
        "description": "`task` is the one object on stdin, `line` is each line on stdout.",
        "$defs": {
            "task": _task(),
            "mcp_server": _mcp_server(),
            "line": {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in lines]},
            **lines,
            **parts,
        },
    }


def _said(text: str, **schema: Any) -> dict[str, Any]:
    return {**schema, "description": text}


def _task() -> dict[str, Any]:
    fields = {
        "protocol": {"const": PROTOCOL},
        **dict.fromkeys(("run", "trial", "task"), _said("An id; do not take it apart.", **_TEXT)),
        "instruction": _said("What is to be done.", **_TEXT),
        "workspace": _said("Where it is to be done; the program is started there.", **_TEXT),
        "home": _said("A fresh HOME of this trial.", **_TEXT),
        "seed": _said("For whatever is drawn at random.", type="integer"),
        "attempt": _said("From 1.", type="integer", minimum=1),
        "limits": _said("null = no limit.", **{"$ref": "#/$defs/Limits"}),
        "allowed_tools": _said("Canonical names; an empty list restricts nothing.", **_TOOLS),
        "forbidden_tools": _said("Canonical names.", **_TOOLS),
        "model": _said("`model` of the harness file.", type=["string", "null"]),
        "settings": _said("`settings` of the harness file, as they are.", type="object"),
        "mcp_servers": _said(
            "MCP servers that the task brings, by name.",
            type="object",
            additionalProperties={"$ref": "#/$defs/mcp_server"},
        ),
        "solution_dir": _said("Only for the harness `oracle`.", **_TEXT),
    }
    required = [name for name in fields if name != "solution_dir"]
    return {"type": "object", "properties": fields, "required": required}


def _mcp_server() -> dict[str, Any]:
    """A server by its command or by its URL."""
    values = {"type": "object", "additionalProperties": _TEXT}
    return {
        "oneOf": [
            {
                "type": "object",
                "properties": {
                    "type": {"const": "stdio"},
                    "command": _said("The program, to be started in the workspace.", **_TEXT),
                    "args": {"type": "array", "items": _TEXT},
                    "env": values,
                },
                "required": ["type", "command", "args", "env"],
            },
            {
                "type": "object",
                "properties": {"type": {"enum": ["http", "sse"]}, "url": _TEXT, "headers": values},
                "required": ["type", "url", "headers"],
            },
        ]
    }


def _conversation() -> dict[str, Any]:
    """The lines that tell what is said and done."""
    return {
        "hello": _line(
            "hello",
            "Said first, before the task is read.",
            {"protocol": {"const": PROTOCOL}, "name": _TEXT, "version": _TEXT},
            required=("protocol",),
        ),
        "message": _line(
            "message",
            "A message of the conversation; an assistant's begins a turn.",
            {
                "role": _said(
                    "assistant where it is left out.", enum=["assistant", "user", "system", "tool"]
                ),
                "text": _said(
                    "The text, or any other content but null.",
                    type=["string", "number", "boolean", "array", "object"],
                ),
                "reasoning": _said("What was thought before it; any JSON."),
            },
            required=("text",),
        ),
        "tool_call": _line(
            "tool_call",
            "A tool is called now.",
            {
                "call": _CALL,
                "name": _said("Best the canonical one of the task.", **_TEXT),
                "arguments": _said("Any JSON."),
                "turn": _said("Assistant turns, from 1.", type="integer", minimum=1, exclusiveMaximum=MOST),
            },
            required=("call", "name", "arguments"),
        ),
        "tool_result": _line(
            "tool_result",
            "What a tool gave back.",
            {
                "call": _CALL,
                "ok": _said("null where that cannot be told.", type=["boolean", "null"]),
                "result": _said("Any JSON."),
            },
            required=("call", "ok", "result"),
        ),
    }


def _remarks() -> dict[str, Any]:
    """The lines that tell what it cost, what else there is to say, and how it ended."""
    count = {"type": "integer", "minimum": 0, "exclusiveMaximum": MOST}
    return {
        "usage": _line(
            "usage",
            "Tokens of one model call. What is not known is left out; `input_tokens` includes cached ones.",
            {
                **dict.fromkeys(COUNTS, count),
                "cost_usd": {"type": "number", "minimum": 0, "exclusiveMaximum": MOST},
                "model": {"type": ["string", "null"]},
            },
            any_of=(*COUNTS, "cost_usd"),
        ),
        "log": _line(
            "log",
            "A remark for whoever reads the record.",
            {"text": _TEXT, "level": _said("info where it is left out.", enum=list(LEVELS))},
            required=("text",),
        ),
        "error": _line(
            "error",
            "Why the work cannot go on, in the place of `final`.",
            {"kind": {"enum": list(ERRORS)}, "text": _TEXT},
            required=("kind", "text"),
        ),
        "final": _line(
            "final", "The answer; said once, last.", {"text": _TEXT}, required=("text",)
        ),
    }  # fmt: skip


def _line(
    kind: str,
    text: str,
    fields: dict[str, Any],
    *,
    required: tuple[str, ...] = (),
    any_of: tuple[str, ...] = (),
) -> dict[str, Any]:
    told: dict[str, Any] = {
        "type": "object",
        "description": text,
        "properties": {"type": {"const": kind}, **fields},
        "required": ["type", *required],
    }
    if any_of:
        told["anyOf"] = [{"required": [name]} for name in any_of]
    return told
