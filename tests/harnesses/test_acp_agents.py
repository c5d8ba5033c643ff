"""The kinds of agents over ACP: what each is started with, what is written for it, what it is told in the session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.runs import Limits
from harnesses import recipe
from harnesses.acp import (
    AcpHarness,
    ClaudeAcpHarness,
    CodexAcpHarness,
    HermesAcpHarness,
    OpencodeAcpHarness,
    PiAcpHarness,
)
from harnesses.acp.briefing import Briefing
from harnesses.acp.program import Speaking
from harnesses.base import Dialogue, Launch
from harnesses.errors import HarnessFileError, LaunchError
from harnesses.registry import KINDS
from tests.harnesses.adapters import gateway, made
from tests.harnesses.trial_inputs import trial_input

KNOWN: dict[str, type[Speaking]] = {
    "hermes-acp": HermesAcpHarness,
    "claude-agent-acp": ClaudeAcpHarness,
    "codex-acp": CodexAcpHarness,
    "pi-acp": PiAcpHarness,
    "opencode-acp": OpencodeAcpHarness,
}
every_known = pytest.mark.parametrize("kind", KNOWN)


def launched(
    adapter: type[Speaking], folder: Path, *, file: dict[str, Any] | None = None, **trial: Any
) -> Launch:
    """The launch of an adapter for a trial."""
    harness = made(adapter, folder, **(file or {}))
    return harness.launch(trial_input(gateway=gateway(harness.dialect), **trial))


def briefing(launch: Launch) -> Briefing:
    """What its client is told."""
    assert isinstance(launch.briefing, Briefing)
    return launch.briefing


@every_known
def test_a_known_agent_is_talked_to(kind: str, tmp_path: Path) -> None:
    """The task would be in the agent's command, where it does not look for it."""
    assert KINDS[kind] is KNOWN[kind]
    launch = launched(KNOWN[kind], tmp_path)
    assert (launch.prompt, launch.argv[0]) == ("dialogue", "agent")
    assert "Say hello" not in " ".join(launch.argv)
    told = briefing(launch)
    assert (told.instruction, told.workspace) == ("Say hello to Zoë ☕.", "/scratch/workspace")
    assert isinstance(made(KNOWN[kind], tmp_path).interpreter(), Dialogue)
    content = [*launch.env.values(), *(each.decode() for each in launch.home_files.values())]
    assert any("trial-token" in each for each in content)
    assert any("127.0.0.1:4000/t/0001" in each for each in content)


@pytest.mark.parametrize(
    ("kind", "argv", "mode"),
    [
        ("hermes-acp", ["agent", "acp"], "dont_ask"),
        ("claude-agent-acp", ["agent"], "bypassPermissions"),
        ("codex-acp", ["agent"], "agent-full-access"),
        ("pi-acp", ["agent"], None),
        ("opencode-acp", ["agent", "acp"], None),
    ],
)
def test_its_command_and_its_mode(kind: str, argv: list[str], mode: str | None, tmp_path: Path) -> None:
    """An agent that asks before each step, or that is not a server, does nothing."""
    launch = launched(KNOWN[kind], tmp_path)
    assert (launch.argv, briefing(launch).mode) == (argv, mode)
    if mode is not None:
        other = launched(KNOWN[kind], tmp_path, file={"settings": {"mode": "careful"}})
        assert briefing(other).mode == "careful"


def test_claude_is_told_its_limits_with_the_session(tmp_path: Path) -> None:
    """It has no options on its command line: a limit or a list of tools would be held by nobody."""
    launch = launched(
        ClaudeAcpHarness, tmp_path, file={"settings": {"system_prompt": "Be brief."}},
        limits=Limits(turns=7), allowed_tools=["terminal", "read_file"],
    )  # fmt: skip
    assert briefing(launch).meta == {
        "claudeCode": {"options": {"strictMcpConfig": True, "promptSuggestions": False, "title": "trial",
                                   "maxTurns": 7, "tools": ["Bash", "Read"]}},
        "systemPrompt": {"append": "Be brief."},
    }  # fmt: skip
    assert launch.env["ANTHROPIC_MODEL"] == "test-model"
    assert launch.env["CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION"] == "false"
    assert launch.files == {}
    assert made(ClaudeAcpHarness, tmp_path).enforces == {"turns", "allowed_tools", "forbidden_tools"}


def test_servers_are_named_in_the_session_and_nowhere_else(tmp_path: Path) -> None:
    """A server that stands in an agent's configuration too would be started twice."""
    servers = {"calc": {"command": "calc", "args": ["{workspace}"]}}
    for kind in ("hermes-acp", "claude-agent-acp", "codex-acp", "opencode-acp"):
        launch = launched(KNOWN[kind], tmp_path, file={"settings": {"mcp_servers": servers}})
        assert briefing(launch).servers["calc"].args == ("/scratch/workspace",)
        content = b"".join([*launch.home_files.values(), *launch.files.values()])
        assert b"calc" not in content
        assert ("ENABLE_TOOL_SEARCH" in launch.env) == (kind == "claude-agent-acp")
    with pytest.raises(HarnessFileError, match="takes no stdio server"):
        made(PiAcpHarness, tmp_path, settings={"mcp_servers": servers})


