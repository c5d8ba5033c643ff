"""The kind `hermes`: Hermes Agent, one prompt to its end by `hermes chat`.

By its plain command line Hermes can be held to whole toolsets, and takes a prompt that the system takes as one
argument. For more (exactly the tools of a task, a longer prompt, a terminal in tmux) a small launcher sets that up
in Hermes' own Python and then starts the same command.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from importlib.resources import files
from typing import ClassVar, cast

from harnesses.agent import AgentHarness, Capabilities, Session
from harnesses.base import TERMINALS, HarnessFile, Launch, Needs, TrialInput
from harnesses.errors import HarnessFileError, LaunchError
from harnesses.hermes.answer import HermesInterpreter
from harnesses.hermes.config import HOME, HermesSettings, home_files
from harnesses.hermes.interpreter import Started, started_by
from harnesses.hermes.tools import EXACT, NONE, TOOL_NAMES, toolsets_with
from harnesses.instruction import is_plain_word
from harnesses.mcp import McpServer
from harnesses.recipe import InstallRecipe

VERSION = "0.19.0"
LAUNCHER, OPTIONS, PROMPT = "hermes/launcher.py", "hermes/options.json", "hermes/prompt.txt"
#: What of HOME is kept: the session with its write-ahead log, dumps of failed requests, the logs.
KEPT = tuple(f"{HOME}/{name}" for name in ("state.db", "state.db-wal", "sessions/*", "logs/*"))


_ASK_VERSION = "import importlib.metadata as m; print('hermes-agent', m.version('hermes-agent'))"


class HermesHarness(AgentHarness):
    """Hermes Agent, real and unchanged."""

    recipe = InstallRecipe(
        name="hermes", version=VERSION, kind="pip", packages=(f"hermes-agent[acp,anthropic,mcp]=={VERSION}",),
        program="bin/hermes", python=">=3.11,<3.14",
        # `hermes --version` makes a home of its own and looks for newer versions.
        version_argv=("bin/python", "-I", "-c", _ASK_VERSION),
    )  # fmt: skip
    dialects = ("chat", "responses", "messages")
    capabilities = Capabilities(
        turn_limit=True, tools="each", system_prompt=True, resume=True, mcp=("stdio", "http"), session=True
    )
    tool_names = TOOL_NAMES
    outside_traffic_off: ClassVar[dict[str, str]] = {"HERMES_DISABLE_LAZY_INSTALLS": "1"}
    Settings = HermesSettings
    bounds: ClassVar = AgentHarness.bounds | {"api_max_retries": (0, 100)}  # type: ignore[operator]
    settings: HermesSettings

    @cached_property
    def started(self) -> Started | None:
        """The Python that Hermes runs in; None where its program does not say."""
        if self.place is not None:
            return Started(python=(str(self.place / "bin" / "python"),), arguments=())
        return started_by(self._absolute(self.words), self._user.get("PATH")) if self.words else None

    @property
    def exact(self) -> bool:
        """Whether its model is offered exactly the tools of a task."""
        return self.settings.exact_tools and self.started is not None

    @property
    def enforces(self) -> frozenset[str]:  # type: ignore[override]
        """Names of the limits that it holds: the tools only where no MCP server brings some of its own."""
        if self.exact and not self.settings.mcp_servers:
            return self.capabilities.enforces
        return replace(self.capabilities, tools="groups").enforces

    @property
    def version_argv(self) -> list[str] | None:
        """The command that prints its version; a program of the user's is asked only as its file says."""
        if self._version is None and self.place is None:
            return None
        return super().version_argv

    @property
    def needs(self) -> Needs:
        """What it needs of the machine."""
        needs = super().needs
        started = self.started
        return replace(
            needs,
            programs=(
                *needs.programs,
                *(started.python[:1] if started is not None else ()),
                *(("tmux",) if self.settings.terminal == "tmux" else ()),
            ),
        )

    def problems(self) -> list[str]:
        """Why it could not run on this machine as it is."""
        found = super().problems()
        if self.settings.terminal == "tmux":
            if shutil.which("tmux", path=self._user.get("PATH")) is None:
                found.append(
                    "settings.terminal: program 'tmux' is not on PATH; install it, or leave the setting out"
                )
            if self.words and self.started is None:
                found.append(f"settings.terminal: {self._no_python()}")
        return found

    def start(self, session: Session) -> Launch:
        """`hermes chat` for this trial. Raises LaunchError where its Python is needed and not known."""
        trial, servers = session.trial, session.mcp
        plain = is_plain_word(trial.instruction, marks="")
        tools = self.native_tools(trial)
        exact = tools if tools is not None and self.exact else None
        options = {"tools": exact, "prompt": None if plain else PROMPT,
                   "terminal": TERMINALS if self.settings.terminal == "tmux" else None}  # fmt: skip
        needed = exact is not None or not plain or options["terminal"] is not None
        if needed and self.started is None:
            raise LaunchError(f"harness {self.name}: {self._no_python()}")
        arguments = self._arguments(trial, self._toolsets(tools, exact is not None, servers), plain)
        launch = Launch(
            argv=[*session.program, *arguments],
            env={"HERMES_HOME": f"{trial.home}/{HOME}"},
            home_files=home_files(session, self.settings, self.recipe.version),
            keep_home=KEPT,
            prompt="argument" if plain else "file",
        )
        return self._through_launcher(launch, trial, arguments, options) if needed else launch

    def interpreter(self) -> HermesInterpreter:
        """A new reader for one process."""
        return HermesInterpreter()

    def _checked(self, file: HarnessFile) -> HermesSettings:
        settings = cast(HermesSettings, super()._checked(file))
        if settings.terminal not in (None, "tmux"):
            raise HarnessFileError(f"settings.terminal: {settings.terminal!r}: only 'tmux' can be named")
        if settings.api_max_retries < 1:
            raise HarnessFileError(f"settings.api_max_retries: {settings.api_max_retries}: at least 1")
        return settings

    def _no_python(self) -> str:
        return (
            f"{self.words[0]} does not name the Python that Hermes runs in, which this needs: give its own `hermes` "
            "script as 'command', or leave 'command' out and run: hemra harness install hermes"
        )

    def _toolsets(self, tools: list[str] | None, exact: bool, servers: dict[str, McpServer]) -> list[str]:
        """Names for `-t`; none for Hermes' own choice. Servers have to be named as soon as anything is."""
        if exact:
            chosen = [EXACT]
        elif tools is not None:
            chosen = toolsets_with(tools)
        else:
            chosen = list(self.settings.toolsets)
        if chosen and servers:
            chosen = [name for name in chosen if name != NONE] + list(servers)
        return chosen

    @staticmethod
    def _arguments(trial: TrialInput, toolsets: list[str], plain: bool) -> list[str]:
        return [
            "chat",
            *([f"--query={trial.instruction}"] if plain else []),
            "-Q",
            *(["-t", ",".join(toolsets)] if toolsets else []),
            "--yolo",
            *(["--max-turns", str(trial.limits.turns)] if trial.limits.turns is not None else []),
            "--source",
            "tool",
        ]

    def _through_launcher(
        self, launch: Launch, trial: TrialInput, arguments: list[str], options: Mapping[str, object],
        toolset: str = EXACT,
    ) -> Launch:  # fmt: skip
        assert self.started is not None
        own = files("harnesses.hermes.inside")
        put = {
            f"hermes/{name}": own.joinpath(name).read_bytes()
            for name in ("launcher.py", "panes.py", "hand.py")
        }
        put[OPTIONS] = json.dumps({**options, "toolset": toolset, "harness_dir": trial.harness_dir}).encode(
            "ascii"
        )
        if options["prompt"] is not None:
            put[PROMPT] = trial.instruction.encode("utf-8", "surrogatepass")
        python = [*self.started.python, "-P", f"{trial.harness_dir}/{LAUNCHER}"]
        return replace(
            launch, argv=[*python, f"{trial.harness_dir}/{OPTIONS}", *self.started.arguments, *arguments],
            files=put, terminals=options["terminal"] is not None,
        )  # fmt: skip
