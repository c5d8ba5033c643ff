"""The dialects that harnesses speak to models in, by name and by path."""

from __future__ import annotations

from hemra.gateway.dialects.chat import ChatDialect
from hemra.gateway.dialects.messages import MessagesDialect
from hemra.gateway.dialects.responses import ResponsesDialect
from hemra.gateway.normal import Dialect

DIALECTS: tuple[Dialect, ...] = (ChatDialect(), ResponsesDialect(), MessagesDialect())

_BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def of_path(path: str) -> Dialect | None:
    """The dialect in which a POST to this path asks a model for an answer; null for any other path.

    The path comes without a query and without what the gateway puts before it.
    """
    return next((dialect for dialect in DIALECTS if dialect.owns(path)), None)


def by_name(name: str) -> Dialect:
    """The dialect of this name: chat, responses or messages. Raises KeyError for another."""
    return _BY_NAME[name]
