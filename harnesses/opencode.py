"""The kind `opencode`: OpenCode's `opencode run --format json` (`opencode-ai`)."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from eventlog.schemas.base import EventData
from harnesses.agent import AgentHarness, AgentSettings, Capabilities, Session
from harnesses.base import Dialect, GatewayAddress, Launch, TrialInput
from harnesses.jsonl import JsonlInterpreter, mapping, text_of, total
from harnesses.mcp import McpServer
from harnesses.protocol import identity
from harnesses.recipe import InstallRecipe

RECIPE = InstallRecipe(
    name="opencode",
    version="1.18.33",
    kind="npm",
    packages=("opencode-ai@1.18.33",),
    program="node_modules/.bin/opencode",
    version_argv=("node_modules/.bin/opencode", "--version"),
    node=">=18",
)
PROVIDER = "hemra"
#: It has to be told how long an answer may be.
OUTPUT_TOKENS = 16384
CONFIG_FILE = ".config/opencode/opencode.json"
_PACKAGE: dict[Dialect, str] = {
    "chat": "@ai-sdk/openai-compatible",
    "responses": "@ai-sdk/openai",
    "messages": "@ai-sdk/anthropic",
}
#: Its permissions, by what tasks call the tool; writing and patching are one.
_PERMISSIONS = {
    "terminal": ("bash",),
    "read_file": ("read",),
    "search_files": ("grep", "glob"),
    "todo": ("todowrite",),
    "web_extract": ("webfetch",),
    "web_search": ("websearch",),
}
_WRITES = ("write_file", "patch")
#: Tools that no task speaks of: helpers and skills.
_UNSPOKEN = ("task", "skill")


def permissions(trial: TrialInput) -> str | dict[str, str]:
    """Everything is permitted, as in a sandbox it may be; what the task does not leave it is taken from its tools."""
    if not trial.allowed_tools and not trial.forbidden_tools:
        return "allow"

    def is_left(tool: str) -> bool:
        return tool not in trial.forbidden_tools and (not trial.allowed_tools or tool in trial.allowed_tools)

    denied = [name for tool, names in _PERMISSIONS.items() if not is_left(tool) for name in names]
    if not any(map(is_left, _WRITES)):
        denied.append("edit")
    if trial.allowed_tools:
        denied += _UNSPOKEN
    return {"*": "allow"} | dict.fromkeys(denied, "deny")


def config_file(
    gateway: GatewayAddress,
    model: str,
    settings: AgentSettings,
    servers: dict[str, McpServer],
    trial: TrialInput,
) -> bytes:
    """`opencode.json`: the gateway as its only provider, one model for everything."""
    told: dict[str, Any] = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": f"{PROVIDER}/{model}",
        "small_model": f"{PROVIDER}/{model}",
        "enabled_providers": [PROVIDER],
        "permission": permissions(trial),
        "provider": {
            PROVIDER: {
                "npm": _PACKAGE[gateway.dialect],
                "name": PROVIDER,
                "options": {"baseURL": gateway.openai_base, "apiKey": gateway.token},
                "models": {
                    model: {
                        "name": model,
                        "reasoning": True,
                        "tool_call": True,
                        "limit": {
                            "context": settings.context_tokens,
                            "output": settings.output_tokens or OUTPUT_TOKENS,
                        },
                    }
                },
            }
        },
    }
    if servers:
        told["mcp"] = {name: _server(server) for name, server in servers.items()}
    return json.dumps(told, indent=2).encode()


def _server(server: McpServer) -> dict[str, Any]:
    if server.url is not None:
        return {"type": "remote", "url": server.url, "headers": server.headers, "enabled": True}
    return {"type": "local", "command": server.words, "environment": server.env, "enabled": True}


class OpencodeHarness(AgentHarness):
    """OpenCode, told where its model is by `opencode.json` in its HOME. It has no limit of its own, and after an answer
    that is none it asks again without end: the gateway has to stop it."""

    recipe = RECIPE
    dialects = ("chat", "responses", "messages")
    capabilities = Capabilities(tools="groups", mcp=("stdio", "http"), events=True)
    tool_names: ClassVar = _PERMISSIONS | {"write_file": ("write",), "patch": ("edit",)}
    outside_traffic_off: ClassVar = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}

    def start(self, session: Session) -> Launch:
        """`opencode run` with the prompt on stdin: as an argument it would come in quotes. A title of ours saves the
        call of the model that would make one."""
        trial = session.trial
        config = config_file(session.gateway, session.model, self.settings, session.mcp, trial)
        return Launch(
            argv=[*session.program, "run", "--format", "json", "--thinking", "--title", "trial"],
            stdin=trial.instruction.encode("utf-8", "surrogatepass"),
            home_files={CONFIG_FILE: config},
            prompt="stdin",
        )

    def interpreter(self) -> OpencodeInterpreter:
        """A new reader for one process."""
        return OpencodeInterpreter()


class OpencodeInterpreter(JsonlInterpreter):
    """Reads the events of one process. It has no last word: the last step's reason says whether it came to its end."""

    def __init__(self) -> None:
        super().__init__(
            {
                "step_start": self._read_start,
                "reasoning": self._read_reasoning,
                "text": self._read_text,
                "tool_use": self._read_tool,
                "step_finish": self._read_finish,
                "error": self._read_error,
            }
        )

    def _read_start(self, told: dict[str, Any]) -> list[EventData]:
        self.turn += 1
        self.complete, self.failure, self.failure_status = False, None, None
        return []

    def _read_reasoning(self, told: dict[str, Any]) -> list[EventData]:
        return self.thought(text_of(mapping(told.get("part")).get("text")))

    def _read_text(self, told: dict[str, Any]) -> list[EventData]:
        part = mapping(told.get("part"))
        return self.said(text_of(part.get("text")), of=identity(part.get("messageID")))

    def _read_tool(self, told: dict[str, Any]) -> list[EventData]:
        """A call and its result at once, when it is over."""
        part = mapping(told.get("part"))
        state, call = mapping(part.get("state")), identity(part.get("callID"))
        ok = {"completed": True, "error": False}.get(text_of(state.get("status")))
        result = state.get("error") if ok is False else state.get("output")
        code = mapping(state.get("metadata")).get("exit")
        if isinstance(code, int) and not isinstance(code, bool):
            ok, result = ok and code == 0, {"output": result, "exit_code": code}
        return [
            *self.called(call, text_of(part.get("tool")), state.get("input")),
            *self.returned(call, ok, result),
        ]

    def _read_finish(self, told: dict[str, Any]) -> list[EventData]:
        part = mapping(told.get("part"))
        reason, tokens = part.get("reason"), mapping(part.get("tokens"))
        self.complete = reason in ("stop", "length", "content-filter")
        if reason == "length":
            self.flag("answer_cut_at_length")
        if reason == "content-filter":
            self.flag("refusal")
        if not tokens:
            return []
        cache = mapping(tokens.get("cache"))
        return self.used(
            {
                # It tells what was read from a cache, and what was thought, apart from the rest.
                "input_tokens": total(
                    tokens | {"read": cache.get("read"), "write": cache.get("write")},
                    "input",
                    "read",
                    "write",
                ),
                "cache_read_tokens": cache.get("read"),
                "cache_write_tokens": cache.get("write"),
                "output_tokens": total(tokens, "output", "reasoning"),
                "reasoning_tokens": tokens.get("reasoning"),
            },
            raw=tokens,
        )

    def _read_error(self, told: dict[str, Any]) -> list[EventData]:
        error = mapping(told.get("error"))
        data = mapping(error.get("data"))
        said = text_of(data.get("message")) or text_of(error.get("message")) or text_of(error.get("name"))
        self.failure = said or "it told an error without words"
        status = data.get("statusCode")
        self.failure_status = status if isinstance(status, int) and not isinstance(status, bool) else None
        return self.warned("harness_error", self.failure)
