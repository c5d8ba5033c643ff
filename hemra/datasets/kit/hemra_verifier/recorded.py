"""What the trace tells: the final answer, the calls that worked, and what they showed."""

import json
import re
from collections.abc import Mapping
from typing import Any

from .plaintext import as_text, folded, plain
from .values import states


def answer(trace: Mapping[str, Any]) -> str:
    """The final answer, `plain`; paths below the workspace are relative to it. Empty without one."""
    return _local(plain(trace.get("final")), trace)


def _local(text: str, trace: Mapping[str, Any]) -> str:
    place = trace.get("workspace")
    if not isinstance(place, str) or len(place) < 2:
        return text
    return re.sub(rf"(?<![\w./-]){re.escape(folded(place.rstrip('/')))}/(?=[\w.])", "", text)


def calls(trace: Mapping[str, Any], *tools: str, ok: "bool | None" = True) -> "list[dict[str, Any]]":
    """The recorded calls of these tools (none named: of all), in order, by canonical or own name.

    `ok` True: those that worked (not said to have failed, and something came back); False: the others; None: all.
    """
    found = []
    for call in trace.get("tool_calls") or []:
        worked = call.get("ok") is not False and call.get("result") is not None
        named = not tools or call.get("tool") in tools or call.get("name") in tools
        if named and (ok is None or worked is ok):
            found.append(call)
    return found


def showed(trace: Mapping[str, Any], value: Any, *tools: str) -> bool:
    """Whether the result of a call of these tools that worked holds the value."""
    return any(states(_local(folded(as_text(call["result"])), trace), value) for call in calls(trace, *tools))


def loaded(value: Any) -> Any:
    """What a JSON text stands for; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def refused(result: Any, unknown: str) -> bool:
    """Whether what came back is an error, though nobody said that the call failed. `unknown` is the text by which a
    harness tells that it has no such thing."""
    result = loaded(result)
    if isinstance(result, dict):
        said = result.get("status")
        return bool(result.get("error")) or result.get("success") is False or said in ("error", "failed")
    words = rf"\s*(?:error|failed|failure|traceback|exception|{re.escape(unknown)}|invalid)\b"
    return isinstance(result, str) and re.match(words, result, re.IGNORECASE) is not None
