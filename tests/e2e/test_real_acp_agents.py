"""The real agents over ACP, installed at their pinned versions, through `hemra run`: a model that solves, one that does
not, and an endpoint that refuses. In bubblewrap with nothing but the gateway, and skipped by name where not installed.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from harnesses.registry import KINDS
from tests.e2e import test_task_mcp
from tests.e2e.conftest import Command
from tests.e2e.test_real_agents import (
    CODE,
    KEY,
    TODO,
    Agent,
    assert_usage,
    each,
    endpoint,
    needed,
    run_suite,
    saboteur,
    solver,
    told,
)
from tests.e2e.test_task_mcp import HTTP, STDIO, TASKS, run_tasks
from tools.harness_faults.search import holding
from tools.model_server.server import ModelServer

__all__ = ["endpoint", "ledger"]
ledger = test_task_mcp.endpoint
pytestmark = [pytest.mark.e2e, pytest.mark.needs("bwrap"), pytest.mark.timeout(1200)]

AGENTS = (
    Agent("hermes-acp", "chat"),
    Agent("claude-agent-acp", "messages", (TODO, CODE)),
    Agent("codex-acp", "responses", (TODO, CODE)),
    Agent("pi-acp", "chat", (TODO, CODE), torture=True),
    Agent("opencode-acp", "chat", (CODE,), torture=True),
)
every_agent = each(AGENTS)
#: Programs that they start themselves outlive these by a moment when they are told to exit.
SLOW_BELOW = {"claude-agent-acp", "pi-acp"}


def flags(agent: Agent, trials: list[dict[str, Any]]) -> set[str]:
    """The flags of all trials that say that something went wrong with the agent itself."""
    bad = {
        "adapter_mismatch",
        "usage_disagrees",
        "unknown_lines",
        "stdin_close_ignored",
        "incomplete_stream",
        "no_output",
    }
    if agent.kind not in SLOW_BELOW:
        bad.add("leftover_processes")
    return {flag for trial in trials for flag in trial["flags"]} & bad


@every_agent
@solver
def test_an_agent_passes_what_its_tools_allow(agent: Agent, endpoint: ModelServer, hemra: Command) -> None:
    """An agent that is talked to wrongly cannot do what its model could; figures that are compared would not be those
    of the endpoint; a key would lie in what is exported."""
    needed(agent.kind, agent.dialect)
    trials = run_suite(hemra, agent, endpoint)
    failed = {trial["task"] for trial in trials if trial["reward"] != 1.0}
    assert failed == set(agent.lacks), told(trials)
    assert {trial["outcome"] for trial in trials} == {"completed"}, told(trials)
    assert flags(agent, trials) == set(), told(trials)
    assert_usage(trials, endpoint)
    assert list(holding(hemra.store, KEY)) == []


@every_agent
@saboteur
def test_an_agent_that_only_says_so_passes_nothing(
    agent: Agent, endpoint: ModelServer, hemra: Command
) -> None:
    """A task that is passed by claims, or an agent whose words are read as more than they are."""
    needed(agent.kind, agent.dialect)
    trials = run_suite(hemra, agent, endpoint)
    assert [trial["task"] for trial in trials if trial["reward"] == 1.0] == [], told(trials)
    assert {trial["outcome"] for trial in trials} == {"completed"}, told(trials)


@pytest.mark.torture
@every_agent
def test_an_agent_uses_the_servers_of_a_task(
    agent: Agent, ledger: ModelServer, hemra: Command, tmp_path: Path
) -> None:
    """A server that is named in the session and not taken, or refused by us, fails whoever can do it."""
    needed(agent.kind, agent.dialect)
    taken = KINDS[agent.kind].capabilities.mcp  # type: ignore[attr-defined]
    wanted = [task for task, over in ((STDIO, "stdio"), (HTTP, "http")) if over in taken]
    if not wanted:
        pytest.skip(f"{agent.kind} takes no MCP servers")
    for task in wanted:
        shutil.copytree(TASKS / task, tmp_path / "tasks" / task)
    trials = run_tasks(hemra, agent, ledger, "bwrap", tmp_path / "tasks")
    assert {name: trial["reward"] for name, trial in trials.items()} == dict.fromkeys(wanted, 1.0), told(
        list(trials.values())
    )
