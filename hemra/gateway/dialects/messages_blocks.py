"""The content blocks of Anthropic's messages: what an assistant's say, in requests and in answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from hemra.gateway.dialects.content import as_text, content, function_call, unmarked
from hemra.gateway.normal import Message, ToolCall

#: Blocks that call a tool: the harness's own, one of the provider's, one of an MCP server that the provider asks.
CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


class Blocks(msgspec.Struct):
    """An assistant's content by what it is. `parts` holds all but thoughts, calls and results, as it came."""

    parts: list[Any] = msgspec.field(default_factory=list)
    thoughts: list[str] = msgspec.field(default_factory=list)
    sealed: list[Any] = msgspec.field(default_factory=list)
    calls: list[ToolCall] = msgspec.field(default_factory=list)
    results: list[Message] = msgspec.field(default_factory=list)

    @property
    def reasoning(self) -> Any:
        """The thoughts as a text, else the blocks that only the provider can read, else null."""
        return "".join(self.thoughts) or self.sealed or None


def is_result(block: dict[str, Any]) -> bool:
    """Whether a block is what a tool gave back, the harness's or the provider's own."""
    return as_text(block.get("type")).endswith("tool_result") and "tool_use_id" in block


def result(block: dict[str, Any]) -> Message:
    """A result as a message. Whether it worked is known only where the block says so."""
    failed = block.get("is_error")
    return Message(
        role="tool",
        text=content(block.get("content")),
        answers=as_text(block.get("tool_use_id")),
        ok=not failed if isinstance(failed, bool) else None,
    )


def sorted_blocks(blocks: Iterable[Any]) -> Blocks:
    """Take an assistant's content apart."""
    found = Blocks()
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(block, dict):
            found.parts.append(block)
        elif kind == "thinking":
            found.thoughts.append(as_text(block.get("thinking")))
        elif kind == "redacted_thinking":
            found.sealed.append(unmarked(block))
        elif kind in CALLS:
            found.calls.append(function_call(block.get("id"), block.get("name"), block.get("input")))
        elif is_result(block):
            found.results.append(result(block))
        else:
            found.parts.append(block)
    return found
