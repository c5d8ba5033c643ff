"""The common part of adapters: harness file, installed program, tools, MCP servers, events, failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import MessageRecorded, NoteRecorded
from harnesses import recipe
from harnesses.agent import AgentHarness, AgentSettings, Capabilities, Session
from harnesses.base import Conclusion, GatewayAddress, Launch
from harnesses.errors import HarnessFileError, LaunchError
from harnesses.failures import outcome_of_failure, reason_of
from harnesses.file import check
from harnesses.jsonl import JsonlInterpreter
from harnesses.recipe import InstallRecipe
from tests.harnesses.trial_inputs import trial_input

GATEWAY = GatewayAddress(root="http://127.0.0.1:9/t/0001", token="token-of-the-trial", dialect="chat")


class Settings(AgentSettings):
    """One setting more than all agents have."""

    effort: int = 1


class Talker(JsonlInterpreter):
    """An agent that says `{"type": "text"}`, `{"type": "failed"}` and `{"type": "done"}`."""

    def __init__(self) -> None:
        super().__init__({"text": self._text, "failed": self._failed, "done": self._done, "start": None})

    def _text(self, told: dict[str, Any]) -> list[EventData]:
        return self.said(told["text"] + "")

    def _failed(self, told: dict[str, Any]) -> list[EventData]:
        self.failure = told["message"]
        return []

    def _done(self, told: dict[str, Any]) -> list[EventData]:
        self.ended = True
        return []


class Agent(AgentHarness):
    """An adapter as small as one can be."""

    recipe = InstallRecipe(
        name="talker", version="1.2.3", kind="npm", packages=("talker@1.2.3",), node=">=22",
        program="node_modules/.bin/talker", version_argv=("node_modules/.bin/talker", "--version"),
    )  # fmt: skip
    dialects = ("chat", "messages")
    capabilities = Capabilities(turn_limit=True, tools="each", mcp=("stdio",))
    tool_names: ClassVar[dict[str, tuple[str, ...]]] = {
        "terminal": ("Bash",), "read_file": ("Read",), "patch": ("Edit", "Write"), "write_file": ("Write",)
    }  # fmt: skip
    outside_traffic_off: ClassVar[dict[str, str]] = {"TALKER_OFFLINE": "1", "TALKER_COLOR": "always"}
    Settings = Settings

    def start(self, session: Session) -> Launch:
        """Everything that a session holds, where a test can see it."""
        servers = json.dumps({name: [*each.words, *each.env.items()] for name, each in session.mcp.items()})
        return Launch(
            argv=[*session.program, "--model", session.model, session.trial.instruction],
            env={"KEY": session.gateway.token, "SERVERS": servers},
        )

    def interpreter(self) -> Talker:
        """A new reader."""
        return Talker()


def agent(folder: Path, environment: dict[str, str] | None = None, **fields: Any) -> Agent:
    """An agent by what its file says beside the usual."""
    usual = {"name": "t", "kind": "talker", "model": "m-1", "upstream": {"base_url": "http://127.0.0.1:9/v1"}}
    return Agent(check(usual | fields), folder, {"PATH": "/usr/bin"} | (environment or {}))


def put_program(root: Path, *, whole: bool = True, node: bool = False) -> Path:
    """Install the agent below `root` as the installer would."""
    place = root / "talker" / "1.2.3"
    programs = place / "node_modules" / ".bin"
    programs.mkdir(parents=True)
    for name in ("talker", *(["node"] if node else [])):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    if whole:
        (place / recipe.MANIFEST).write_text("{}")
    return place


def told(*lines: Any, code: int | None = 0, signal: int | None = None) -> tuple[list[Any], Conclusion]:
    """What comes of these events (or raw lines) and this end."""
    reader = Talker()
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    events = reader.feed("stdout", text.encode())
    more, conclusion = reader.finish(code, signal)
    return events + more, conclusion


def test_the_installed_program_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken look-up would start nothing, or start a half-installed agent."""
    monkeypatch.setenv(recipe.VARIABLE, str(tmp_path))
    place = put_program(tmp_path, whole=False)
    (problem,) = agent(tmp_path).problems()
    assert "talker 1.2.3 is not installed; run: hemra harness install talker" in problem
    with pytest.raises(LaunchError, match="not installed"):
        agent(tmp_path).launch(trial_input(gateway=GATEWAY))
    (place / recipe.MANIFEST).write_text("{}")
    found = agent(tmp_path)
    assert found.problems() == []
    program = str(place / "node_modules/.bin/talker")
    launch = found.launch(trial_input(gateway=GATEWAY))
    assert launch.argv == [program, "--model", "m-1", "Say hello to Zoë ☕."]
    assert found.version_argv == [program, "--version"]
    assert place in found.needs.read_only
    assert program in found.needs.programs


