"""The kind `pi`: the Pi coding agent in print mode with JSON events (`@earendil-works/pi-coding-agent`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from eventlog.schemas.base import EventData
from harnesses import mcp
from harnesses.agent import AgentHarness, AgentSettings, Capabilities, Session
from harnesses.base import Dialect, GatewayAddress, Launch, TrialInput
from harnesses.instruction import is_plain_word
from harnesses.jsonl import JsonlInterpreter, mapping, number, objects, text_of, total
from harnesses.protocol import identity
from harnesses.recipe import InstallRecipe

RECIPE = InstallRecipe(
    name="pi",
    version="1.6.0",
    kind="npm",
    packages=("@earendil-works/pi-coding-agent@1.6.0",),
    program="node_modules/.bin/pi",
    version_argv=("node_modules/.bin/pi", "--version"),
    node=">=22.19",
)
#: What the gateway is called in its configuration.
PROVIDER = "hemra"
MODELS_FILE, MCP_FILE = ".pi/agent/models.json", ".pi/agent/mcp.json"
#: How the tools of all MCP servers begin, in its names and in those that tasks use.
_ANY_SERVER = "mcp__"
_API: dict[Dialect, str] = {
    "chat": "openai-completions",
    "responses": "openai-responses",
    "messages": "anthropic-messages",
}


class PiSettings(AgentSettings, kw_only=True):
    """`reasoning`: whether the model is told to Pi as one that reasons."""

    reasoning: bool = True


def models_file(gateway: GatewayAddress, model: str, settings: PiSettings) -> bytes:
    """`~/.pi/agent/models.json`: one provider, the gateway, with one model."""
    provider: dict[str, Any] = {
        "baseUrl": gateway.root if gateway.dialect == "messages" else gateway.openai_base,
        "api": _API[gateway.dialect],
        "apiKey": gateway.token,
    }
    if gateway.dialect == "chat":
        provider["compat"] = {"supportsDeveloperRole": False, "supportsReasoningEffort": False}
    told: dict[str, Any] = {
        "id": model,
        "reasoning": settings.reasoning,
        "contextWindow": settings.context_tokens,
    }
    if settings.output_tokens is not None:
        told["maxTokens"] = settings.output_tokens
    provider["models"] = [told]
    return json.dumps({"providers": {PROVIDER: provider}}, indent=2).encode()


def mcp_file(servers: Mapping[str, mcp.McpServer]) -> bytes:
    """`~/.pi/agent/mcp.json`. Their tools are `direct`: in its requests from the first one on, which waits for the
    servers; else they are behind a search of its own."""
    told = mcp.told(servers)
    for server in told.values():
        server["exposure"] = "direct"
        for field in ("env", "headers"):
            if field in server:
                server[field] = {name: _literal(value) for name, value in server[field].items()}
    return json.dumps({"mcpServers": told}, indent=2).encode()


def _literal(value: str) -> str:
    """A value that it takes as it is: it would fill in variables, and run what begins with an exclamation mark."""
    escaped = value.replace("$", "$$")
    return f"${escaped}" if escaped.startswith("!") else escaped


class PiHarness(AgentHarness):
    """Pi, told where its model is by `models.json` in its HOME."""

    recipe = RECIPE
    dialects = ("chat", "responses", "messages")
    capabilities = Capabilities(tools="each", system_prompt=True, mcp=("stdio", "http"), events=True)
    tool_names: ClassVar = {
        "terminal": ("bash",),
        "read_file": ("read",),
        "write_file": ("write",),
        "patch": ("edit",),
    }
    outside_traffic_off: ClassVar = {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}
    Settings = PiSettings
    settings: PiSettings

    def start(self, session: Session) -> Launch:
        """`pi -p --mode json`: without `-p` the JSON mode stays interactive."""
        argv = [
            *session.program,
            "-p",
            "--mode",
            "json",
            "--model",
            f"{PROVIDER}/{session.model}",
            "--no-session",
        ]
        argv += self._tools(session.trial, servers=bool(session.mcp))
        if self.settings.system_prompt:
            argv += ["--append-system-prompt", self.settings.system_prompt]
        instruction = session.trial.instruction
        # It takes a word that begins with @ for a file; on stdin nothing means anything to it.
        spoken = is_plain_word(instruction, marks="-@")
        return Launch(
            argv=[*argv, instruction] if spoken else argv,
            stdin=None if spoken else instruction.encode("utf-8", "surrogatepass"),
            home_files={MODELS_FILE: models_file(session.gateway, session.model, self.settings)}
            | ({MCP_FILE: mcp_file(session.mcp)} if session.mcp else {}),
            prompt="argument" if spoken else "stdin",
        )

    def _tools(self, trial: TrialInput, *, servers: bool) -> list[str]:
        """Its options for what a task leaves it. Of the tools of MCP servers, which it names as tasks do, those that
        the task allows, or all but the forbidden ones where it has no list of allowed ones."""
        tools = self.native_tools(trial)
        if tools is None:
            return []
        if servers:
            named = [name for name in trial.allowed_tools if name.startswith(_ANY_SERVER)]
            tools += named if trial.allowed_tools else [f"{_ANY_SERVER}*"]
        forbidden = [name for name in trial.forbidden_tools if name.startswith(_ANY_SERVER)]
        options = ["--tools", ",".join(tools)] if tools else ["--no-tools"]
        return [*options, *(["--exclude-tools", ",".join(forbidden)] if forbidden else [])]

    def interpreter(self) -> PiInterpreter:
        """A new reader for one process."""
        return PiInterpreter()


class PiInterpreter(JsonlInterpreter):
    """Reads the events of one process; `agent_settled` is its last word, `agent_end` may be followed by a retry.

    Version 0.73 says the same without `agent_settled`.
    """

    def __init__(self) -> None:
        nothing = dict.fromkeys(
            ("session", "agent_start", "turn_start", "turn_end", "message_start", "message_update",
             "tool_execution_update", "bash_execution_update", "queue_update", "entry_appended",
             "session_info_changed", "thinking_level_changed", "compaction_start", "compaction_end",
             "summarization_retry_attempt_start", "summarization_retry_finished")
        )  # fmt: skip
        super().__init__(
            nothing
            | {
                "message_end": self._read_message,
                "tool_execution_start": self._read_call,
                "tool_execution_end": self._read_result,
                "auto_retry_start": self._read_retry,
                "summarization_retry_scheduled": self._read_retry,
                "auto_retry_end": self._read_retry_end,
                "agent_end": self._read_end,
                "agent_settled": self._read_settled,
            }
        )

    def _read_message(self, told: dict[str, Any]) -> list[EventData]:
        message = mapping(told.get("message"))
        role = message.get("role")
        if role == "assistant":
            return self._read_assistant(message)
        if role in ("system", "user"):
            return self.heard(str(role), _spoken(message) or message.get("sections"))
        return []  # results are told by `tool_execution_end`

    def _read_assistant(self, message: dict[str, Any]) -> list[EventData]:
        self.turn += 1
        events: list[EventData] = []
        for part in objects(message.get("content")):
            if part.get("type") == "thinking":
                events += self.thought(text_of(part.get("thinking")))
            elif part.get("type") == "text":
                events += self.said(text_of(part.get("text")), of=f"turn {self.turn}")
        reason = message.get("stopReason")
        if reason in ("error", "aborted"):
            self.failure = text_of(message.get("errorMessage")) or f"its last request ended as {reason}"
        else:
            self.failure = None
        if reason == "length":
            self.flag("answer_cut_at_length")
        if message.get("rawStopReason") in ("refusal", "content_filter"):
            self.flag("refusal")
        return events + self._read_usage(message, failed=self.failure is not None)

    def _read_usage(self, message: dict[str, Any], *, failed: bool) -> list[EventData]:
        usage = mapping(message.get("usage"))
        if not usage or (failed and not number(usage.get("totalTokens"))):
            return []  # an error tells zeros, which nobody counted
        told = {
            "input_tokens": total(usage, "input", "cacheRead", "cacheWrite"),
            "cache_read_tokens": usage.get("cacheRead"),
            "cache_write_tokens": usage.get("cacheWrite"),
            "output_tokens": usage.get("output"),
            "reasoning_tokens": usage.get("reasoning"),
        }
        cost = mapping(usage.get("cost"))
        if cost.get("totalFromProvider") is True:  # else it is made from prices that nobody told it
            told["cost_usd"] = cost.get("total")
        return self.used(told, model=message.get("model"), raw=usage)

    def _read_call(self, told: dict[str, Any]) -> list[EventData]:
        return self.called(identity(told.get("toolCallId")), text_of(told.get("toolName")), told.get("args"))

    def _read_result(self, told: dict[str, Any]) -> list[EventData]:
        failed = told.get("isError")
        ok = not failed if isinstance(failed, bool) else None
        return self.returned(identity(told.get("toolCallId")), ok, told.get("result"))

    def _read_retry(self, told: dict[str, Any]) -> list[EventData]:
        self.complete = False
        return self.retried(text_of(told.get("errorMessage")) or "it asks its model again")

    def _read_retry_end(self, told: dict[str, Any]) -> list[EventData]:
        if told.get("success") is False and text_of(told.get("finalError")):
            self.failure = text_of(told.get("finalError"))
        return []

    def _read_end(self, told: dict[str, Any]) -> list[EventData]:
        self.complete = told.get("willRetry") is not True
        return []

    def _read_settled(self, told: dict[str, Any]) -> list[EventData]:
        self.ended = True
        if told.get("aborted") is True and self.failure is None:
            self.failure = "it was aborted"
        return []


def _spoken(message: dict[str, Any]) -> str:
    """The text of a message whose content is text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(text_of(part.get("text")) for part in objects(content) if part.get("type") == "text")
