"""What harnesses knock at to find out who is there, and what the gateway answers without asking anybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Whether somebody is there at all. Some clients give no key with it.
_THERE = frozenset(("", "/", "/v1", "/v1/", "/health", "/api/hello"))
#: Other kinds of server. That this is none is the answer that the clients expect.
_STRANGERS = frozenset(
    ("/api/v1/models", "/api/tags", "/api/show", "/api/version", "/props", "/v1/props", "/version")
)


@dataclass(frozen=True)
class Local:
    """An answer that no model is asked for."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def local_answer(method: str, path: str) -> Local | None:
    """The answer to a probe; null for everything that goes on to the endpoint."""
    headers = {"Content-Type": "application/json"}
    if method in ("GET", "HEAD") and path in _THERE:
        return Local(200, b'{"status":"ok"}', headers)
    if path in _STRANGERS:
        return Local(
            404, b'{"error":{"message":"this is no server of that kind","type":"not_found"}}', headers
        )
    return None