def test_a_node_of_its_own_runs_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the machine's Node, of whatever age, would run an agent that needs a newer one."""
    monkeypatch.setenv(recipe.VARIABLE, str(tmp_path))
    programs = put_program(tmp_path, node=True) / "node_modules" / ".bin"
    found = agent(tmp_path)
    assert found.words == [str(programs / "node"), str(programs / "talker")]
    assert found.version_argv == [str(programs / "node"), str(programs / "talker"), "--version"]


def test_installed_agents_are_not_in_the_default_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is hidden from every trial, and with it an agent that lies in it."""
    monkeypatch.delenv(recipe.VARIABLE, raising=False)
    monkeypatch.delenv("HEMRA_STORE", raising=False)
    from hemra.cli.context import Settings as Global

    assert not recipe.install_root().is_relative_to(Global().store_path())


def test_a_command_goes_before_what_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who names a program must get that one, and its file must count into the digest."""
    monkeypatch.setenv(recipe.VARIABLE, str(tmp_path / "agents"))
    put_program(tmp_path / "agents")
    script = tmp_path / "mine.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    found = agent(tmp_path, command=["./mine.sh", "--fast"])
    assert found.launch(trial_input(gateway=GATEWAY)).argv[:2] == [str(script), "--fast"]
    assert found.version_argv == [str(script), "--fast", "--version"]
    before = found.digest
    script.write_text("#!/bin/sh\necho other\n")
    assert agent(tmp_path, command=["./mine.sh", "--fast"]).digest != before
    assert "installed" not in found.definition


def test_the_digest_names_the_pinned_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two versions of an agent would be taken for the same harness; where it is installed must not matter."""
    monkeypatch.setenv(recipe.VARIABLE, str(tmp_path))
    before = agent(tmp_path).digest
    put_program(tmp_path)
    assert agent(tmp_path).digest == before
    assert agent(tmp_path, settings={"effort": 2}).digest != before

    class Newer(Agent):
        recipe = InstallRecipe(
            name="talker", version="1.2.4", kind="npm", packages=("talker@1.2.4",),
            program="x", version_argv=("x",),
        )  # fmt: skip

    assert Newer(agent(tmp_path).file, tmp_path).digest != before


def test_what_every_launch_is_given(tmp_path: Path) -> None:
    """An agent would wait for input, talk to its maker, or lose what the user's file sets."""
    found = agent(tmp_path, command="/bin/true", env={"TALKER_COLOR": "never", "MORE": "{trial}"})
    launch = found.launch(trial_input(gateway=GATEWAY, model="m-2"))
    assert launch.stdin == b""
    assert launch.env["TALKER_OFFLINE"] == "1"
    assert launch.env["TALKER_COLOR"] == "never"
    assert launch.env["MORE"] == "0001"
    assert launch.env["KEY"] == "token-of-the-trial"
    assert launch.argv[2] == "m-2"


def test_without_a_model_behind_it_nothing_starts(tmp_path: Path) -> None:
    """The agent would talk to its maker's endpoint with whatever login it finds."""
    bare = agent(tmp_path, command="/bin/true", upstream=None, model=None)
    text = "\n".join(bare.problems())
    assert "upstream is missing" in text
    assert "model is missing" in text
    with pytest.raises(LaunchError, match="'upstream'"):
        bare.launch(trial_input())
    with pytest.raises(LaunchError, match="'model'"):
        bare.launch(trial_input(gateway=GATEWAY))


