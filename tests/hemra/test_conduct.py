"""What the engine makes of the tools that a harness has and calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from eventlog.schemas.runs import Limits
from harnesses.registry import KINDS
from hemra.datasets.toolnames import ToolNames
from hemra.engine.conduct import NONE_ALLOWED, Conduct


def conduct(kind: str, *allowed: str) -> Conduct:
    """That of a trial whose task allows these tools, with a harness of this kind."""
    task: Any = SimpleNamespace(spec=SimpleNamespace(allowed_tools=list(allowed), forbidden_tools=[]))
    return Conduct(task, Limits(), ToolNames(), getattr(cast(Any, KINDS[kind]), "tool_names", ()))


@pytest.mark.parametrize(
    ("kind", "allowed", "lacking"),
    [
        ("pi", ["todo"], True),
        ("hermes", ["todo"], False),
        ("pi", ["todo", "terminal"], False),
        ("pi", ["mcp__ledger__look"], False),
        ("pi", [], False),
        ("protocol", ["todo"], False),
    ],
)
def test_a_harness_without_any_allowed_tool_is_told(kind: str, allowed: list[str], lacking: bool) -> None:
    """A task that needs a tool which a harness never had would look like a failure of its model."""
    assert (NONE_ALLOWED in conduct(kind, *allowed).flags) == lacking
