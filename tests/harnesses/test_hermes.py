"""The adapter of Hermes: how it is started, what it is configured with, how what it prints is read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.conversation import MessageRecorded, NoteRecorded
from eventlog.schemas.runs import Limits
from harnesses import recipe
from harnesses.base import TERMINALS, Conclusion, GatewayAddress
from harnesses.errors import HarnessFileError, LaunchError
from harnesses.file import check
from harnesses.hermes import HermesHarness
from harnesses.hermes.answer import HermesInterpreter
from harnesses.hermes.inside import hand
from harnesses.hermes.interpreter import started_by
from harnesses.hermes.tools import TOOLSETS, toolsets_with
from harnesses.registry import KINDS
from tests.harnesses.trial_inputs import trial_input

LAUNCHER = Path(hand.__file__).with_name("launcher.py")


def gateway(dialect: Any = "chat") -> GatewayAddress:
    """Where a trial finds its model."""
    return GatewayAddress(root="http://127.0.0.1:9/t/0001", token="token-of-the-trial", dialect=dialect)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A program that looks as Hermes' own script does."""
    path = tmp_path / "hermes"
    path.write_text(f"#!{sys.executable}\n")
    path.chmod(0o755)
    return path


def hermes(script: Path | str, dialect: str | None = None, **settings: Any) -> HermesHarness:
    """Hermes by a program of the user's."""
    upstream = {"base_url": "http://127.0.0.1:9/v1"} | ({"dialect": dialect} if dialect else {})
    content = {"name": "h", "kind": "hermes", "model": "m-1", "settings": settings, "command": [str(script)]}
    content["upstream"] = upstream
    return HermesHarness(check(content), Path("/"), {"PATH": "/usr/bin:/bin"})


def configuration(harness: HermesHarness, dialect: str = "chat", **trial: Any) -> dict[str, Any]:
    """What Hermes would be configured with."""
    launch = harness.launch(trial_input(gateway=gateway(dialect), **trial))
    found: dict[str, Any] = json.loads(launch.home_files[".hermes/config.yaml"])
    return found


def test_the_plain_command_line(script: Path) -> None:
    """Hermes would run with other tools or without a limit of turns, look outside, or wait for input."""
    trial = trial_input(gateway=gateway(), limits=Limits(turns=7), instruction="-q is no option here")
    launch = hermes(script).launch(trial)
    assert launch.argv == [
        str(script), "chat", "--query=-q is no option here", "-Q", "--yolo", "--max-turns", "7", "--source", "tool",
    ]  # fmt: skip
    assert launch.env == {"HERMES_HOME": "/scratch/home/.hermes", "HERMES_DISABLE_LAZY_INSTALLS": "1"}
    assert (launch.stdin, launch.files, launch.prompt, launch.terminals) == (b"", {}, "argument", False)
    assert set(launch.home_files) == {".hermes/config.yaml", ".hermes/.update_check"}
    assert json.loads(launch.home_files[".hermes/.update_check"])["ver"] == "0.19.0"
    assert ".hermes/state.db" in launch.keep_home


@pytest.mark.parametrize(
    ("dialect", "base", "mode"),
    [("responses", "http://127.0.0.1:9/t/0001/v1", "codex_responses"),
     ("messages", "http://127.0.0.1:9/t/0001", "anthropic_messages")],
)  # fmt: skip
def test_the_other_dialects_are_a_provider_of_their_own(
    script: Path, dialect: str, base: str, mode: str
) -> None:
    """Hermes would speak chat completions to an endpoint that was to be asked in another way."""
    found = configuration(hermes(script, dialect), dialect)
    (provider,) = found["custom_providers"]
    assert (provider["base_url"], provider["api_mode"], provider["api_key"]) == (
        base,
        mode,
        "token-of-the-trial",
    )
    assert provider["models"] == {"m-1": {"context_length": 131072}}
    assert found["model"] == {
        "default": "m-1",
        "context_length": 131072,
        "provider": f"custom:{provider['name']}",
    }


