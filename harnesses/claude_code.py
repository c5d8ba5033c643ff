"""The kind `claude-code`: Claude Code in print mode with its event stream, `claude -p --output-format stream-json`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import ClassVar

from harnesses.agent import AgentHarness, Capabilities, Session
from harnesses.base import Launch
from harnesses.claude_events import ClaudeInterpreter
from harnesses.instruction import is_plain_word
from harnesses.mcp import config_file
from harnesses.recipe import InstallRecipe

RECIPE = InstallRecipe(
    name="claude-code",
    version="2.1.332",
    kind="npm",
    packages=("@anthropic-ai/claude-code@2.1.332",),
    program="node_modules/.bin/claude",
    version_argv=("node_modules/.bin/claude", "--version"),
)
MCP_FILE = "claude-mcp.json"
CONFIG_FOLDER = ".claude"


def session_folder(workspace: str) -> str:
    """Where it keeps the sessions of a folder, relative to HOME: all but letters and digits becomes a dash."""
    return f"{CONFIG_FOLDER}/projects/{re.sub(r'[^A-Za-z0-9]', '-', workspace)}"


class ClaudeCodeHarness(AgentHarness):
    """Claude Code, told where its model is by its environment. A native program: it needs no Node."""

    recipe = RECIPE
    dialects = ("messages",)
    capabilities = Capabilities(
        turn_limit=True,
        tools="each",
        system_prompt=True,
        mcp=("stdio", "http", "sse"),
        events=True,
        session=True,
    )
    tool_names: ClassVar = {
        "terminal": ("Bash",),
        "read_file": ("Read",),
        "write_file": ("Write",),
        "patch": ("Edit",),
    }
    outside_traffic_off: ClassVar = {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
    }

    @property
    def enforces(self) -> frozenset[str]:  # type: ignore[override]
        """Names of the limits that it holds: the tools only where no MCP server brings some of its own."""
        held = replace(self.capabilities, tools="none") if self.settings.mcp_servers else self.capabilities
        return held.enforces

    def start(self, session: Session) -> Launch:
        """`claude -p`, everything permitted: the sandbox is ours. Options that take several words stand before others
        that take one, or they would swallow the prompt."""
        trial = session.trial
        spoken = is_plain_word(trial.instruction)
        argv = [*session.program, "-p", *([trial.instruction] if spoken else []), "--model", session.model,
                "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]  # fmt: skip
        if trial.limits.turns is not None:
            argv += ["--max-turns", str(trial.limits.turns)]
        tools = self.native_tools(trial)
        if tools is not None:
            argv += ["--tools", ",".join(tools)]
        if self.settings.system_prompt:
            argv += ["--append-system-prompt", self.settings.system_prompt]
        if session.mcp:
            argv += ["--mcp-config", f"{trial.harness_dir}/{MCP_FILE}"]
        return Launch(
            argv=[*argv, "--strict-mcp-config"],
            env={
                "CLAUDE_CONFIG_DIR": f"{trial.home}/{CONFIG_FOLDER}",
                "ANTHROPIC_BASE_URL": session.gateway.root,
                "ANTHROPIC_API_KEY": session.gateway.token,
                "CLAUDE_CODE_MAX_RETRIES": "2",
                # Without it root may not skip permissions.
                "IS_SANDBOX": "1",
            }
            # Or their tools are in no request until its own tool finds them, by a feature of its maker's endpoint.
            | ({"ENABLE_TOOL_SEARCH": "false"} if session.mcp else {}),
            stdin=None if spoken else trial.instruction.encode("utf-8", "surrogatepass"),
            files={MCP_FILE: config_file(session.mcp)} if session.mcp else {},
            keep_home=(f"{session_folder(trial.workspace)}/*",),
            prompt="argument" if spoken else "stdin",
        )

    def interpreter(self) -> ClaudeInterpreter:
        """A new reader for one process."""
        return ClaudeInterpreter()
