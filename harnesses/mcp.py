"""MCP servers that a harness file declares in `settings.mcp_servers`, as every adapter hands them on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from harnesses import placeholders
from harnesses.definition import local_files, own_value, passes_through
from harnesses.errors import HarnessFileError, LaunchError

#: The harness puts the name into the names of the server's tools.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")


class McpServer(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A server by the command that starts it (it speaks over stdio), or by the URL where it listens (HTTP).

    Values of `env` and `headers` that are `$NAME` are taken from the user's environment.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}

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
        needed = "stdio" if server.url is None else "http"
        if needed not in transports:
            taken = " and ".join(transports) if transports else "none"
            raise HarnessFileError(f"{where}: this harness takes no {needed} server ({taken})")
        alien = server.headers if server.url is None else (server.env or server.args)
        if alien:
            raise HarnessFileError(f"{where}: args and env belong to a 'command', headers to a 'url'")


def for_trial(
    servers: Mapping[str, McpServer], folder: Path, known: dict[str, str], user: Mapping[str, str]
) -> dict[str, McpServer]:
    """The servers with their own files by absolute path, placeholders filled and `$NAME` resolved.

    Raises LaunchError for a variable that is not set.
    """
    return {name: _resolved(name, server, folder, known, user) for name, server in servers.items()}


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
    )