def test_what_it_is_configured_with(script: Path) -> None:
    """A setting of the user's file would not count, or Hermes would download things or ask a person."""
    found = configuration(
        hermes(
            script, output_tokens=99, context_tokens=1000, system_prompt="Be brief.", api_max_retries=1,
            mcp_servers={"n": {"command": "srv", "args": ["{workspace}"]}, "w": {"url": "http://127.0.0.1:1/mcp"}},
        ),
        limits=Limits(turns=3),
    )  # fmt: skip
    assert found["model"] == {
        "default": "m-1", "context_length": 1000, "max_tokens": 99, "provider": "custom",
        "base_url": "http://127.0.0.1:9/t/0001/v1", "api_key": "token-of-the-trial",
    }  # fmt: skip
    assert found["agent"] == {
        "api_max_retries": 1,
        "disabled_toolsets": ["clarify"],
        "max_turns": 3,
        "system_prompt": "Be brief.",
    }
    assert found["security"] == {"allow_lazy_installs": False, "tirith_enabled": False}
    assert found["display"]["show_reasoning"] is False
    assert found["mcp_servers"] == {
        "n": {"command": "srv", "args": ["/scratch/workspace"], "env": {}},
        "w": {"url": "http://127.0.0.1:1/mcp", "headers": {}},
    }


def test_a_trial_keeps_its_memory(script: Path) -> None:
    """Tasks about memory put some there before the start; it must not be written over."""
    launch = hermes(script).launch(trial_input(gateway=gateway(), allowed_tools=["memory"]))
    assert not any("memor" in name or "SOUL" in name for name in launch.home_files)


def test_exactly_the_tools_of_the_task(script: Path) -> None:
    """Its model would be offered tools that the task does not allow, and the record would say that it was not."""
    trial = trial_input(gateway=gateway(), allowed_tools=["read_file", "terminal", "no_such_tool"])
    harness = hermes(script)
    launch = harness.launch(trial)
    python, flag, launcher, options = launch.argv[:4]
    assert (python, flag, launcher) == (sys.executable, "-P", "/scratch/harness/hermes/launcher.py")
    assert options == "/scratch/harness/hermes/options.json"
    asked = "--query=Say hello to Zoë ☕."
    assert launch.argv[4:] == ["chat", asked, "-Q", "-t", "hemra", "--yolo", "--source", "tool"]
    given = json.loads(launch.files["hermes/options.json"])
    assert given == {
        "tools": ["terminal", "read_file"],
        "toolset": "hemra",
        "prompt": None,
        "terminal": None,
        "harness_dir": "/scratch/harness",
    }
    assert launch.files["hermes/launcher.py"] == LAUNCHER.read_bytes()
    assert {"turns", "allowed_tools", "forbidden_tools"} <= harness.enforces


def test_whole_toolsets_where_that_is_all_that_can_be_said(script: Path) -> None:
    """A program that the launcher cannot get into must be held as well as it can be, and the record say so."""
    trial = trial_input(gateway=gateway(), allowed_tools=["read_file", "todo"])
    for harness in (hermes(script, exact_tools=False), hermes("/bin/echo")):
        assert harness.launch(trial).argv[4:6] == ["-t", "file,todo"]
        assert harness.enforces == {"turns"}
    assert toolsets_with(["no_such_tool"]) == ["context_engine"]
    assert len({tool for tools in TOOLSETS.values() for tool in tools}) == sum(map(len, TOOLSETS.values()))


def test_servers_are_named_as_soon_as_toolsets_are(script: Path) -> None:
    """Hermes leaves the tools of MCP servers out that are not named; with them its tools are not the task's."""
    harness = hermes(script, mcp_servers={"notes": {"command": "srv"}})
    launch = harness.launch(trial_input(gateway=gateway(), allowed_tools=["todo"]))
    assert launch.argv[launch.argv.index("-t") + 1] == "hemra,notes"
    assert "allowed_tools" not in harness.enforces
    assert "-t" not in harness.launch(trial_input(gateway=gateway())).argv


