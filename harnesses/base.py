"""What a harness is: how one is described, how it is started for a trial, and how what it prints is read.

A harness describes (`launch`) and interprets (`interpreter`); it never starts anything itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import msgspec

from eventlog.schemas.base import EventData
from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Usage

if TYPE_CHECKING:
    from harnesses.mcp import McpServer

Network = Literal["none", "gateway", "full"]
Prompt = Literal["argument", "stdin", "file"]
Terminal = Literal["pipes", "pty"]


Dialect = Literal["chat", "responses", "messages"]


class KeySource(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Where the key of a model's endpoint is: exactly one of a variable of the user's environment, a file of mode
    0600 that holds nothing else, and `SERVICE/USER` of the system's keyring."""

    env: str | None = None
    file: str | None = None
    keyring: str | None = None


class Upstream(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The model's endpoint behind the gateway.

    `base_url` as its provider names it (`https://api.openai.com/v1`, `https://api.anthropic.com`); `dialect` is the
    one that the harness is to speak with it; `headers` are sent with every request. The key never leaves the gateway.
    """

    base_url: str
    dialect: Dialect | None = None
    key: KeySource | None = None
    headers: dict[str, str] = {}


@dataclass(frozen=True, kw_only=True)
class GatewayAddress:
    """Where a trial reaches the model gateway: `root` has no slash at its end and no `/v1`, `token` is given in the
    place of a key. `dialect` is what is spoken there."""

    root: str
    token: str
    dialect: Dialect

    @property
    def openai_base(self) -> str:
        """The base URL as clients of OpenAI's dialects want it."""
        return f"{self.root}/v1"


class HarnessFile(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The content of a harness file.

    A `command` given as text is split as a shell would, but no shell runs it. A value in `env` that is
    `$NAME` passes the variable NAME of the user's environment through. `prompt` says how a `command` harness
    gets its instruction; without it the placeholders in the command decide, else stdin.

    What the harness needs of the machine where its sandbox hides the rest: `read_only` are more files and folders
    to be seen, `login_files` files of the user's home that it logs in with, `network` none, gateway or full.

    `upstream` is the endpoint that the model gateway passes its calls to. `strip_tools`: tools that a task forbids
    are taken out of its requests.
    """

    name: str
    kind: str
    command: list[str] | str | None = None
    version_command: list[str] | str | None = None
    model: str | None = None
    env: dict[str, str] = {}
    settings: dict[str, Any] = {}
    prompt: Prompt | None = None
    terminal: Terminal = "pipes"
    read_only: list[str] = []
    login_files: list[str] = []
    network: Network | None = None
    upstream: Upstream | None = None
    strip_tools: bool = False


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a harness needs of the machine it runs on, for sandboxes that hide it.

    `programs` are those that it starts, by name or path. `own_files` are scripts of its own: what lies beside one
    may be shown too. `read_only` are files and folders that its file names, `login_files` (absolute path, path
    below HOME). `network` is null where the engine decides, by `model`: whether it calls a model by itself.
    """

    programs: tuple[str, ...] = ()
    own_files: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    login_files: tuple[tuple[Path, str], ...] = ()
    network: Network | None = None
    model: bool = True


@dataclass(frozen=True, kw_only=True)
class HarnessTraits:
    """What a harness may say of itself. Each of these has a default, which is what the engine takes it for.

    - `needs`: what it needs of the machine it runs on; by default nothing beside what every trial has
    - `upstream`: the model's endpoint that the gateway passes its calls to; null: it calls none through the gateway
    - `dialect`: what it speaks with the gateway where `upstream` does not say
    - `strip_tools`: tools that a task forbids are taken out of its requests
    - `mcp_transports`: transports of the MCP servers that it takes from a task; null: it does not say, so it is run
      on tasks that bring some, and the record says that they may be missing
    - `mcp_names`: names of the MCP servers that its own file gives it
    - `tool_names`: the tools that it has, as tasks speak of them; empty: it does not say
    """

    needs: Needs = field(default_factory=Needs)
    upstream: Upstream | None = None
    dialect: Dialect = "chat"
    strip_tools: bool = False
    mcp_transports: tuple[str, ...] | None = None
    mcp_names: tuple[str, ...] = ()
    tool_names: Collection[str] = ()

    @property
    def spoken(self) -> Dialect:
        """The dialect that it speaks with the gateway."""
        said = self.upstream.dialect if self.upstream is not None else None
        return said or self.dialect


@dataclass(frozen=True, kw_only=True)
class TrialInput:
    """What a harness is told about a trial. Paths are those that its process sees. `mcp_servers` are those that the
    task brings, by name."""

    run: str
    trial: str
    task: str
    instruction: str
    workspace: str
    home: str
    harness_dir: str
    seed: int
    attempt: int
    limits: Limits
    allowed_tools: list[str] = field(default_factory=list)
    forbidden_tools: list[str] = field(default_factory=list)
    solution_dir: str | None = None
    gateway: GatewayAddress | None = None
    model: str | None = None
    mcp_servers: dict[str, McpServer] = field(default_factory=dict)


#: Where a harness keeps terminals of its own, in the trial's harness folder. See `Launch.terminals`.
TERMINALS = "terminals"


@dataclass(frozen=True, kw_only=True)
class Launch:
    """How to start the harness for one trial. `files` go into the trial's harness folder first, `home_files` (paths
    relative to it) into its HOME; `prompt` says how the instruction goes in: argument, stdin, file or none.

    `keep_home` are paths relative to HOME (the last part may end with `*`) whose files are kept as artifacts
    `home/<path>` and shown to the interpreter. `terminals`: it keeps terminals of its own in the folder TERMINALS
    of the trial's harness folder: `<name>.<columns>x<rows>.tty` holds the bytes that one shows, as they come, and
    `tmux.sock` is the socket of their tmux server.

    `briefing` is what the adapter's `Dialogue` has to know of the trial, in the adapter's own form; `prompt` is then
    `dialogue` and `stdin` is not used."""

    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    home_files: dict[str, bytes] = field(default_factory=dict)
    keep_home: tuple[str, ...] = ()
    terminals: bool = False
    briefing: object = None
    prompt: str = "none"


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What the adapter makes of the whole.

    `outcome` is null when how the process ended decides; a limit that fired goes before it. `usage` is null
    when nothing was told. `recognised` and `unrecognised` count lines of a structured output. Flags:

    - `no_output`: it printed nothing, or its final answer was empty
    - `nonzero_exit`: its exit code was not 0
    - `output_truncated`: the final answer is head and tail only; the whole is in the artifact `stdout`
    - `no_hello`, `other_protocol`, `incomplete_stream`, `several_finals`, `line_too_long`, `bad_usage`,
      `usage_partial`, `cost_partial`, `over_turn_limit`, `over_token_limit`, `deep_nesting`, `unknown_lines`,
      `adapter_mismatch`: see docs/harness-protocol.md
    """

    outcome: str | None = None
    reason: str | None = None
    final_text: str | None = None
    usage: Usage | None = None
    recognised: int = 0
    unrecognised: int = 0
    flags: list[str] = field(default_factory=list)


class Interpreter(Protocol):
    """Reads what one harness process prints."""

    @property
    def ended(self) -> bool:
        """Whether the harness has said that it is done."""

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """Take a chunk of `stdout` or `stderr` as it came. Returns the events that it completed."""

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """The output is over. Both are null when the process was stopped by us."""


@runtime_checkable
class FileReader(Protocol):
    """An interpreter that reads files too, beside what is printed."""

    def files(self, found: dict[str, bytes]) -> None:
        """What the program left of `Launch.keep_home`, by path relative to HOME: after its end, before `finish`."""


@runtime_checkable
class Dialogue(Protocol):
    """An interpreter that also talks: what it has to say is written to the program's stdin, which stays open until
    it has `ended`, and a moment longer for what the program says late.

    `patience` is how many seconds after its start the program may take to be `ready`: to have taken its task.
    """

    patience: float

    @property
    def ready(self) -> bool:
        """Whether the program has been given its task, for which it may take all the time of the trial."""

    def begin(self, launch: Launch) -> None:
        """The program is about to be started like this."""

    def say(self) -> bytes:
        """What is to be written now; empty for nothing. Asked at the start, and after whatever else is called."""

    def give_up(self) -> None:
        """The program was not ready in time: it is ended now."""

    def cancel(self) -> None:
        """The program is about to be ended from outside; the last chance to ask it to stop by itself."""


class Harness(Protocol):
    """One harness of a plan. `definition` is what is recorded of it: environment by name only. All of this has to be
    there; what may be left out is in `traits`."""

    @property
    def name(self) -> str:
        """Its name in reports."""

    @property
    def kind(self) -> str:
        """Which adapter it uses."""

    @property
    def digest(self) -> str:
        """`sha256:<hex>` over the definition."""

    @property
    def definition(self) -> dict[str, Any]:
        """What is recorded of it."""

    @property
    def terminal(self) -> Terminal:
        """Whether its output is two pipes or one terminal."""

    @property
    def version_argv(self) -> list[str] | None:
        """The command that prints its version, if there is one."""

    @property
    def needs_solution(self) -> bool:
        """Whether it is given the task's reference solution."""

    @property
    def records_tools(self) -> bool:
        """Whether every tool call that it makes is told, so that a call that is not told was not made."""

    @property
    def enforces(self) -> frozenset[str]:
        """Names of the limits that it holds by itself."""

    @property
    def traits(self) -> HarnessTraits:
        """What else it says of itself."""

    def secrets(self) -> dict[str, str]:
        """Values that must never be recorded, by the name of the variable that they come from."""

    def problems(self) -> list[str]:
        """Why it could not run on this machine as it is, one line each; empty when it could."""

    def launch(self, trial: TrialInput) -> Launch:
        """How to start it for a trial. Raises LaunchError."""

    def interpreter(self) -> Interpreter:
        """A new reader for one process."""
