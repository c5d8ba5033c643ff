"""The dialects by name and by path: each parses a request, and writes an answer whole or as a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..exchange import Answer, Asked, Piece, Usage
from . import chat, messages, responses


class Dialect(Protocol):
    """One way to speak to a model. All functions are pure."""

    NAME: str

    def parse(self, body: Mapping[str, Any]) -> Asked:
        """Read a request. Raises BadRequest."""

    def call_id(self, answer: Answer, number: int) -> str:
        """The id of one of the calls, counted from 0."""

    def whole(self, answer: Answer, asked: Asked) -> dict[str, Any]:
        """The answer as one JSON object."""

    def stream(self, answer: Answer, asked: Asked) -> list[Piece]:
        """The answer as server-sent events, a token an event."""

    def usage(self, usage: Usage) -> dict[str, Any]:
        """Usage as this dialect's provider writes it."""

    def error(self, status: int, message: str, code: str | None = None) -> dict[str, Any]:
        """The body of an HTTP error."""

    def error_event(self, message: str) -> Piece:
        """An error in the middle of a stream."""


DIALECTS: dict[str, Dialect] = {module.NAME: module for module in (chat, responses, messages)}

#: The end of the path, whatever stands before it (a gateway or a test puts a trial's name there).
PATHS = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}


def of_path(path: str) -> tuple[Dialect, str] | None:
    """The dialect of a path and what stands before it, without a trailing `/v1`; None for another path."""
    for end, name in PATHS.items():
        if path.endswith(end):
            return DIALECTS[name], path.removesuffix(end).removesuffix("/v1")
    return None
