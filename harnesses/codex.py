"""The kind `codex`: OpenAI's Codex CLI, `codex exec --json`. It speaks the Responses dialect only."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from eventlog.schemas.base import EventData
from harnesses.agent import AgentHarness, AgentSettings, Capabilities, Session
from harnesses.base import GatewayAddress, HarnessFile, Launch
from harnesses.definition import definition_digest, file_digest
from harnesses.errors import LaunchError
from harnesses.instruction import is_plain_word
from harnesses.jsonl import JsonlInterpreter, mapping, text_of
from harnesses.mcp import McpServer
from harnesses.protocol import identity
from harnesses.recipe import InstallRecipe

RECIPE = InstallRecipe(
    name="codex",
    version="0.171.0",
    kind="npm",
    packages=("@openai/codex@0.171.0",),
    program="node_modules/.bin/codex",
    version_argv=("node_modules/.bin/codex", "--version"),
    node=">=16",
)
PROVIDER = "hemra"
CONFIG_FILE, CATALOG_FILE = ".codex/config.toml", ".codex/models.json"
#: The variable that its configuration names for the key.
TOKEN = "HEMRA_GATEWAY_TOKEN"
#: Words that `codex exec` takes for commands of its own where a prompt could stand.
_COMMANDS = frozenset(("resume", "review", "help"))
#: Features that look things up outside, or add tools and words that have to do with its maker's services.
_FEATURES_OFF = (
    "plugins",
    "apps",
    "remote_plugin",
    "plugin_sharing",
    "goals",
    "tool_suggest",
    "skill_search",
    "image_generation",
    "browser_use",
    "computer_use",
    "memories",
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: Why a turn fails when its model's answer was cut at the limit of its length.
_CUT = re.compile(r"\bmax_output_tokens\b")


class CodexSettings(AgentSettings, kw_only=True):
    """`model_catalog`: a file beside the harness file that tells Codex about the model, in the form of
    `codex debug models` of its version; without it a model that its maker does not list gets no `apply_patch`."""

    model_catalog: str | None = None


def config_file(
    gateway: GatewayAddress,
    model: str,
    settings: AgentSettings,
    servers: dict[str, McpServer],
    catalog: str | None = None,
) -> bytes:
    """`config.toml`: the gateway as its provider, nothing to be asked, nothing outside. Its own sandbox is off: it
    runs in ours, where a second one cannot be mounted. `catalog` is the path of a model catalog in the trial."""
    tables: dict[str, dict[str, Any]] = {
        "": {
            "model": model,
            "model_provider": PROVIDER,
            "model_context_window": settings.context_tokens,
            "approval_policy": "never",
            "sandbox_mode": "danger-full-access",
            "check_for_update_on_startup": False,
            "web_search": "disabled",
        },
        f"model_providers.{PROVIDER}": {
            "name": PROVIDER,
            "base_url": gateway.openai_base,
            "env_key": TOKEN,
            "wire_api": "responses",
            "request_max_retries": 2,
            "stream_max_retries": 2,
            "supports_websockets": False,
        },
        "analytics": {"enabled": False},
        "feedback": {"enabled": False},
        "otel": {"exporter": "none"},
        "features": dict.fromkeys(_FEATURES_OFF, False),
        "agents": {"enabled": False},
    }
    if catalog is not None:
        tables[""]["model_catalog_json"] = catalog
    for name, server in servers.items():
        tables[f"mcp_servers.{name}"] = _server(server)
    lines: list[str] = []
    for table, entries in tables.items():
        lines += [f"[{table}]"] if table else []
        lines += [f"{_key(key)} = {_toml(value)}" for key, value in entries.items()]
    return "".join(f"{line}\n" for line in lines).encode()


def _server(server: McpServer) -> dict[str, Any]:
    if server.url is not None:
        return {"url": server.url} | ({"http_headers": server.headers} if server.headers else {})
    told: dict[str, Any] = {"command": server.command, "args": list(server.args)}
    return told | ({"env": server.env} if server.env else {})


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: Any) -> str:
    """A value as TOML writes it: text, whether, whole number, list of texts, mapping of texts."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(below)}" for key, below in value.items()) + " }"
    text = str(value)
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise LaunchError(f"codex: {text!r} is no text that its configuration can hold")
    special = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    plain = (
        special.get(letter) or (f"\\u{ord(letter):04x}" if letter < " " or letter == "\x7f" else letter)
        for letter in text
    )
    return '"' + "".join(plain) + '"'


