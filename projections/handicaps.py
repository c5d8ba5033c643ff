"""What a harness lacked in trials that failed: a failure that says nothing about its model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

#: flag of a trial -> what was lacking.
HANDICAPS = {
    "no_allowed_tool": "the harness has none of the tools that the task allows",
    "mcp_not_offered": "the model was offered no tool of an MCP server of the task",
    "no_model_calls": "the model was asked for nothing through the gateway",
}


def handicaps(trials: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """(harness, sentence) for each flag of failed trials of a harness. `trials` are rows of the table `trials`."""
    found = Counter(
        (trial["harness"], flag)
        for trial in trials
        if trial["result"] == "failed"
        for flag in trial["flags"] or []
        if flag in HANDICAPS
    )
    return [
        (
            harness,
            f"in {count} failed {'trial' if count == 1 else 'trials'} {HANDICAPS[flag]} ({flag}); that says nothing "
            "about the model.",
        )
        for (harness, flag), count in sorted(found.items())
    ]
