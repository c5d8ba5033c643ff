"""What Hermes finds in its home: the configuration of one trial, and what keeps it from looking outside.

Written as JSON, which is YAML too.
"""

from __future__ import annotations

import json
from typing import Any

from eventlog import clock
from harnesses.agent import AgentSettings, Session
from harnesses.mcp import McpServer

#: Hermes' home, relative to the trial's HOME.
HOME = ".hermes"
#: Its name for the trial's endpoint, where that is a provider of its own.
PROVIDER = "hemra"
#: How Hermes calls the dialects that it has to be told.
API_MODES = {"responses": "codex_responses", "messages": "anthropic_messages"}
#: Seconds that its first request waits for MCP servers: without them their tools would be missing in it.
MCP_SECONDS = 30.0


class HermesSettings(AgentSettings):
    """`settings` of a harness file of kind `hermes`.

    `terminal`: `tmux` has the terminal tool work in a tmux session. `toolsets`: those of Hermes that its model is
    offered where the task leaves it all tools; without it, Hermes' own choice. `api_max_retries`: how often Hermes
    tries a failed model call. `exact_tools: false` holds it to whole toolsets only, by its plain command line.
    """

    terminal: str | None = None
    toolsets: tuple[str, ...] = ()
    api_max_retries: int = 3
    exact_tools: bool = True


def home_files(session: Session, settings: HermesSettings, version: str) -> dict[str, bytes]:
    """What is put into HOME before the start; nothing else of it is touched, its memory least of all."""
    return {
        f"{HOME}/config.yaml": _json(_configuration(session, settings)),
        # It looks for a newer version of itself unless it did so lately.
        f"{HOME}/.update_check": _json(
            {"ts": clock.wall_ns() / 1e9, "behind": 0, "rev": None, "ver": version}
        ),
    }


def _configuration(session: Session, settings: HermesSettings) -> dict[str, Any]:
    agent: dict[str, Any] = {
        "api_max_retries": settings.api_max_retries,
        # Nobody is there to answer.
        "disabled_toolsets": ["clarify"],
    }
    if session.trial.limits.turns is not None:
        agent["max_turns"] = session.trial.limits.turns
    if settings.system_prompt is not None:
        agent["system_prompt"] = settings.system_prompt
    configuration = _model(session, settings) | {
        "agent": agent,
        "security": {"allow_lazy_installs": False, "tirith_enabled": False},
        # stdout is to hold the answer and nothing else.
        "display": {"show_reasoning": False, "file_mutation_verifier": False, "inline_diffs": False},
    }
    if session.mcp:
        configuration["mcp_servers"] = {name: _server(server) for name, server in session.mcp.items()}
        configuration["mcp_discovery_timeout"] = MCP_SECONDS
    return configuration


def _model(session: Session, settings: HermesSettings) -> dict[str, Any]:
    """The endpoint in each of the dialects. A known window keeps Hermes from asking the network for it."""
    gateway, name, window = session.gateway, session.model, settings.context_tokens
    model: dict[str, Any] = {"default": name, "context_length": window}
    if settings.output_tokens is not None:
        model["max_tokens"] = settings.output_tokens
    mode = API_MODES.get(gateway.dialect)
    if mode is None:
        address = {"provider": "custom", "base_url": gateway.openai_base, "api_key": gateway.token}
        return {"model": model | address}
    base = gateway.root if gateway.dialect == "messages" else gateway.openai_base
    provider = {
        "name": PROVIDER, "base_url": base, "api_key": gateway.token, "api_mode": mode,
        "models": {name: {"context_length": window}},
    }  # fmt: skip
    return {"model": model | {"provider": f"custom:{PROVIDER}"}, "custom_providers": [provider]}


def _server(server: McpServer) -> dict[str, Any]:
    if server.url is not None:
        return {"url": server.url, "headers": server.headers}
    return {"command": server.command, "args": list(server.args), "env": server.env}


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode("ascii")
