"""MCP servers that a harness file declares, over stdio and HTTP, through the real agents that take them.

The model is a script that calls a tool of the server, which only the server can answer. Each agent is skipped by name
where it is not installed.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Command
from tests.e2e.test_real_agents import Agent, each, harness_file, needed
from tests.hemra.mcp_tasks import listening
from tests.hemra.task_folders import make_task
from tools.model_server.script import parse
from tools.model_server.server import running

SERVER = Path(__file__).parents[2] / "examples/tasks/mcp/ledger/mcp/server.py"
STDIO = {"command": sys.executable, "args": [SERVER.name], "env": {"LEDGER_BALANCES": '{"A-1": 77}'}}
SCRIPT = parse("""
turns:
- text: I ask.
  calls:
  - any: [{name: lookup, arguments: {account: A-1}}, {name: ledger_lookup, arguments: {account: A-1}}]
- text: The balance is known.
""")
#: What an agent calls the tool, where that is not the canonical name.
SPELT = {"opencode": "ledger_lookup"}
every_agent = each(
    (
        Agent("pi", "chat"),
        Agent("codex", "responses"),
        Agent("claude-code", "messages"),
        Agent("hermes", "chat"),
        Agent("opencode", "chat", torture=True),
    )
)
pytestmark = [pytest.mark.e2e, pytest.mark.needs("bwrap"), pytest.mark.timeout(300)]


def calls_of(
    hemra: Command, agent: Agent, server: dict[str, Any], *, network: str
) -> list[tuple[str, Any, Any]]:
    """(name, arguments, result) of every tool call that is recorded of a trial with this MCP server."""
    folder = hemra.cwd.parent
    make_task(folder / "tasks")
    shutil.copy(SERVER, folder)
    with running(SCRIPT) as model:
        file = harness_file(folder, agent, model, settings={"mcp_servers": {"ledger": server}})
        arguments = [
            "--dataset",
            folder / "tasks",
            "--harness",
            file,
            "--sandbox",
            "bwrap",
            "--network",
            network,
        ]
        hemra("run", *arguments)
    events = [json.loads(line) for line in hemra("log", "cat", "latest").stdout.splitlines()]
    results = {e["data"]["call"]: e["data"] for e in events if e["type"] == "tool.returned"}
    return [
        (e["data"]["name"], e["data"]["arguments"], results.get(e["data"]["call"], {}).get("result"))
        for e in events
        if e["type"] == "tool.called"
    ]


@every_agent
@pytest.mark.parametrize("over", ["stdio", pytest.param("http", marks=pytest.mark.torture)])
def test_a_server_of_the_harness_file_is_used_and_recorded(agent: Agent, over: str, hemra: Command) -> None:
    """The server would be written into a configuration that the agent does not read, or its calls not be told."""
    needed(agent.kind, agent.dialect)
    if over == "stdio":
        called = calls_of(hemra, agent, STDIO, network="gateway")
    else:
        with listening() as port:
            called = calls_of(hemra, agent, {"url": f"http://127.0.0.1:{port}/mcp"}, network="full")
    (name, arguments, result) = called[0]
    assert (name, arguments) == (SPELT.get(agent.kind, "mcp__ledger__lookup"), {"account": "A-1"})
    assert "A-1: 77" in json.dumps(result)
    assert len(called) == 1
