"""What is chosen in a session before its task is given: a mode, a model. Agents offer them in three ways, two of which
the protocol has given up or is giving up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from acp.meta import AGENT_METHODS
from acp.schema import SetSessionConfigOptionSelectRequest, SetSessionModeRequest

from harnesses.acp.wire import as_json
from harnesses.jsonl import mapping, objects, text_of

#: Not in the schema any more, and still what some agents know.
SET_MODEL = "session/set_model"


@dataclass(frozen=True)
class Choice:
    """A request that makes a choice."""

    method: str
    params: dict[str, Any]


class NotOffered(Exception):
    """The agent has no such choice; the message says which it has."""


def choice_of_mode(session: str, opened: dict[str, Any], wanted: str) -> Choice:
    """The request for a mode, from what `session/new` answered. Raises NotOffered."""
    modes = [text_of(mode.get("id")) for mode in objects(mapping(opened.get("modes")).get("availableModes"))]
    if wanted in modes:
        request = SetSessionModeRequest(session_id=session, mode_id=wanted)
        return Choice(AGENT_METHODS["session_set_mode"], as_json(request))
    return _option(session, opened, "mode", wanted, modes)


def choice_of_model(session: str, opened: dict[str, Any], wanted: str) -> Choice:
    """The request for a model. Raises NotOffered."""
    models = [
        text_of(model.get("modelId"))
        for model in objects(mapping(opened.get("models")).get("availableModels"))
    ]
    if wanted in models:
        return Choice(SET_MODEL, {"sessionId": session, "modelId": wanted})
    return _option(session, opened, "model", wanted, models)


def _option(
    session: str, opened: dict[str, Any], category: str, wanted: str, others: Iterable[str]
) -> Choice:
    offered = list(others)
    for option in objects(opened.get("configOptions")):
        if option.get("category") != category:
            continue
        values = [text_of(value.get("value")) for value in _flat(objects(option.get("options")))]
        if wanted in values:
            request = SetSessionConfigOptionSelectRequest(
                session_id=session, config_id=text_of(option.get("id")), value=wanted
            )
            return Choice(AGENT_METHODS["session_set_config_option"], as_json(request))
        offered += values
    names = ", ".join(dict.fromkeys(offered)) or "none"
    raise NotOffered(f"it offers no {category} {wanted!r}: there are: {names}")


def _flat(options: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The options, those of groups among them."""
    return [each for option in options for each in (objects(option.get("options")) or [option])]