def test_pi_knows_which_model_it_is_to_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would ask for a login; its welcome would pass for an answer; it would not find its Pi."""
    launch = launched(PiAcpHarness, tmp_path)
    told = json.loads(launch.home_files[".pi/agent/settings.json"])
    assert told == {"defaultProvider": "hemra", "defaultModel": "test-model", "quietStartup": True}
    assert ".pi/agent/models.json" in launch.home_files
    monkeypatch.setenv(recipe.VARIABLE, str(tmp_path / "installed"))
    pinned = PiAcpHarness.recipe
    place = tmp_path / "installed" / pinned.name / pinned.version
    own = place / "node_modules" / ".bin" / "node"
    own.parent.mkdir(parents=True)
    own.touch()
    (place / recipe.MANIFEST).touch()
    launch = launched(PiAcpHarness, tmp_path, file={"command": None})
    assert launch.env["PI_ACP_PI_COMMAND"] == f"{place}/node_modules/.bin/pi"
    assert launch.argv[0] == "/bin/sh"
    assert launch.argv[-3:] == [f"{place}/node_modules/node/bin", str(own), f"{place}/{pinned.program}"]
    assert pinned.asks_version(place)[0] == str(own)
    assert f"{place}/node_modules/pi-acp/package.json" in pinned.asks_version(place)[-1]


def test_opencode_is_held_to_tools_and_its_sums_are_not_taken(tmp_path: Path) -> None:
    """Its last reply tells what its last call used, which would pass for the whole."""
    launch = launched(OpencodeAcpHarness, tmp_path, forbidden_tools=["terminal"])
    assert json.loads(launch.home_files[".config/opencode/opencode.json"])["permission"]["bash"] == "deny"
    assert briefing(launch).sums is False
    assert briefing(launch).forbidden == {"terminal"}


def test_hermes_is_held_to_exactly_the_tools_of_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its toolset is fixed: it would be offered all of them, whatever the task leaves."""
    monkeypatch.setenv(recipe.VARIABLE, str(tmp_path / "installed"))
    place = tmp_path / "installed" / "hermes" / HermesAcpHarness.recipe.version
    place.mkdir(parents=True)
    (place / recipe.MANIFEST).touch()
    harness = made(HermesAcpHarness, tmp_path, command=None)
    assert harness.enforces == {"allowed_tools", "forbidden_tools"}
    launch = harness.launch(trial_input(gateway=gateway("chat"), allowed_tools=["terminal", "todo"]))
    assert launch.argv[0] == f"{place}/bin/python"
    assert launch.argv[-1] == "acp"
    options = json.loads(launch.files["hermes/options.json"])
    assert (options["toolset"], sorted(options["tools"])) == ("hermes-acp", ["terminal", "todo"])
    free = harness.launch(trial_input(gateway=gateway("chat")))
    assert (free.argv, free.files) == ([f"{place}/bin/hermes", "acp"], {})


def test_hermes_has_no_terminal_of_ours(tmp_path: Path) -> None:
    """A setting that only its own kind can keep would be promised and not held."""
    for setting in ({"terminal": "tmux"}, {"toolsets": ["file"]}):
        with pytest.raises(HarnessFileError, match="only kind 'hermes'"):
            made(HermesAcpHarness, tmp_path, settings=setting)
    harness = made(HermesAcpHarness, tmp_path, settings={"api_max_retries": 1})
    assert harness.enforces == frozenset()
    launch = harness.launch(
        trial_input(gateway=gateway("chat"), allowed_tools=["terminal"], instruction="x" * 200_000)
    )
    assert (launch.argv, launch.files) == (["agent", "acp"], {})
    assert json.loads(launch.home_files[".hermes/config.yaml"])["agent"]["api_max_retries"] == 1


def test_any_agent_by_its_command(tmp_path: Path) -> None:
    """An agent that nobody knows could not be run, or its placeholders would stay as they are."""
    file = {
        "command": ["agent", "--acp", "{model}"], "env": {"BASE": "{gateway_v1}", "KEY": "{gateway_token}"},
        "settings": {"mode": "free", "session_model": "big"},
    }  # fmt: skip
    launch = launched(AcpHarness, tmp_path, file=file)
    assert launch.argv == ["agent", "--acp", "test-model"]
    assert launch.env == {"BASE": "http://127.0.0.1:4000/t/0001/v1", "KEY": "trial-token"}
    told = briefing(launch)
    assert (told.mode, told.model, launch.prompt) == ("free", "big", "dialogue")


def test_any_agent_may_have_a_model_of_its_own(tmp_path: Path) -> None:
    """An agent with a login of its own, or without a model, would be refused for what it does not need."""
    harness = made(AcpHarness, tmp_path, upstream=None, model=None)
    assert [line for line in harness.problems() if "PATH" not in line] == []
    assert briefing(harness.launch(trial_input())).mode is None
    assert harness.version_argv is None
    asked = made(AcpHarness, tmp_path, version_command="agent -V")
    assert asked.version_argv == ["agent", "-V"]


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"command": None}, "needs a 'command'"),
        ({"terminal": "pty"}, "has no terminal"),
        ({"settings": {"modus": "x"}}, "did you mean 'mode'"),
    ],
)
def test_a_file_that_cannot_be_right_is_refused(fields: dict[str, Any], word: str, tmp_path: Path) -> None:
    """What a file asks for and does not get would be found out by trials that fail."""
    with pytest.raises(HarnessFileError, match=word):
        made(AcpHarness, tmp_path, **fields)


def test_an_argument_that_no_command_holds_is_refused(tmp_path: Path) -> None:
    """It would be a fault of the sandbox."""
    with pytest.raises(LaunchError, match="NUL"):
        launched(AcpHarness, tmp_path, file={"command": ["agent", "{instruction}"]}, instruction="a\0b")
