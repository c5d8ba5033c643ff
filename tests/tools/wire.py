"""A client of the model server that sees every byte: for tests of what goes over the wire."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tools.model_server.script import parse
from tools.model_server.server import ModelServer, running

SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


@dataclass
class Reply:
    """What came back. `whole` is false where the connection broke before the end."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool = True

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The data of the server-sent events; `[DONE]` as text."""
        lines = [line[6:] for line in self.body.decode().splitlines() if line.startswith("data: ")]
        return [line if line == "[DONE]" else json.loads(line) for line in lines]


@contextmanager
def serving(script: str, **options: Any) -> Iterator[ModelServer]:
    """A server with this script (YAML)."""
    with running(parse(script), **options) as server:
        yield server


def request(dialect: str, text: str = "Do it.", *, tools: bool = True, **fields: Any) -> dict[str, Any]:
    """The first request of a conversation."""
    if dialect == "responses":
        tool: dict[str, Any] = {"type": "function", "name": "bash", "parameters": SHELL}
        body: dict[str, Any] = {"model": "test-model", "input": text}
    else:
        function = {"name": "bash", "parameters": SHELL}
        tool = (
            {"type": "function", "function": function}
            if dialect == "chat"
            else {"name": "bash", "input_schema": SHELL}
        )
        body = {"model": "test-model", "max_tokens": 99, "messages": [{"role": "user", "content": text}]}
    return body | ({"tools": [tool]} if tools else {}) | fields


def send(
    server: ModelServer,
    path: str,
    body: Any = None,
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    timeout: float = 10.0,
) -> Reply:
    """One request on a connection of its own. Raises TimeoutError and the errors of a broken connection."""
    return exchange(server.base, path, body, method=method, headers=headers or {}, timeout=timeout)


def exchange(
    base: str, path: str, body: Any, *, method: str, headers: Mapping[str, str], timeout: float
) -> Reply:
    """The same to whatever listens at `base`."""
    place = urlsplit(base)
    connection = http.client.HTTPConnection(place.netloc, timeout=timeout)
    try:
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(
            method, place.path + path, content, {"Content-Type": "application/json", **headers}
        )
        response = connection.getresponse()
        try:
            read, whole = response.read(), True
        except http.client.IncompleteRead as broken:
            read, whole = broken.partial, False
        return Reply(response.status, dict(response.headers), read, whole)
    finally:
        connection.close()


def ask(server: ModelServer, dialect: str, prefix: str = "", **options: Any) -> Reply:
    """The first request of a conversation in a dialect."""
    headers = options.pop("headers", None)
    timeout = options.pop("timeout", 10.0)
    return send(
        server, prefix + PATHS[dialect], request(dialect, **options), headers=headers, timeout=timeout
    )


def served(server: ModelServer) -> list[dict[str, Any]]:
    """The journal over HTTP, as a test in another process reads it."""
    entries: list[dict[str, Any]] = send(server, "/_served", method="GET").json["entries"]
    return entries


def ended(server: ModelServer, number: int = 1, within: float = 5.0) -> dict[str, Any]:
    """An entry once it is closed; a client that goes is noticed a moment later."""
    deadline = time.monotonic() + within
    while (entry := served(server)[number - 1])["ended"] == "open" and time.monotonic() < deadline:
        time.sleep(0.01)
    return entry