class CodexHarness(AgentHarness):
    """Codex, told where its model is by `config.toml` in its own CODEX_HOME."""

    recipe = RECIPE
    dialects = ("responses",)
    capabilities = Capabilities(mcp=("stdio", "http"), events=True)
    Settings = CodexSettings
    settings: CodexSettings

    def __init__(self, file: HarnessFile, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(file, folder, environment)
        if self._catalog is not None and self._catalog.is_file():
            # Another catalog makes another harness, as another script does.
            self.definition["files"][str(self.settings.model_catalog)] = file_digest(self._catalog)
            self.digest = definition_digest(self.definition)

    @property
    def _catalog(self) -> Path | None:
        named = self.settings.model_catalog
        return None if named is None else self.folder.absolute() / Path(named).expanduser()

    def problems(self) -> list[str]:
        """Why it could not run on this machine as it is."""
        found = super().problems()
        if self._catalog is not None and not self._catalog.is_file():
            found.append(f"settings.model_catalog: {self._catalog} is not there")
        return found

    def start(self, session: Session) -> Launch:
        """`codex exec --json`, the prompt as an argument; `-` makes it read stdin."""
        trial = session.trial
        spoken = is_plain_word(trial.instruction, taken=_COMMANDS)
        options = ["exec", "--json", "--skip-git-repo-check", "--ephemeral"]
        catalog = self._catalog_content()
        place = None if catalog is None else f"{trial.home}/{CATALOG_FILE}"
        config = config_file(session.gateway, session.model, self.settings, session.mcp, place)
        return Launch(
            argv=[*session.program, *options, trial.instruction if spoken else "-"],
            env={"CODEX_HOME": f"{trial.home}/.codex", TOKEN: session.gateway.token},
            stdin=None if spoken else trial.instruction.encode("utf-8", "surrogatepass"),
            home_files={CONFIG_FILE: config} | ({} if catalog is None else {CATALOG_FILE: catalog}),
            prompt="argument" if spoken else "stdin",
        )

    def _catalog_content(self) -> bytes | None:
        if self._catalog is None:
            return None
        try:
            return self._catalog.read_bytes()
        except OSError as error:
            raise LaunchError(f"harness {self.name}: {self._catalog}: {error.strerror}") from error

    def interpreter(self) -> CodexInterpreter:
        """A new reader for one process."""
        return CodexInterpreter()


class CodexInterpreter(JsonlInterpreter):
    """Reads the events of one process. `turn.completed` or `turn.failed` is its end; an `error`, as an event or as
    an item, is none: the same is told for a connection that is tried again."""

    def __init__(self) -> None:
        super().__init__(
            {
                "thread.started": None,
                "turn.started": self._read_turn,
                "turn.completed": self._read_completed,
                "turn.failed": self._read_failed,
                "item.started": self._read_started,
                "item.updated": self._read_updated,
                "item.completed": self._read_item,
                "error": self._read_error,
            }
        )
        self._items: dict[str, Callable[[dict[str, Any]], list[EventData]]] = {
            "agent_message": self._message,
            "reasoning": lambda item: self.thought(text_of(item.get("text"))),
            "error": self._warning,
        }
        self._tools: dict[str, Callable[[dict[str, Any]], tuple[str, Any, bool | None, Any]]] = {
            "command_execution": _command,
            "file_change": _file_change,
            "mcp_tool_call": _mcp_call,
            "web_search": lambda item: ("web_search", {"query": item.get("query")}, None, item.get("action")),
            "collab_tool_call": _helper,
        }

    def _read_turn(self, told: dict[str, Any]) -> list[EventData]:
        self.ended = False
        return []

    def _read_completed(self, told: dict[str, Any]) -> list[EventData]:
        self.ended, self.failure = True, None
        self._read_usage(told)
        return []

    def _read_failed(self, told: dict[str, Any]) -> list[EventData]:
        self.ended = True
        said = text_of(mapping(told.get("error")).get("message"))
        self.failure = said or self.complaint or "its turn failed, it does not say why"
        if _CUT.search(said):
            self.ended_by_model("answer_cut_at_length")
        self._read_usage(told)
        return []

    def _read_usage(self, told: dict[str, Any]) -> None:
        """The sum over the whole thread, cached input included."""
        usage = mapping(told.get("usage"))
        if usage:
            self.used_in_all(
                {
                    "input_tokens": usage.get("input_tokens"),
                    "cache_read_tokens": usage.get("cached_input_tokens"),
                    "cache_write_tokens": usage.get("cache_write_input_tokens"),
                    "output_tokens": usage.get("output_tokens"),
                    "reasoning_tokens": usage.get("reasoning_output_tokens"),
                }
            )

    def _read_error(self, told: dict[str, Any]) -> list[EventData]:
        text = text_of(told.get("message"))
        if text.startswith("Reconnecting"):
            return self.retried(text)
        self.complaint = text or self.complaint
        return self.warned("harness_error", text) if text else []

    def _read_started(self, told: dict[str, Any]) -> list[EventData]:
        item = mapping(told.get("item"))
        if item.get("type") == "todo_list":
            return self._todo(item, "started")
        reader = self._tools.get(text_of(item.get("type")))
        if reader is None:
            return []
        name, arguments, _, _ = reader(item)
        return self.called(identity(item.get("id")), name, arguments)

    def _read_updated(self, told: dict[str, Any]) -> list[EventData]:
        item = mapping(told.get("item"))
        return self._todo(item, "updated") if item.get("type") == "todo_list" else []

    def _read_item(self, told: dict[str, Any]) -> list[EventData]:
        item = mapping(told.get("item"))
        kind = text_of(item.get("type"))
        if kind in self._items:
            return self._items[kind](item)
        if kind == "todo_list":
            return []
        reader = self._tools.get(kind)
        if reader is None:
            label = f"item.completed/{kind}"[:80]
            self.unknown_kinds[label] = self.unknown_kinds.get(label, 0) + 1
            return []
        name, arguments, ok, result = reader(item)
        call = identity(item.get("id"))
        begun = [] if self.was_called(call) else self.called(call, name, arguments)
        return [*begun, *self.returned(call, ok, result)]

    def _message(self, item: dict[str, Any]) -> list[EventData]:
        return self.said(text_of(item.get("text")))

    def _warning(self, item: dict[str, Any]) -> list[EventData]:
        text = text_of(item.get("message"))
        return self.warned("harness_warning", text) if text else []

    def _todo(self, item: dict[str, Any], when: str) -> list[EventData]:
        """Its list of steps, which it writes by a tool that always does what it says."""
        call = f"{identity(item.get('id'))}-{when}-{self.recognised}"
        return [
            *self.called(call, "update_plan", {"items": item.get("items")}),
            *self.returned(call, True, None),
        ]


def _command(item: dict[str, Any]) -> tuple[str, Any, bool | None, Any]:
    code = item.get("exit_code")
    ok = code == 0 if isinstance(code, int) else item.get("status") == "completed"
    result = {"output": item.get("aggregated_output"), "exit_code": code, "status": item.get("status")}
    return "command_execution", {"command": item.get("command")}, ok, result


def _file_change(item: dict[str, Any]) -> tuple[str, Any, bool | None, Any]:
    return (
        "apply_patch",
        {"changes": item.get("changes")},
        item.get("status") == "completed",
        item.get("status"),
    )


def _mcp_call(item: dict[str, Any]) -> tuple[str, Any, bool | None, Any]:
    name = f"mcp__{text_of(item.get('server'))}__{text_of(item.get('tool'))}"
    error = item.get("error")
    ok = item.get("status") == "completed" and error is None
    return name, item.get("arguments"), ok, item.get("result") if error is None else error


def _helper(item: dict[str, Any]) -> tuple[str, Any, bool | None, Any]:
    done = item.get("status") == "completed"
    return (
        text_of(item.get("tool")) or "agent",
        {"prompt": item.get("prompt")},
        done,
        item.get("agents_states"),
    )