def test_a_long_prompt_goes_through_a_file(script: Path) -> None:
    """The system takes no argument of that size: the trial would not start."""
    text = "é" * 100_000
    launch = hermes(script).launch(trial_input(gateway=gateway(), instruction=text))
    assert launch.prompt == "file"
    assert launch.files["hermes/prompt.txt"] == text.encode()
    assert json.loads(launch.files["hermes/options.json"])["prompt"] == "hermes/prompt.txt"
    assert not any("query" in word for word in launch.argv)
    with pytest.raises(LaunchError, match="does not name the Python"):
        hermes("/bin/echo").launch(trial_input(gateway=gateway(), instruction=text))


def test_a_terminal_in_tmux(script: Path) -> None:
    """The engine would not record the session, or the trial would start on a machine that cannot carry it out."""
    launch = hermes(script, terminal="tmux").launch(trial_input(gateway=gateway()))
    assert launch.terminals
    assert json.loads(launch.files["hermes/options.json"])["terminal"] == TERMINALS
    assert {"hermes/panes.py", "hermes/hand.py"} <= set(launch.files)
    assert "tmux" in hermes(script, terminal="tmux").needs.programs
    (problem,) = hermes("/bin/echo", terminal="tmux").problems()
    assert "does not name the Python" in problem
    with pytest.raises(HarnessFileError, match="only 'tmux'"):
        hermes(script, terminal="screen")
    with pytest.raises(HarnessFileError, match="api_max_retries"):
        hermes(script, api_max_retries=0)


def test_the_installed_hermes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `hemra harness install hermes` put there would not be found, or asked for its version by a start."""
    monkeypatch.setenv(recipe.VARIABLE, str(tmp_path))
    place = recipe.place_of("hermes", "0.19.0")
    place.mkdir(parents=True)
    (place / recipe.MANIFEST).write_text("{}")
    content = {
        "name": "h",
        "kind": "hermes",
        "model": "m",
        "upstream": {"base_url": "http://127.0.0.1:9/v1"},
    }
    harness = HermesHarness(check(content), tmp_path)
    assert isinstance(KINDS["hermes"](check(content), tmp_path), HermesHarness)
    trial = trial_input(gateway=gateway(), allowed_tools=["terminal"])
    assert harness.launch(trial).argv[:2] == [str(place / "bin/python"), "-P"]
    assert harness.words == [str(place / "bin/hermes")]
    assert harness.version_argv is not None
    assert harness.version_argv[:2] == [str(place / "bin/python"), "-I"]


@pytest.mark.parametrize(
    ("first", "words", "python", "arguments"),
    [
        (
            "#!/opt/v/bin/python3.12 -E",
            ["--profile", "x"],
            ("/opt/v/bin/python3.12", "-E"),
            ("--profile", "x"),
        ),
        ("#!/usr/bin/env sh", [], None, ()),
        ("#!/bin/sh", [], None, ()),
        ("\x7fELF", [], None, ()),
    ],
)
def test_the_python_of_a_script(
    tmp_path: Path, first: str, words: list[str], python: Any, arguments: Any
) -> None:
    """The launcher would run in a Python without Hermes."""
    program = tmp_path / "hermes"
    program.write_text(first + "\n")
    program.chmod(0o755)
    found = started_by([str(program), *words], "/usr/bin")
    assert (found and (found.python, found.arguments)) == (python and (python, arguments))


def test_the_python_of_a_command() -> None:
    """A command that names Python itself is one too, whatever of Hermes stands behind it."""
    found = started_by([sys.executable, "-m", "hermes_cli.main", "--profile", "x"], None)
    assert found is not None
    assert (found.python, found.arguments) == ((sys.executable,), ("--profile", "x"))
    assert started_by([sys.executable], None) is None
    assert started_by(["/no/such/hermes"], None) is None


SESSION = "\nsession_id: 20261201_010203_abcdef\n"
BOX = "\n┌─ Reasoning ─────┐\nI think.\nHard.\n└────────────────┘\n"
LAST = "⚠️  Reached maximum iterations (3). Requesting summary...\n"
NO_REPLY = "⚠️ No reply: the maximum tool-iteration limit was reached before a final answer."


def read(
    stdout: str, stderr: str = SESSION, code: int | None = 0, signal: int | None = None
) -> tuple[list[Any], Conclusion]:
    """What the adapter makes of this output and end."""
    reader = HermesInterpreter()
    for piece in (stdout[:3], stdout[3:]):
        assert reader.feed("stdout", piece.encode()) == []
    reader.feed("stderr", stderr.encode())
    return reader.finish(code, signal)


def test_the_answer_and_the_session() -> None:
    """The verifier would get Hermes' frames instead of the answer."""
    events, said = read("\x1b[2m" + BOX + "\x1b[0mThe answer:\n  42\n")
    assert said == Conclusion(final_text="The answer:\n  42")
    note, answer = events
    assert isinstance(note, NoteRecorded)
    assert note.details == {"session": "20261201_010203_abcdef"}
    assert answer == MessageRecorded(role="assistant", text="The answer:\n  42", final=True)