@pytest.mark.parametrize("instruction", ["a" * 140_000, "nul \0 inside"])
def test_an_argument_that_no_system_takes_is_told(tmp_path: Path, instruction: str) -> None:
    """Starting would fail with an error that names neither the harness nor the reason."""
    with pytest.raises(LaunchError, match="harness t: an argument"):
        agent(tmp_path, command="/bin/true").launch(trial_input(gateway=GATEWAY, instruction=instruction))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"settings": {"efort": 2}}, "did you mean 'effort'"),
        ({"settings": {"effort": "much"}}, r"settings\.effort: expected `int`"),
        ({"settings": {"context_tokens": 0}}, "context_tokens"),
        ({"settings": {"system_prompt": "Be kind."}}, "no way to add one"),
        ({"upstream": {"base_url": "http://h", "dialect": "responses"}}, "does not speak 'responses'"),
        ({"settings": {"mcp_servers": {"a b": {"command": "x"}}}}, "for its name"),
        ({"settings": {"mcp_servers": {"a": {}}}}, "either a 'command' or a 'url'"),
        ({"settings": {"mcp_servers": {"a": {"url": "http://h"}}}}, "takes no http server"),
        (
            {"settings": {"mcp_servers": {"a": {"command": "x", "headers": {"h": "v"}}}}},
            "transport to a 'url'",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused(tmp_path: Path, fields: dict[str, Any], complaint: str) -> None:
    """A misspelt setting would be recorded as if it had counted."""
    with pytest.raises(HarnessFileError, match=complaint):
        agent(tmp_path, command="/bin/true", **fields)


def test_servers_are_resolved_for_the_trial(tmp_path: Path) -> None:
    """A server would be looked for in the workspace, or its key recorded."""
    (tmp_path / "server.py").write_text("")
    server = {"command": "python3", "args": ["server.py", "{workspace}"], "env": {"KEY": "$MINE", "N": "1"}}
    fields = {"command": "/bin/true", "settings": {"mcp_servers": {"notes": server}}}
    lacking = agent(tmp_path, **fields)
    assert any("takes $MINE from your environment" in problem for problem in lacking.problems())
    with pytest.raises(LaunchError, match=r"notes: \$MINE"):
        lacking.launch(trial_input(gateway=GATEWAY))
    found = agent(tmp_path, {"MINE": "secret-value"}, **fields)
    assert found.secrets() == {"MINE": "secret-value"}
    assert "secret-value" not in json.dumps(found.definition)
    servers = json.loads(found.launch(trial_input(gateway=GATEWAY)).env["SERVERS"])
    words = ["python3", str(tmp_path / "server.py"), "/scratch/workspace"]
    assert servers == {"notes": [*words, ["KEY", "secret-value"], ["N", "1"]]}
    assert tmp_path / "server.py" in found.needs.own_files
    before = found.digest
    (tmp_path / "server.py").write_text("print()")
    assert agent(tmp_path, **fields).digest != before


@pytest.mark.parametrize(
    ("allowed", "forbidden", "names"),
    [
        ([], [], None),
        (["terminal", "patch", "memory"], [], ["Bash", "Edit", "Write"]),
        ([], ["terminal"], ["Read", "Edit", "Write"]),
        (["patch", "write_file"], ["patch"], ["Write"]),
        (["memory"], [], []),
    ],
)
def test_tools_of_the_task_in_the_agents_words(
    tmp_path: Path, allowed: list[str], forbidden: list[str], names: list[str] | None
) -> None:
    """A task's list of tools would let more through than it says, or less."""
    trial = trial_input(allowed_tools=allowed, forbidden_tools=forbidden)
    assert agent(tmp_path, command="/bin/true").native_tools(trial) == names


def test_what_is_held_is_what_the_adapter_can() -> None:
    """The record would say that a limit is held which nobody holds."""
    assert Capabilities(turn_limit=True, tools="each").enforces == {
        "turns",
        "allowed_tools",
        "forbidden_tools",
    }
    assert Capabilities(tools="groups", system_prompt=True).enforces == frozenset()


def test_the_engine_is_told_what_the_adapter_and_the_file_say(tmp_path: Path) -> None:
    """The engine would take an agent for one that has no tools, takes no servers and speaks another dialect."""
    servers = {"s": {"command": "/bin/true"}}
    said = agent(tmp_path, command="/bin/true", strip_tools=True, settings={"mcp_servers": servers}).traits
    assert (said.mcp_transports, said.mcp_names, said.strip_tools) == (("stdio",), ("s",), True)
    assert set(said.tool_names) == {"terminal", "read_file", "patch", "write_file"}
    assert (said.dialect, said.spoken) == ("chat", "chat")
    upstream = {"base_url": "http://127.0.0.1:9", "dialect": "messages"}
    assert agent(tmp_path, command="/bin/true", upstream=upstream).traits.spoken == "messages"


def test_events_give_answer_and_end() -> None:
    """The answer would be lost, or a run that ended in order called broken."""
    events, said = told({"type": "start"}, {"type": "text", "text": "hi"}, {"type": "done"}, code=3)
    assert (said.outcome, said.final_text, said.recognised) == (None, "hi", 3)
    assert said.flags == ["nonzero_exit", "exit_contradicts"]
    assert events[0] == MessageRecorded(role="assistant", text="hi", final=True)


def test_unknown_events_are_counted_and_kept() -> None:
    """A new version's events would vanish without a word."""
    lines = [{"type": "done"}, {"type": "new", "a": 1}, {"type": "new"}, "plain words", {"type": "text"}]
    events, said = told(*lines)
    assert (said.recognised, said.unrecognised) == (1, 4)
    assert {"unknown_lines", "no_output"} == set(said.flags)
    kept = [event.text for event in events if isinstance(event, NoteRecorded) and event.code == "harness_raw"]
    assert kept == ['{"type": "new", "a": 1}', '{"type": "new"}', "plain words", '{"type": "text"}']
    (counted,) = (
        event for event in events if isinstance(event, NoteRecorded) and event.code == "unknown_events"
    )
    assert counted.details == {"new": 2}


def test_nothing_understood_is_a_mismatch() -> None:
    """Another version, or another program, would be measured as one that did nothing."""
    _, said = told({"kind": "started"}, {"kind": "over"})
    assert said.outcome == "unknown"
    assert "adapter_mismatch" in said.flags


@pytest.mark.parametrize(
    ("lines", "code", "signal", "outcome"),
    [
        ([{"type": "failed", "message": "HTTP 401: no"}, {"type": "done"}], 0, None, "auth_error"),
        ([{"type": "failed", "message": "it fell over"}], 0, None, "harness_error"),
        # It ended by itself: its work is there to be scored, and a flag says that words are missing.
        ([{"type": "text", "text": "half"}], 0, None, None),
        ([{"type": "text", "text": "half"}], 3, None, "harness_error"),
        ([{"type": "text", "text": "half"}], None, 9, "harness_error"),
        ([{"type": "text", "text": "half"}], None, None, None),
        ([], 0, None, "unknown"),
        ([], 1, None, "harness_error"),
        ([], None, None, None),
    ],
)
def test_the_end_is_read_from_the_events(
    lines: list[Any], code: int | None, signal: int | None, outcome: str | None
) -> None:
    """Agents exit with 0 after errors: a failure would be counted as the model's."""
    assert told(*lines, code=code, signal=signal)[1].outcome == outcome


@pytest.mark.parametrize(
    ("text", "status", "outcome"),
    [
        ("HTTP 401: invalid key", None, "auth_error"),
        ("API Error: 529 overloaded_error", None, "provider_error"),
        ('400 {"error": {"message": "bad tool"}}', None, "harness_error"),
        ("Error code: 429 - insufficient_quota", None, "quota_error"),
        ("slow down", 429, "provider_error"),
        ("nope", 402, "quota_error"),
        ("Your credit balance is too low", None, "quota_error"),
        ("Credit balance is too low", 400, "quota_error"),
        ('400 {"error": {"message": "Your credit balance is too low"}}', None, "quota_error"),
        ("HTTP 403: out of credits", None, "quota_error"),
        ("Not logged in · Please run /login", None, "auth_error"),
        ("Please run /login · API Error: 403 forbidden", None, "auth_error"),
        ("Invalid API key · Please run /login", 400, "auth_error"),
        ("HTTP 500: the billing service is down", None, "provider_error"),
        ("stream disconnected before completion", None, "provider_error"),
        ("401 files changed", None, "harness_error"),
        ("TypeError: x is not a function", None, "harness_error"),
    ],
)
def test_failures_are_told_apart(text: str, status: int | None, outcome: str) -> None:
    """An endpoint that did not serve would count against the agent, or the other way round."""
    assert outcome_of_failure(text, status) == outcome


def test_a_reason_is_one_short_line() -> None:
    """A stack trace would break the table that shows it."""
    assert reason_of("a\n  b" + "x" * 1000) == "a b" + "x" * 297
