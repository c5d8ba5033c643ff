"""Tasks that bring MCP servers, over stdio and over HTTP, done by real agents through `hemra run`.

A scripted model calls the server's tool by the name that the agent gives it; only the tool's answer passes the task.
Each agent is skipped by name where it is not installed (`hemra harness install NAME`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hemra.datasets.toolnames import ToolNames
from tests.e2e.conftest import Command
from tests.e2e.test_real_agents import KEY, Agent, each, harness_file, needed
from tools.model_server import actions
from tools.model_server.actions import Action
from tools.model_server.exchange import Call, Offered
from tools.model_server.recipes.book import RECIPES, Book, Recipe, Task, search, step, terminal
from tools.model_server.script import load
from tools.model_server.server import ModelServer, running

TASKS = Path(__file__).parents[2] / "examples" / "tasks"
STDIO, HTTP = "mcp/ledger", "mcp/ledger-http"
TOOL = "mcp__ledger__lookup"
AGENTS = (
    Agent("pi", "chat", torture=True),
    Agent("hermes", "chat", torture=True),
    Agent("claude-code", "messages"),
    Agent("codex", "responses"),
    Agent("opencode", "chat", torture=True),
)
every_agent = each(AGENTS)
pytestmark = [pytest.mark.e2e, pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


def looked_up(task: Task) -> Recipe:
    """Ask the server, write the balance down and answer with it."""
    account = task.values["account"]
    (said,) = yield step("I ask the ledger.", Action("lookup", {"account": account}))
    (balance,) = search(rf"{account}: (\d+)", said)
    yield step("I write it down.", terminal(f"printf '%s' {balance} > balance.txt", changes=True))
    return f"The balance of {account} is {balance}."


def _lookup(tool: Offered, given: Mapping[str, Any]) -> Call | None:
    return Call(tool.name, json.dumps(dict(given)), "function", tool.namespace)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A scripted model that knows the tasks, whatever an agent calls the server's tool."""
    monkeypatch.setitem(actions.NAMES, "lookup", ("lookup", "ledger_lookup"))
    monkeypatch.setitem(actions.ACTIONS, "lookup", _lookup)
    for task in (STDIO, HTTP):
        monkeypatch.setitem(RECIPES, task, looked_up)
    script = msgspec.structs.replace(load("solver"), accept_key=KEY)
    with running(script, book=Book.load(TASKS)) as server:
        yield server


def run_tasks(
    hemra: Command, agent: Agent, server: ModelServer, sandbox: str, dataset: Path = TASKS, **more: Any
) -> dict[str, dict[str, Any]]:
    """The trials of a run of all tasks of a dataset, by task. `more`: further fields of the harness file."""
    file = harness_file(hemra.cwd.parent, agent, server, **more)
    started = hemra.start("run", "--dataset", dataset, "--harness", file, "--sandbox", sandbox, "-j", "2")
    stdout, stderr = started.communicate(timeout=400)
    assert started.returncode == 0, stderr
    shown = hemra.json("show", stdout.splitlines()[-1])
    return {trial["task"]: trial for trial in shown["trials"]}


@every_agent
@pytest.mark.parametrize("sandbox", [pytest.param("host", marks=pytest.mark.torture), "bwrap"])
def test_an_agent_uses_the_servers_of_a_task(
    agent: Agent, sandbox: str, endpoint: ModelServer, hemra: Command
) -> None:
    """A server that does not reach the agent, or a tool whose name no verifier knows, fails whoever can do it."""
    needed(agent.kind, agent.dialect)
    trials = run_tasks(hemra, agent, endpoint, sandbox)
    assert set(trials) == {STDIO, HTTP}
    for task, trial in trials.items():
        assert (trial["outcome"], trial["reward"]) == ("completed", 1.0), (
            task,
            trial["reason"],
            trial["flags"],
        )
        assert "mcp_servers.ledger" not in trial["not_enforced"]


@every_agent
def test_lists_of_tools_hold_for_tools_of_servers(
    agent: Agent, endpoint: ModelServer, hemra: Command, tmp_path: Path
) -> None:
    """A task that allows one tool of its server would lose it with the rest, or be offered what it forbids."""
    needed(agent.kind, agent.dialect)
    folder = tmp_path / "listed" / STDIO
    shutil.copytree(TASKS / STDIO, folder)
    with (folder / "task.yaml").open("a", encoding="utf-8") as spec:
        spec.write(f"allowed_tools: [terminal, {TOOL}]\nforbidden_tools: [mcp__ledger__accounts]\n")
    trial = run_tasks(hemra, agent, endpoint, "bwrap", tmp_path / "listed", strip_tools=True)[STDIO]
    assert (trial["outcome"], trial["reward"]) == ("completed", 1.0), (trial["reason"], trial["flags"])
    assert not {"other_tool_called", "forbidden_tool_called", "mcp_not_offered"} & set(trial["flags"])
    lines = hemra("log", "cat", "latest").stdout.splitlines()
    asked = [json.loads(line)["data"] for line in lines if '"type":"model.requested"' in line]
    removed = {ToolNames(["ledger"]).canonical(name) for each in asked for name in each["removed_tools"]}
    # Pi keeps to the lists by itself: there is nothing to take out.
    assert ("mcp__ledger__accounts" in removed) is (agent.kind != "pi")
    assert TOOL not in removed