def test_it_has_ended_with_its_last_line() -> None:
    """The seconds that Hermes takes to tidy up would count as the agent's."""
    reader = HermesInterpreter()
    reader.feed("stderr", b"\nsession_id: 2026")
    assert not reader.ended
    reader.feed("stderr", b"1201_a\n")
    assert reader.ended


@pytest.mark.parametrize(
    ("stdout", "stderr", "code", "signal", "outcome", "final"),
    [
        ("HTTP 401: scripted\n", SESSION, 1, None, "auth_error", None),
        ("HTTP 402: scripted\n", SESSION, 1, None, "quota_error", None),
        ("HTTP 400: scripted\n", SESSION, 1, None, "harness_error", None),
        ("API call failed after 1 retries: HTTP 500: x\n", SESSION, 0, None, "provider_error", None),
        ("API call failed after 1 retries: Provider returned an empty stream\n", SESSION, 1, None,
         "provider_error", None),
        ("Failed to initialize agent: no such thing\n", "", 1, None, "harness_error", None),
        ("", "Error: HTTP 403: no\n" + SESSION, 1, None, "auth_error", None),
        ("", "Traceback\nKeyError: x\n", 1, None, "harness_error", None),
        ("", "", 0, None, "unknown", None),
        ("", SESSION, 0, None, None, None),
        ("half", "", None, 11, "harness_error", None),
        ("half", "", None, None, None, "half"),
        (LAST + "A summary.\n\n" + NO_REPLY, SESSION, 0, None, "turn_limit", "A summary."),
        (LAST + "A summary.\n", SESSION, 0, None, "turn_limit", "A summary."),
        ("⚠️ No reply: streaming stopped early and only …", SESSION, 0, None, "provider_error", None),
        ("Part\n\n⚠️ No reply: the turn stopped while a tool result", SESSION, 0, None, None, "Part"),
        ("The server says HTTP 500, which is a test.", SESSION, 0, None, None,
         "The server says HTTP 500, which is a test."),
    ],
)  # fmt: skip
def test_why_there_is_no_answer(
    stdout: str, stderr: str, code: int | None, signal: int | None, outcome: str | None, final: str | None
) -> None:
    """Hermes prints its errors where the answer belongs: they would be scored as the model's answers."""
    _, said = read(stdout, stderr, code, signal)
    assert (said.outcome, said.final_text) == (outcome, final)
    assert outcome is None or said.reason
    assert ("no_output" in said.flags) == (final is None and outcome is None)


def test_a_hermes_that_is_built_otherwise_is_told(tmp_path: Path) -> None:
    """A new version would fail inside, or work on without what the harness file asks for."""
    (tmp_path / "hermes_cli").mkdir()
    (tmp_path / "hermes_cli" / "__init__.py").write_text("")
    (tmp_path / "hermes_cli" / "main.py").write_text("def main():\n    print('started')\n")
    (tmp_path / "toolsets.py").write_text("def validate_toolset(name):\n    return False\n")
    options = tmp_path / "options.json"
    options.write_text(
        json.dumps(
            {
                "tools": ["todo"],
                "toolset": "hemra",
                "prompt": None,
                "terminal": None,
                "harness_dir": str(tmp_path),
            }
        )
    )
    done = subprocess.run(
        [sys.executable, "-P", str(LAUNCHER), str(options), "chat"], env={"PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: Hermes' module toolsets has no create_custom_toolset any more")
    _, said = read("", done.stderr, 1)
    assert said.outcome == "harness_error"
    assert said.reason is not None
    assert "needs another adapter" in said.reason
