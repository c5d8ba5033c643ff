"""Agents whose command over ACP is known: each is told where its model is as its own kind tells it, and is given the
mode in which it asks the fewest questions: the sandbox around it is ours."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from harnesses.acp.program import Speaking, unspoken, with_mode
from harnesses.agent import AgentSettings, Capabilities, Session
from harnesses.base import HarnessFile, Launch
from harnesses.claude_code import ClaudeCodeHarness
from harnesses.codex import CodexHarness, CodexSettings
from harnesses.errors import HarnessFileError
from harnesses.hermes import HermesHarness
from harnesses.hermes.config import HermesSettings
from harnesses.opencode import OpencodeHarness
from harnesses.pi import PROVIDER as PI_PROVIDER
from harnesses.pi import RECIPE as PI_RECIPE
from harnesses.pi import PiHarness, PiSettings
from harnesses.recipe import InstallRecipe


class HermesAcpHarness(Speaking, HermesHarness):
    """Hermes Agent by `hermes acp`. It asks before dangerous commands, whatever its mode."""

    capabilities = Capabilities(tools="each", system_prompt=True, mcp=("stdio",), events=True, session=True)
    Settings = with_mode(HermesSettings)
    usual_mode = "dont_ask"

    def start(self, session: Session) -> Launch:
        """`hermes acp` with the files of the kind `hermes`. Its toolset is fixed: one of exactly the task's tools takes
        its place."""
        plain = unspoken(session)
        free = replace(plain, trial=replace(plain.trial, allowed_tools=[], forbidden_tools=[]))
        launch, argv = super().start(free), [*session.program, "acp"]
        tools = self.native_tools(session.trial)
        if tools is not None and self.exact:
            options = {"tools": tools, "prompt": None, "terminal": None}
            launch = self._through_launcher(launch, session.trial, ["acp"], options, toolset="hermes-acp")
            argv = launch.argv
        return self.talked_to(launch, session, argv)

    def _checked(self, file: HarnessFile) -> HermesSettings:
        for name in ("terminal", "toolsets"):
            if name in file.settings:
                raise HarnessFileError(
                    f"settings.{name}: only kind 'hermes' has it: over ACP Hermes does not"
                )
        return super()._checked(file)


class ClaudeAcpHarness(Speaking, ClaudeCodeHarness):
    """Claude Code by `claude-agent-acp`, which takes options of its library with the session."""

    recipe = InstallRecipe(
        name="claude-agent-acp",
        version="0.101.0",
        kind="npm",
        packages=("@agentclientprotocol/claude-agent-acp@0.101.0",),
        program="node_modules/.bin/claude-agent-acp",
        version_argv=("node_modules/.bin/claude-agent-acp", "--version"),
        node=">=22",
    )
    capabilities = replace(ClaudeCodeHarness.capabilities, mcp=("stdio", "http", "sse"))
    outside_traffic_off: ClassVar = {
        **ClaudeCodeHarness.outside_traffic_off,
        "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
    }
    Settings = with_mode(AgentSettings)
    usual_mode = "bypassPermissions"

    def start(self, session: Session) -> Launch:
        """Its environment as for `claude-code`; turns, tools and prompt go with `session/new`."""
        trial = session.trial
        # Servers change its environment as well.
        launch = super().start(replace(unspoken(session), mcp=session.mcp))
        options: dict[str, Any] = {"strictMcpConfig": True, "promptSuggestions": False, "title": "trial"}
        if trial.limits.turns is not None:
            options["maxTurns"] = trial.limits.turns
        tools = self.native_tools(trial)
        if tools is not None:
            options["tools"] = tools
        meta: dict[str, Any] = {"claudeCode": {"options": options}}
        if self.settings.system_prompt:
            meta["systemPrompt"] = {"append": self.settings.system_prompt}
        known = replace(launch, env=launch.env | {"ANTHROPIC_MODEL": session.model}, files={})
        return self.talked_to(known, session, session.program, meta=meta)


class CodexAcpHarness(Speaking, CodexHarness):
    """Codex by `codex-acp`, which brings a Codex of its own."""

    recipe = InstallRecipe(
        name="codex-acp",
        version="2.6.0",
        kind="npm",
        packages=("@agentclientprotocol/codex-acp@2.6.0",),
        program="node_modules/.bin/codex-acp",
        version_argv=("node_modules/.bin/codex-acp", "--version"),
        node=">=20",
    )
    capabilities = replace(CodexHarness.capabilities, mcp=("stdio", "http"))
    Settings = with_mode(CodexSettings)
    usual_mode = "agent-full-access"

    def start(self, session: Session) -> Launch:
        """Its configuration as for `codex`."""
        return self.talked_to(super().start(unspoken(session)), session, session.program)


class PiAcpHarness(Speaking, PiHarness):
    """Pi by `pi-acp`, which starts it. What went wrong with its model it does not tell: the gateway knows."""

    recipe = InstallRecipe(
        name="pi-acp",
        version="0.0.34",
        kind="npm",
        packages=("pi-acp@0.0.34", *PI_RECIPE.packages),
        program="node_modules/.bin/pi-acp",
        version_argv=("node", "-p", "require('{place}/node_modules/pi-acp/package.json').version"),
        node=PI_RECIPE.node,
    )
    capabilities = Capabilities(events=True, session=True)
    Settings = PiSettings

    def start(self, session: Session) -> Launch:
        """Its models as for `pi`, and which of them it is to use; its welcome would pass for an answer."""
        launch = super().start(unspoken(session))
        chosen = {"defaultProvider": PI_PROVIDER, "defaultModel": session.model, "quietStartup": True}
        files = launch.home_files | {".pi/agent/settings.json": json.dumps(chosen).encode()}
        argv = session.program
        env = dict(launch.env)
        if self.place is not None:
            env["PI_ACP_PI_COMMAND"] = str(self.place / PI_RECIPE.program)
            argv = with_own_node(self.recipe, self.place, argv)
        return self.talked_to(replace(launch, env=env, home_files=files), session, argv)


class OpencodeAcpHarness(Speaking, OpencodeHarness):
    """OpenCode by `opencode acp`."""

    def start(self, session: Session) -> Launch:
        """Its configuration as for `opencode`. Its last reply tells what the last call used, and no more."""
        launch = super().start(unspoken(session))
        return self.talked_to(launch, session, [*session.program, "acp"], sums=False)


def with_own_node(recipe: InstallRecipe, place: Path, argv: list[str]) -> list[str]:
    """`argv` with the Node that was installed beside it first on PATH, for the programs that it starts in turn."""
    if recipe.own_node(place) is None:
        return argv
    own = place / "node_modules" / "node" / "bin"
    return ["/bin/sh", "-c", 'PATH="$1:$PATH"; export PATH; shift; exec "$@"', "sh", str(own), *argv]
