"""MCP servers that a task brings, handed to every kind of harness."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harnesses.base import GatewayAddress, HarnessFile, Launch
from harnesses.errors import HarnessFileError, LaunchError
from harnesses.mcp import McpServer, check
from harnesses.registry import KINDS
from tests.harnesses.trial_inputs import trial_input

LOCAL = McpServer(command="python3", args=("/h/task/mcp/server.py",), env={"CODE": "a b"})
REMOTE = McpServer(url="http://127.0.0.1:9/mcp", headers={"X": "y"})
OLD = McpServer(url="http://127.0.0.1:9/sse", transport="sse")
TOLD = {
    "ledger": {"type": "stdio", "command": "python3", "args": ["/h/task/mcp/server.py"], "env": {"CODE": "a b"}},
    "web": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"X": "y"}},
}  # fmt: skip
MODEL: dict[str, Any] = {"model": "m", "upstream": {"base_url": "http://127.0.0.1:1"}}


def launched(
    folder: Path, kind: str, servers: Mapping[str, McpServer], command: list[str], **fields: Any
) -> Launch:
    """How a harness of the kind is started for a trial whose task brings the servers."""
    import msgspec

    content = {"name": "h", "kind": kind, "command": command} | fields
    made = KINDS[kind](msgspec.convert(content, HarnessFile), folder)
    dialect = getattr(made, "dialect", "chat")
    address = GatewayAddress(root="http://127.0.0.1:5/t/0001", token="tok", dialect=dialect)
    return made.launch(trial_input(gateway=address, mcp_servers=dict(servers)))


def written(launch: Launch, end: str) -> bytes:
    """The file of a launch whose name ends so."""
    (content,) = [text for name, text in (launch.files | launch.home_files).items() if name.endswith(end)]
    return content


@pytest.mark.parametrize(
    ("kind", "file", "key"),
    [
        ("claude-code", "claude-mcp.json", "mcpServers"),
        ("codex", "config.toml", "mcp_servers"),
        ("opencode", "opencode.json", "mcp"),
        ("hermes", "config.yaml", "mcp_servers"),
    ],
)
def test_an_agent_finds_the_tasks_servers_in_its_own_configuration(
    kind: str, file: str, key: str, tmp_path: Path
) -> None:
    """A task's tools would be missing, and the model be blamed for it."""
    launch = launched(tmp_path, kind, {"ledger": LOCAL, "web": REMOTE}, ["/bin/true"], **MODEL)
    text = written(launch, file).decode()
    found = (tomllib.loads(text) if file.endswith("toml") else json.loads(text))[key]
    assert set(found) == {"ledger", "web"}
    assert "/h/task/mcp/server.py" in json.dumps(found["ledger"])
    assert found["web"]["url"] == REMOTE.url


def test_a_name_that_task_and_harness_share_is_refused(tmp_path: Path) -> None:
    """Whichever won, one of the two would be measured with tools that it was not made for."""
    own = {"ledger": {"command": "other"}}
    with pytest.raises(LaunchError, match="rename the harness's"):
        launched(
            tmp_path, "claude-code", {"ledger": LOCAL}, ["/bin/true"], settings={"mcp_servers": own}, **MODEL
        )


@pytest.mark.parametrize("kind", ["command", "sdk"])
def test_a_program_is_told_of_the_servers_by_a_file(kind: str, tmp_path: Path) -> None:
    """A program of one's own could not use what the task brings."""
    launch = launched(
        tmp_path, kind, {"ledger": LOCAL, "web": REMOTE}, ["/bin/echo", "{mcp_config}"], **MODEL
    )
    assert launch.argv[1] == launch.env["HEMRA_MCP_CONFIG"] == "/scratch/harness/mcp.json"
    assert json.loads(launch.files["mcp.json"]) == {"mcpServers": TOLD}


def test_the_file_is_there_whenever_a_command_names_it(tmp_path: Path) -> None:
    """The same command would fail on every task without a server; others would get a file that nobody asked for."""
    for kind in ("command", "protocol", "claude-code"):
        launch = launched(tmp_path, kind, {}, ["/bin/echo", "{mcp_config}"], **MODEL)
        assert json.loads(launch.files["mcp.json"]) == {"mcpServers": {}}
    bare = launched(tmp_path, "command", {}, ["/bin/echo"])
    assert bare.files == {}
    assert "HEMRA_MCP_CONFIG" not in bare.env


def test_a_protocol_program_is_told_in_its_task(tmp_path: Path) -> None:
    """Its program could not use what the task brings."""
    launch = launched(tmp_path, "protocol", {"ledger": LOCAL, "web": REMOTE}, ["/bin/true"])
    assert json.loads(launch.stdin or b"")["mcp_servers"] == TOLD


def test_the_older_transport_is_handed_on_where_it_is_known(tmp_path: Path) -> None:
    """An agent would speak to the server in a way that it does not understand."""
    claude = launched(tmp_path, "claude-code", {"old": OLD}, ["/bin/true"], **MODEL)
    assert json.loads(written(claude, "claude-mcp.json"))["mcpServers"]["old"]["type"] == "sse"
    with pytest.raises(HarnessFileError, match="takes no sse server"):
        check({"old": OLD}, ("stdio", "http"))
    with pytest.raises(HarnessFileError, match="headers and transport to a 'url'"):
        check({"old": McpServer(command="x", transport="sse")}, ("stdio",))
