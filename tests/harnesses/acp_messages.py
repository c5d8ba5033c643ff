"""What the tests of the client share: a client that was briefed, messages of an agent, and what the client said."""

from __future__ import annotations

import json
from typing import Any

from eventlog.schemas.base import EventData
from eventlog.schemas.runs import Limits
from harnesses.acp.briefing import brief
from harnesses.acp.client import AcpClient
from harnesses.base import Conclusion, Launch
from harnesses.mcp import McpServer
from tests.harnesses.adapters import lines
from tests.harnesses.trial_inputs import trial_input

SESSION = "s-1"
WORKSPACE = "/scratch/workspace"


def client(
    *, servers: dict[str, McpServer] | None = None, limits: Limits | None = None, trial: dict[str, Any] | None = None,
    **more: Any,
) -> AcpClient:  # fmt: skip
    """A client that was told of its trial and has not said anything yet."""
    told = trial_input(**({"limits": limits} if limits else {}), **(trial or {}))
    made = AcpClient()
    made.begin(Launch(argv=["agent"], briefing=brief(told, servers or {}, **more)))
    return made


def hello(version: Any = 1, **capabilities: Any) -> dict[str, Any]:
    """The answer to `initialize`."""
    about = {"name": "scripted", "version": "1.2.3"}
    return reply(1, {"protocolVersion": version, "agentCapabilities": capabilities, "agentInfo": about})


def opened(number: int = 2, **more: Any) -> dict[str, Any]:
    """The answer to `session/new`."""
    return reply(number, {"sessionId": SESSION, **more})


def done(number: int = 3, reason: Any = "end_turn", **more: Any) -> dict[str, Any]:
    """The answer to `session/prompt`."""
    return reply(number, {"stopReason": reason, **more})


def reply(number: Any, result: Any) -> dict[str, Any]:
    """An answer."""
    return {"jsonrpc": "2.0", "id": number, "result": result}


def refusal(number: Any, code: int, message: str, **more: Any) -> dict[str, Any]:
    """An answer that is an error."""
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message, **more}}


def update(kind: str, session: str = SESSION, /, **fields: Any) -> dict[str, Any]:
    """A `session/update`."""
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def chunk(text: str, kind: str = "agent_message_chunk", **more: Any) -> dict[str, Any]:
    """A piece of a message."""
    return update(kind, content={"type": "text", "text": text}, **more)


def ask(number: Any, method: str, **params: Any) -> dict[str, Any]:
    """A request of the agent."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def may_i(number: Any, kinds: list[str], **call: Any) -> dict[str, Any]:
    """A request for a permission with options of these kinds; an option's id is its kind and `!`."""
    options = [{"optionId": f"{kind}!", "name": kind, "kind": kind} for kind in kinds]
    return ask(number, "session/request_permission", sessionId=SESSION, options=options, toolCall=call)


def hear(made: AcpClient, *messages: Any) -> list[EventData]:
    """What the client makes of messages."""
    return made.feed("stdout", lines(*messages))


def said(made: AcpClient) -> list[dict[str, Any]]:
    """What the client has to say now: each message is a whole line of JSON."""
    spoken = made.say()
    assert spoken == b"" or spoken.endswith(b"\n")
    return [json.loads(line) for line in spoken.splitlines()]


def talk(made: AcpClient, *messages: Any, exit_code: int | None = 0) -> tuple[list[EventData], Conclusion]:
    """Events and conclusion of an agent that said these and exited."""
    events = hear(made, *messages)
    rest, conclusion = made.finish(exit_code, None)
    return [*events, *rest], conclusion
