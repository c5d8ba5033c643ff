"""MCP servers that a task declares: what contradicts, where they listen, which files of the task they need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from harnesses.credentials import looks_like_credential
from hemra.datasets.model import PLACEHOLDER, Task, TaskMcpServer, TaskSpec
from hemra.datasets.toolnames import ToolNames, mcp_prefix

#: A value that would be taken from the environment of whoever runs the task.
_TAKEN = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)
#: Commands that mean the Python that runs the task's other programs.
PYTHON = ("python3", "python")
_PORTS = {"http": 80, "https": 443}


def address_of(url: str) -> tuple[str, int] | None:
    """Host and port of a URL; None for one that is known at the trial only, since a placeholder stands there.

    Raises ValueError that says what is wrong with it.
    """
    if PLACEHOLDER.search(url):
        return None
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("must be http://HOST… or https://HOST…")
    if "@" in parts.netloc:
        raise ValueError("holds a user's name, which would be recorded")
    return parts.hostname, port_of(parts)


def port_of(parts: SplitResult) -> int:
    """The port of a URL, by its scheme where it names none. Raises ValueError."""
    return parts.port or _PORTS[parts.scheme]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, as its own programs reach it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def loopback_of(spec: TaskSpec) -> dict[str, tuple[str, int]]:
    """Host and port by name of the servers that listen on this machine's loopback."""
    found = {}
    for name, server in spec.mcp_servers.items():
        address = None if server.url is None else address_of(server.url)
        if address is not None and is_loopback(address[0]):
            found[name] = address
    return found


def files_of(task: Task) -> list[str]:
    """Paths of the task's files that its servers' commands may read, in order."""
    folders = {f"{each.files.rstrip('/')}/" for each in task.spec.mcp_servers.values() if each.url is None}
    return [path for path in task.files if path.startswith(tuple(folders))] if folders else []


def problems(spec: TaskSpec, files: Mapping[str, str]) -> Iterator[str]:
    """A line for everything in `mcp_servers` that cannot be meant; `files` are the task's."""
    names = ToolNames()
    allowed = [names.canonical(tool) for tool in spec.allowed_tools]
    seen: dict[str, str] = {}
    for name, server in spec.mcp_servers.items():
        where = f"mcp_servers.{name}"
        if (server.command is None) == (server.url is None):
            yield f"{where}: give either a command or a url"
            continue
        yield from _fields(where, server)
        yield from (
            _address(where, server, spec) if server.url is not None else _files(where, server, spec, files)
        )
        prefix = mcp_prefix(name)
        if seen.setdefault(prefix, name) != name:
            yield f"{where}: its tools would be called as those of {seen[prefix]}; rename one of them"
        if allowed and not any(tool.startswith(prefix) for tool in allowed):
            yield f"{where}: allowed_tools names none of its tools ({prefix}…), so none might be called"


def _fields(where: str, server: TaskMcpServer) -> Iterator[str]:
    if server.headers or server.transport if server.url is None else server.env or server.args:
        yield f"{where}: args and env belong to a command, headers and transport to a url"
    for part, values in (("env", server.env), ("headers", server.headers)):
        for key, value in values.items():
            if looks_like_credential(f"{key}: {value}"):
                yield f"{where}.{part}.{key}: looks like a credential, and a task is recorded as it is"
            if _TAKEN.fullmatch(value):
                yield (
                    f"{where}.{part}.{key}: a task takes nothing from the environment of who runs it; a server that "
                    "needs a key belongs into the harness file (settings.mcp_servers)"
                )


def _address(where: str, server: TaskMcpServer, spec: TaskSpec) -> Iterator[str]:
    assert server.url is not None
    try:
        address = address_of(server.url)
    except ValueError as error:
        yield f"{where}.url: {server.url!r}: {error}"
        return
    if address is None:
        return
    if not is_loopback(address[0]):
        if spec.network != "full":
            yield f"{where}.url: {address[0]} is not this machine: that needs network full"
    elif spec.network == "none":
        yield f"{where}.url: needs network mock (or full): with none, nothing could reach it"


def _files(where: str, server: TaskMcpServer, spec: TaskSpec, files: Mapping[str, str]) -> Iterator[str]:
    folder = server.files.rstrip("/") + "/"
    for word in server.words:
        if word.startswith(folder) and word not in files:
            yield f"{where}: there is no file {word}"
    if server.files != TaskMcpServer().files and not any(path.startswith(folder) for path in files):
        yield f"{where}.files: there is no file in {folder}"
    closed = (spec.verifier.file, "prepare.py", *([spec.world] if spec.world else []))
    for path in files:
        if path.startswith(folder) and (path in closed or path.startswith("solution/")):
            yield f"{where}.files: {path} must not be seen by a harness; give the server's files their own folder"
            return
