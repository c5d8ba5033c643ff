"""MCP servers of a trial, as every adapter hands them on: those that a harness file declares in
`settings.mcp_servers`, and those that the task brings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from harnesses import placeholders
from harnesses.definition import local_files, own_value, passes_through
from harnesses.errors import HarnessFileError, LaunchError

Transport = Literal["stdio", "http", "sse"]
#: All that there are, for harnesses that hand a server on as it is.
TRANSPORTS: tuple[Transport, ...] = ("stdio", "http", "sse")
#: The harness puts the name into the names of the server's tools.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
#: The variable with the path of a file with the task's servers, for programs that read one.
CONFIG_VARIABLE = "HEMRA_MCP_CONFIG"
#: What is told of a server with `misplaced` fields.
MISPLACED = "args and env belong to a 'command', headers and transport to a 'url'"


class McpServer(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A server by the command that starts it (it speaks over stdio), or by the URL where it listens: over streamable
    HTTP, or where `transport` says so over SSE.

    Values of `env` and `headers` that are `$NAME` are taken from the user's environment.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    transport: Literal["http", "sse"] | None = None

    @property
    def over(self) -> Transport:
        """The transport that it is spoken to over."""
        return "stdio" if self.url is None else self.transport or "http"

    @property
    def misplaced(self) -> bool:
        """Whether it has a field that belongs to the other kind of server."""
        return bool(self.headers or self.transport if self.url is None else self.env or self.args)

    @property
    def words(self) -> list[str]:
        """The command with its arguments; empty for a server at a URL."""
        return [] if self.command is None else [self.command, *self.args]

    @property
    def values(self) -> dict[str, str]:
        """What it is given under a name: variables of its environment, or headers."""
        return self.env | self.headers


def check(servers: Mapping[str, McpServer], transports: tuple[str, ...]) -> None:
    """Raises HarnessFileError for a server that nobody can start, or that the harness cannot take."""
    for name, server in servers.items():
        where = f"settings.mcp_servers.{name}"
        if not _NAME.fullmatch(name):
            raise HarnessFileError(f"{where}: use at most 32 letters, digits, '_' and '-' for its name")
        if (server.command is None) == (server.url is None):
            raise HarnessFileError(f"{where}: give either a 'command' or a 'url'")
        if server.over not in transports:
            taken = " and ".join(transports) if transports else "none"
            raise HarnessFileError(f"{where}: this harness takes no {server.over} server ({taken})")
        if server.misplaced:
            raise HarnessFileError(f"{where}: {MISPLACED}")


def for_trial(
    servers: Mapping[str, McpServer], folder: Path, known: dict[str, str], user: Mapping[str, str]
) -> dict[str, McpServer]:
    """The servers with their own files by absolute path, placeholders filled and `$NAME` resolved.

    Raises LaunchError for a variable that is not set.
    """
    return {name: _resolved(name, server, folder, known, user) for name, server in servers.items()}


def merged(own: Mapping[str, McpServer], of_task: Mapping[str, McpServer]) -> dict[str, McpServer]:
    """The servers of the harness file and those of the task. Raises LaunchError where both have a name: whichever
    won, the model would be given other tools than one of the two was made for."""
    for name in own:
        if name in of_task:
            raise LaunchError(f"MCP server {name}: {twice(name)}")
    return {**own, **of_task}


def twice(name: str) -> str:
    """What is told of a server that a task and a harness file both have."""
    return (
        f"the task brings one of this name, and settings.mcp_servers.{name} is another; rename the harness's"
    )


def told(servers: Mapping[str, McpServer]) -> dict[str, dict[str, Any]]:
    """The servers as JSON, by name: what programs are told that know no other form of their own. `command` with
    `args` and `env`, or `url` with `headers`, and in `type` the transport."""
    return {
        name: {"type": server.over, "command": server.command, "args": list(server.args), "env": server.env}
        if server.url is None
        else {"type": server.over, "url": server.url, "headers": server.headers}
        for name, server in servers.items()
    }


def config_file(servers: Mapping[str, McpServer]) -> bytes:
    """The servers as a file in the form that most programs know: `{"mcpServers": …}`."""
    return json.dumps({"mcpServers": told(servers)}, indent=2).encode()


def _resolved(
    name: str, server: McpServer, folder: Path, known: dict[str, str], user: Mapping[str, str]
) -> McpServer:
    own = local_files(server.words, folder)
    words = [placeholders.fill(str(own.get(word, word)), known) for word in server.words]

    def value_of(given: str) -> str:
        source = passes_through(given)
        if source is None:
            return placeholders.fill(own_value(given), known)
        if source not in user:
            raise LaunchError(f"MCP server {name}: ${source} is not set in your environment")
        return user[source]

    return McpServer(
        command=words[0] if words else None,
        args=tuple(words[1:]),
        env={key: value_of(value) for key, value in server.env.items()},
        url=None if server.url is None else placeholders.fill(server.url, known),
        headers={key: value_of(value) for key, value in server.headers.items()},
        transport=server.transport,
    )
