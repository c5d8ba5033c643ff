"""What all adapters of real agents have in common: the program, the model behind the gateway, tools, MCP servers.

An adapter names its program (`recipe`), says what it can be held to (`capabilities`, `tool_names`), and in `start`
how it is started for a trial. The rest is here: the harness file is checked, the installed program found, what the
agent would do outside switched off, stdin closed.
"""

from __future__ import annotations

import difflib
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

import msgspec

from harnesses import mcp, placeholders
from harnesses.base import (
    Dialect,
    GatewayAddress,
    HarnessFile,
    HarnessTraits,
    Interpreter,
    Launch,
    Needs,
    TrialInput,
)
from harnesses.command import ARGUMENT_BYTES
from harnesses.definition import definition_digest, file_digest, local_files, passes_through
from harnesses.described import DescribedHarness
from harnesses.enums import with_choices
from harnesses.errors import HarnessFileError, LaunchError
from harnesses.mcp import McpServer
from harnesses.recipe import InstallRecipe, installed

#: No model has as long a window; one that is told more has surely been told something else.
MOST_TOKENS = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What an agent can be told to keep to, and what it tells.

    - `turn_limit`: it ends by itself after so many turns
    - `tools`: `each`: exactly the tools of a list are offered to its model; `groups`: whole groups of them; `none`
    - `system_prompt`: text can be added to its own; `resume`: it can go on with an earlier session
    - `mcp`: transports of the MCP servers that it takes
    - `events`: it prints what it does while it does it; `session`: it leaves a record of the conversation in HOME
    """

    turn_limit: bool = False
    tools: Literal["each", "groups", "none"] = "none"
    system_prompt: bool = False
    resume: bool = False
    mcp: tuple[str, ...] = ()
    events: bool = False
    session: bool = False

    @property
    def enforces(self) -> frozenset[str]:
        """Names of the limits and fields of a task that it holds by itself."""
        return frozenset(
            (["turns"] if self.turn_limit else [])
            + (["allowed_tools", "forbidden_tools"] if self.tools == "each" else [])
        )


class AgentSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """`settings` of a harness file that all agents know; an adapter adds its own.

    `context_tokens` is the size of the model's window and `output_tokens` the most of one answer, for agents that
    must be told; without the latter it is what the agent asks for by itself. `system_prompt` is added to its own.
    """

    mcp_servers: dict[str, McpServer] = {}
    system_prompt: str | None = None
    context_tokens: int = 131072
    output_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Session:
    """What an agent is started with. `program` are the words that start it, `mcp` its servers and the task's,
    resolved."""

    trial: TrialInput
    gateway: GatewayAddress
    model: str
    program: list[str]
    mcp: dict[str, McpServer]


class AgentHarness(DescribedHarness):
    """An agent that talks to its model through the gateway. Its file has `upstream` and `model`, and a `command`
    only where another program than the installed one is to be started.

    `dialects` are those that it can speak, the first is the default. `tool_names`: the tools that tasks speak of, and
    what the agent calls them. `outside_traffic_off` are variables that switch off what it would do on the network
    besides. `version_flags` make a `command` print its version.
    """

    recipe: ClassVar[InstallRecipe]
    dialects: ClassVar[tuple[Dialect, ...]]
    capabilities: ClassVar[Capabilities]
    tool_names: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    outside_traffic_off: ClassVar[Mapping[str, str]] = {}
    version_flags: ClassVar[tuple[str, ...]] = ("--version",)
    Settings: ClassVar[type[AgentSettings]] = AgentSettings
    #: The least and the most that a number among its settings can be.
    bounds: ClassVar[Mapping[str, tuple[int, int]]] = {
        "context_tokens": (1, MOST_TOKENS),
        "output_tokens": (1, MOST_TOKENS),
    }

    def __init__(self, file: HarnessFile, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.place = None if file.command is not None else installed(self.recipe.name, self.recipe.version)
        super().__init__(file, folder, environment)
        self.settings = self._checked(file)
        self.dialect: Dialect = self._spoken(file)
        self.definition |= {
            "dialect": self.dialect,
            "files": self.definition["files"] | self._files_of_servers(),
        }
        if file.command is None:
            self.definition["installed"] = {
                "version": self.recipe.version,
                "packages": list(self.recipe.packages),
            }
        self.digest = definition_digest(self.definition)

    @property
    def enforces(self) -> frozenset[str]:  # type: ignore[override]
        """Names of the limits that it holds by itself."""
        return self.capabilities.enforces

    @property
    def traits(self) -> HarnessTraits:
        """What its file says of it, and what its adapter knows of the agent."""
        return replace(
            super().traits,
            dialect=self.dialect,
            mcp_transports=self.capabilities.mcp,
            mcp_names=tuple(self.settings.mcp_servers),
            tool_names=self.tool_names,
        )

    def program(self, given: list[str] | None) -> list[str]:
        """The words of its file, else those of the installed program; none where it is not installed."""
        if given is not None:
            return given
        return [] if self.place is None else self.recipe.argv(self.place)

    @property
    def version_argv(self) -> list[str] | None:
        """The command that prints its version."""
        if self._version is not None:
            return self.asked_version
        if self.place is not None:
            return self.recipe.asks_version(self.place)
        if not self.words or placeholders.names_in(self.words):
            return None
        return [*self._absolute(self.words), *self.version_flags]

    @property
    def needs(self) -> Needs:
        """What it needs of the machine: its program, where that is installed, the programs of its MCP servers."""
        servers = [server.words for server in self.settings.mcp_servers.values() if server.words]
        own = [path for words in servers for path in local_files(words, self.folder.absolute()).values()]
        programs = [self._absolute(words)[0] for words in servers]
        if not self.words:
            return Needs(programs=tuple(programs), own_files=tuple(own), network=self.file.network)
        needs = super().needs
        installed_in = () if self.place is None else (self.place,)
        return replace(
            needs,
            programs=(*needs.programs, *(self.words if self.place else []), *programs),
            own_files=(*needs.own_files, *own),
            read_only=(*needs.read_only, *installed_in),
        )

    def problems(self) -> list[str]:
        """Why it could not run on this machine as it is, one line each."""
        found = [*super().problems(), *self.without_model()]
        for name, server in self.settings.mcp_servers.items():
            for key, value in server.values.items():
                source = passes_through(value)
                if source is not None and source not in self._user:
                    found.append(f"settings.mcp_servers.{name}: {key} takes ${source} from your environment, "
                                 "where it is not set")  # fmt: skip
        return found

    def secrets(self) -> dict[str, str]:
        """What must never be recorded, what its MCP servers are given from the user's environment among it."""
        found = super().secrets()
        for server in self.settings.mcp_servers.values():
            for value in server.values.values():
                source = passes_through(value)
                if source is not None and self._user.get(source):
                    found[source] = self._user[source]
        return found

    def launch(self, trial: TrialInput) -> Launch:
        """How to start it for a trial. Raises LaunchError."""
        if not self.words:
            raise LaunchError(self._not_installed())
        if trial.gateway is None:
            raise LaunchError(
                f"harness {self.name}: it has no 'upstream', so there is no model endpoint that it could be given"
            )
        model = trial.model or self.file.model
        if not model:
            raise LaunchError(f"harness {self.name}: it has no 'model'")
        session = Session(
            trial=trial, gateway=trial.gateway, model=model, program=self.argv(trial), mcp=self.servers(trial)
        )
        launch = self.start(session)
        self._check_arguments(launch.argv)
        environment = {**self.outside_traffic_off, **launch.env, **self.environment(trial)}
        files = self.mcp_file(session.mcp) | launch.files
        return replace(launch, env=environment, files=files, stdin=launch.stdin or b"")

    def servers(self, trial: TrialInput) -> dict[str, McpServer]:
        """The MCP servers of its file and those of the task, resolved. Raises LaunchError."""
        known = placeholders.values(self.file, trial)
        own = mcp.for_trial(self.settings.mcp_servers, self.folder.absolute(), known, self._user)
        return mcp.merged(own, trial.mcp_servers)

    @abstractmethod
    def start(self, session: Session) -> Launch:
        """Command, environment and files for one trial. `env` needs neither `outside_traffic_off` nor the file's."""

    @abstractmethod
    def interpreter(self) -> Interpreter:
        """A new reader for one process."""

    def native_tools(self, trial: TrialInput) -> list[str] | None:
        """The agent's own names of the tools that a task leaves it, in the order of `tool_names`; None where the
        task leaves it all of them. A tool that the agent does not have is left out."""
        if not trial.allowed_tools and not trial.forbidden_tools:
            return None
        wanted = trial.allowed_tools or list(self.tool_names)
        names = [
            native
            for tool, natives in self.tool_names.items()
            if tool in wanted and tool not in trial.forbidden_tools
            for native in natives
        ]
        return list(dict.fromkeys(names))

    def _missing_program(self, words: list[str], field: str) -> list[str]:
        return super()._missing_program(words, field) if words else [self._not_installed()]

    def _not_installed(self) -> str:
        recipe = self.recipe
        return (
            f"{recipe.name} {recipe.version} is not installed; run: hemra harness install {recipe.name} "
            "(or name another program as 'command')"
        )

    def _checked(self, file: HarnessFile) -> AgentSettings:
        """Its settings. Raises HarnessFileError for one that the adapter does not know."""
        known = self.Settings.__struct_fields__
        for name in file.settings:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
                raise HarnessFileError(f"settings: kind {file.kind!r} has no {name!r}: {hint}")
        try:
            settings = msgspec.convert(file.settings, self.Settings)
        except msgspec.ValidationError as error:
            complaint, _, place = str(error).partition(" - at `")
            complaint = with_choices(complaint, self.Settings, place.rstrip("`"))
            where = place.rstrip("`").removeprefix("$").replace("[...]", "")
            raise HarnessFileError(f"settings{where}: {complaint[:1].lower()}{complaint[1:]}") from error
        for name, (least, most) in self.bounds.items():
            value = getattr(settings, name)
            if value is not None and not least <= value <= most:
                raise HarnessFileError(f"settings.{name}: {value}: from {least} to {most}")
        if settings.system_prompt is not None and not self.capabilities.system_prompt:
            raise HarnessFileError(f"settings.system_prompt: kind {file.kind!r} has no way to add one")
        mcp.check(settings.mcp_servers, self.capabilities.mcp)
        return settings

    def _spoken(self, file: HarnessFile) -> Dialect:
        wanted = file.upstream.dialect if file.upstream is not None else None
        if wanted is None:
            return self.dialects[0]
        if wanted not in self.dialects:
            raise HarnessFileError(
                f"upstream.dialect: kind {file.kind!r} does not speak {wanted!r}; it speaks {', '.join(self.dialects)}"
            )
        return wanted

    def _files_of_servers(self) -> dict[str, str]:
        words = [word for server in self.settings.mcp_servers.values() for word in server.words]
        return {word: file_digest(path) for word, path in sorted(local_files(words, self.folder).items())}

    def _check_arguments(self, argv: list[str]) -> None:
        for word in argv:
            size = len(word.encode("utf-8", "surrogatepass"))
            if size > ARGUMENT_BYTES:
                raise LaunchError(
                    f"harness {self.name}: an argument of {size} bytes is more than the system takes"
                )
            if "\0" in word:
                raise LaunchError(f"harness {self.name}: an argument cannot hold a NUL character")
