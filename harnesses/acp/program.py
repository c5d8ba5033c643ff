"""Harnesses that are talked to over ACP: what all of them share, and the kind `acp`, any agent by its command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from harnesses.acp.briefing import brief
from harnesses.agent import AgentHarness, AgentSettings, Capabilities, Session
from harnesses.base import HarnessFile, Launch, TrialInput
from harnesses.errors import HarnessFileError
from harnesses.mcp import TRANSPORTS

S = TypeVar("S", bound=AgentSettings)


class Speaking(AgentHarness):
    """An agent that is talked to over ACP. Its `Settings` have `mode`: the one to work in, by the id that the agent
    lists, where it is not `usual_mode`."""

    usual_mode: str | None = None

    def __init__(self, file: HarnessFile, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        # The schema takes half a second to load: now, and not while trials run.
        import harnesses.acp.client  # noqa: F401

        if file.terminal != "pipes":
            raise HarnessFileError(
                f"terminal: kind {file.kind!r} is talked to over pipes, and has no terminal"
            )
        super().__init__(file, folder, environment)

    def interpreter(self) -> Any:
        """A new AcpClient for one process; what the agent's own kind has, reads something else."""
        from harnesses.acp.client import AcpClient

        return AcpClient()

    def talked_to(self, launch: Launch, session: Session, argv: list[str], **more: Any) -> Launch:
        """A launch of the agent's own kind, made one of `argv` that is talked to. `more` is for the briefing."""
        mode = getattr(self.settings, "mode", None) or self.usual_mode
        briefing = brief(session.trial, session.mcp, mode=mode, tools=self.tool_names, **more)
        return replace(launch, argv=argv, stdin=None, briefing=briefing, prompt="dialogue")


def with_mode(settings: type[S]) -> type[S]:
    """The `settings` of an agent's own kind with one more, `mode`: another than the usual one."""
    mode = ("mode", str | None, None)
    made = msgspec.defstruct(
        settings.__name__, [mode], bases=(settings,), kw_only=True, forbid_unknown_fields=True
    )
    return cast("type[S]", made)


def unspoken(session: Session) -> Session:
    """The session as the agent's own kind is to see it: what is said over ACP is not said in its command or files."""
    return replace(session, mcp={}, trial=replace(session.trial, instruction="."))


class AcpSettings(AgentSettings, kw_only=True):
    """`mode` and `session_model` are chosen in the session, by the ids that the agent lists: what an agent may do
    without asking, say, and which model of its own it uses."""

    mode: str | None = None
    session_model: str | None = None


class AcpHarness(Speaking):
    """Any agent. Its model is behind the gateway where its file has an `upstream`, and its command or `env` tells it
    so by the placeholders for that; without one it calls what it is set up for."""

    dialects = ("chat", "responses", "messages")
    capabilities = Capabilities(mcp=TRANSPORTS, events=True)
    Settings = AcpSettings
    settings: AcpSettings

    def __init__(self, file: HarnessFile, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        if file.command is None:
            raise HarnessFileError(f"kind {file.kind!r} needs a 'command'")
        super().__init__(file, folder, environment)

    @property
    def version_argv(self) -> list[str] | None:
        """The command that prints its version: only what its file says, for what an agent does with a flag that it
        does not know nobody knows."""
        return self.asked_version

    def without_model(self) -> list[str]:
        """It may have a model of its own."""
        return []

    def launch(self, trial: TrialInput) -> Launch:
        """Its command, and what is to be said. Raises LaunchError."""
        argv = self.argv(trial)
        self._check_arguments(argv)
        settings, servers = self.settings, self.servers(trial)
        briefing = brief(trial, servers, mode=settings.mode, model=settings.session_model)
        files = self.mcp_file(servers)
        return Launch(
            argv=argv, env=self.environment(trial), files=files, briefing=briefing, prompt="dialogue"
        )

    def start(self, session: Session) -> Launch:
        """The same: it is launched without a model as well."""
        return self.launch(session.trial)
