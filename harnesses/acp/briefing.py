"""What a client of ACP has to know of a trial before it says its first word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harnesses.base import Launch, TrialInput
from harnesses.mcp import McpServer

#: What an agent may take from its start until it is given its task. Some unpack themselves first. Seconds.
HANDSHAKE_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Briefing:
    """One trial, for the client.

    `mode` and `model` are to be chosen in the session by the names that the agent lists. `meta` is the `_meta` of
    `session/new`, which each agent reads in its own way. `tools`: what tasks call a tool -> what the agent calls it.
    `patience` is in seconds. `sums`: whether the usage in its last reply is that of the whole turn.
    """

    instruction: str
    workspace: str
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    mode: str | None = None
    model: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    allowed: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    patience: float = HANDSHAKE_SECONDS
    sums: bool = True


def briefing_of(launch: Launch) -> Briefing:
    """The briefing that a launch carries. Raises TypeError for a launch of another kind of harness."""
    if not isinstance(launch.briefing, Briefing):
        raise TypeError(f"a client of ACP is briefed by its own adapter, not by {launch.briefing!r}")
    return launch.briefing


def brief(trial: TrialInput, servers: Mapping[str, McpServer], **more: Any) -> Briefing:
    """The briefing for a trial. An agent that does not even begin is told from a task that took too long: it has half
    of the trial's time for that at most."""
    wall = trial.limits.wall_seconds
    return Briefing(
        # JSON holds no lone surrogates, and neither do the agents' own readers.
        instruction=trial.instruction.encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
        workspace=trial.workspace,
        servers=servers,
        allowed=frozenset(trial.allowed_tools),
        forbidden=frozenset(trial.forbidden_tools),
        patience=HANDSHAKE_SECONDS if wall is None else min(HANDSHAKE_SECONDS, wall / 2),
        **more,
    )
