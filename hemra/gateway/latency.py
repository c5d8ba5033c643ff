"""Makes tools slower, as a task asks: the request that carries a tool's result is held back for so long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hemra.datasets.toolnames import ToolNames
from hemra.gateway.seen import ToolResult


def held_back_ms(
    results: Iterable[ToolResult], latency_ms: Mapping[str, int], names: ToolNames
) -> int | None:
    """Milliseconds for results that came back for the first time; null where none of these tools is slowed."""
    if not latency_ms:
        return None
    found = [latency_ms.get(names.canonical(result.name)) for result in results]
    slowed = [each for each in found if each is not None]
    return sum(slowed) if slowed else None
