"""The MCP servers that a task brings, made ready for one trial.

A server with a command is the harness's to start: its files are put where programs of the trial read them. One at a URL
on this machine's loopback is somebody else's to start: it has to be there, and is let through to the trial.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harnesses.mcp import McpServer
from hemra.datasets.mcp import PYTHON, files_of, loopback_of, port_of
from hemra.datasets.prepare import filled, pinned_bytes
from hemra.errors import HemraError
from hemra.sandboxes.base import TASK_FILES, Endpoint

if TYPE_CHECKING:
    from pathlib import Path

    from hemra.datasets.model import Task, TaskMcpServer
    from hemra.sandboxes.base import Sandbox

#: Seconds in which a server that should be listening has to take a connection.
CONNECT_SECONDS = 10.0


async def listening(task: Task) -> tuple[Endpoint, ...]:
    """Where servers of the task listen on this machine. Raises HemraError for one that does not: the harness would
    go on without its tools, and the trial would say nothing of the model."""
    found = {name: Endpoint(*address) for name, address in loopback_of(task.spec).items()}
    for name, endpoint in found.items():
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
        except (OSError, TimeoutError) as error:
            raise HemraError(
                f"task {task.id!r}: MCP server {name}: nothing answers at {endpoint}; start it, then run again"
            ) from error
        writer.close()
    return tuple(dict.fromkeys(found.values()))


def put_files(task: Task, harness_dir: Path) -> None:
    """Write what the servers' commands need into the harness's own folder (blocking). DatasetChanged when a file is
    not as it was."""
    for path in files_of(task):
        target = harness_dir / TASK_FILES / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(pinned_bytes(task, path))
        target.chmod(0o555 if task.files[path].endswith("+x") else 0o444)


def servers_for(task: Task, sandbox: Sandbox, values: dict[str, Any]) -> dict[str, McpServer]:
    """The servers as programs of the trial start or reach them, placeholders filled. Raises HemraError."""
    files = {path: sandbox.inside(sandbox.harness_dir / TASK_FILES / path) for path in files_of(task)}
    # Where programs come from an image, its own Python is meant.
    pythons = () if sandbox.traits.brings_programs else PYTHON
    programs = files | dict.fromkeys(pythons, sys.executable)

    def ready(name: str, server: TaskMcpServer) -> McpServer:
        def fill(text: str) -> str:
            return filled(text, values, f"task {task.id!r}: mcp_servers.{name}")

        return McpServer(
            command=None if server.command is None else programs.get(server.command, server.command),
            args=tuple(files.get(word) or fill(word) for word in server.args),
            env={key: fill(value) for key, value in server.env.items()},
            url=None if server.url is None else _reached(server.url, fill(server.url), sandbox),
            headers={key: fill(value) for key, value in server.headers.items()},
            transport=server.transport,
        )

    return {name: ready(name, server) for name, server in task.spec.mcp_servers.items()}


def _reached(written: str, url: str, sandbox: Sandbox) -> str:
    """The URL as programs of the trial reach it. One with a placeholder is told by what runs in the sandbox."""
    parts = urlsplit(url)
    if written != url or not parts.hostname:
        return url
    outside = Endpoint(parts.hostname, port_of(parts))
    inside = sandbox.address(outside)
    return url if inside == outside else parts._replace(netloc=str(inside)).geturl()
