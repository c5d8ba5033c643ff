"""The real Hermes, through the adapter and the scripted model server.

It is taken from HEMRA_TEST_HERMES (its own `hermes` script) or from where `hemra harness install hermes` puts it;
without either these tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.runs import Limits
from harnesses.base import Conclusion, GatewayAddress
from harnesses.file import check
from harnesses.hermes import HermesHarness
from harnesses.hermes.adapter import VERSION
from harnesses.hermes.inside import hand
from tests.harnesses.trial_inputs import trial_input
from tools.model_server.script import parse
from tools.model_server.server import ModelServer, running

VARIABLE = "HEMRA_TEST_HERMES"
INSIDE = Path(hand.__file__).parent
SCRIPT = """
record_bodies: true
turns:
  - text: I look first.
    calls:
      - {name: terminal, arguments: {command: "cd sub && pwd && echo $MARK && cat ../note; (exit 4)"}}
  - calls:
      - {name: terminal, arguments: {command: "pwd; MARK=again; export MARK"}}
      - {name: write_file, arguments: {path: made.txt, content: "by hand"}}
  - calls:
      - {name: terminal, arguments: {command: "echo $MARK; cat ../made.txt made.txt; [ -t 1 ] || echo no terminal"}}
  - text: All of it is done.
"""


def program() -> list[str] | None:
    """The command of a harness file: null where the installed one is to be used."""
    given = os.environ.get(VARIABLE)
    if given:
        return [given]
    content = {"name": "h", "kind": "hermes", "model": "m"}
    if HermesHarness(check(content), Path("/")).place is None:
        pytest.skip(f"needs Hermes {VERSION}: installed, or named by {VARIABLE}")
    return None


def hermes(base: str, **settings: Any) -> HermesHarness:
    """Hermes with an endpoint."""
    content = {"name": "h", "kind": "hermes", "model": "test-model", "upstream": {"base_url": base},
               "settings": {"api_max_retries": 1, **settings}, "command": program()}  # fmt: skip
    return HermesHarness(check(content), Path("/"))


@dataclass
class Carried:
    """A trial without the engine: its folders, what came of it, and what the model was asked."""

    folder: Path
    conclusion: Conclusion
    calls: list[dict[str, Any]]

    @property
    def results(self) -> list[Any]:
        """Results of its tools, in order, as the last request holds them."""
        messages = self.calls[-1]["request_body"]["messages"]
        return [json.loads(message["content"]) for message in messages if message["role"] == "tool"]


def carried_out(server: ModelServer, folder: Path, harness: HermesHarness, **trial: Any) -> Carried:
    """Start Hermes as the engine would."""
    for name in ("workspace/sub", "home/.hermes/memories", "harness", "tmp"):
        (folder / name).mkdir(parents=True)
    (folder / "workspace/note").write_text("a note\n")
    (folder / "home/.hermes/memories/MEMORY.md").write_text("The lab's cat is called Quark.\n")
    address = GatewayAddress(root=server.base, token="dummy-token", dialect="chat")
    places = {f"{name}": str(folder / name) for name in ("workspace", "home")}
    launch = harness.launch(
        trial_input(
            gateway=address, harness_dir=str(folder / "harness"), limits=Limits(turns=9), **places, **trial
        )
    )
    for part, files in (("harness", launch.files), ("home", launch.home_files)):
        for name, content in files.items():
            (folder / part / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / part / name).write_bytes(content)
    base = {
        "PATH": os.environ["PATH"],
        "HOME": places["home"],
        "TMPDIR": str(folder / "tmp"),
        "LANG": "C.UTF-8",
    }
    done = subprocess.run(
        launch.argv, cwd=places["workspace"], input=launch.stdin, env={**base, "MARK": "here", **launch.env},
        capture_output=True, timeout=200, check=False,
    )  # fmt: skip
    reader = harness.interpreter()
    reader.feed("stdout", done.stdout)
    reader.feed("stderr", done.stderr)
    _, conclusion = reader.finish(done.returncode, None)
    calls = [entry for entry in server.journal.served() if entry["kind"] == "model"]
    assert calls, (done.stdout, done.stderr)
    return Carried(folder, conclusion, calls)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model with four turns of work in the terminal."""
    with running(parse(SCRIPT)) as made:
        yield made


def test_this_hermes_is_built_as_the_launcher_expects(tmp_path: Path) -> None:
    """A new Hermes moved what the launcher takes hold of: this names what, before a trial fails of it."""
    started = hermes("http://127.0.0.1:9/v1").started
    assert started is not None
    code = f"""
import importlib.metadata, runpy, sys
launcher = runpy.run_path({str(INSIDE / "launcher.py")!r})
panes = runpy.run_path({str(INSIDE / "panes.py")!r})
launcher["seam"]("hermes_cli.main", "main")
launcher["offer_exactly"](["todo"], "hemra")
terminal = launcher["seam"]("tools.terminal_tool", "_create_environment", "terminal_tool")
local = launcher["seam"]("tools.environments.local", *panes["SEAMS"])
print(importlib.metadata.version("hermes-agent"), panes["misfits"](terminal._create_environment, local))
import model_tools
names = [each["function"]["name"] for each in model_tools.get_tool_definitions(["hemra"], quiet_mode=True)]
print(names)
"""
    done = subprocess.run(
        [*started.python, "-P", "-c", code], env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-2:] == [f"{VERSION} []", "['todo']"], done.stderr


def test_the_terminal_tool_works_in_tmux_as_it_does_without(tmp_path: Path, server: ModelServer) -> None:
    """What is measured would depend on whether somebody may watch."""
    allowed = {"allowed_tools": ["terminal", "write_file"]}
    plain = carried_out(server, tmp_path / "plain", hermes(server.base), **allowed)
    with running(parse(SCRIPT)) as other:
        panes = carried_out(other, tmp_path / "panes", hermes(other.base, terminal="tmux"), **allowed)
    for each in (plain, panes):
        assert each.conclusion == Conclusion(final_text="All of it is done.")
        assert [sorted(call["tools"]) for call in each.calls] == [["terminal", "write_file"]] * 4
        first, second, _, last = each.results
        assert first["exit_code"] == 4
        assert first["output"].splitlines() == [f"{each.folder}/workspace/sub", "here", "a note"]
        assert second["output"] == f"{each.folder}/workspace/sub"
        assert last["output"].startswith("again\n")
        assert "by hand" in last["output"]
        assert last["output"].endswith("no terminal")
    same = [json.dumps(each.results).replace(str(each.folder), "") for each in (plain, panes)]
    assert same[0] == same[1]
    session = (tmp_path / "panes/harness/terminals/0.120x40.tty").read_bytes()
    assert session.count(b"\x1b[1m$\x1b[0m ") == 3
    assert b"a note\r\n" in session
    assert b"[exit code 4]" in session
    assert b"HERMES_CWD" not in session
    assert b"by hand" in session
    assert not (tmp_path / "plain/harness/terminals").exists()


def test_a_long_prompt_and_a_memory_reach_the_model(tmp_path: Path, server: ModelServer) -> None:
    """The model would be asked something else, or would not know what earlier sessions saved."""
    text = "Do the work. " + "é" * 70_000 + " That was all."
    carried = carried_out(
        server,
        tmp_path,
        hermes(server.base),
        instruction=text,
        allowed_tools=["terminal", "write_file", "memory"],
    )
    messages = carried.calls[0]["request_body"]["messages"]
    assert [message["content"] for message in messages if message["role"] == "user"] == [text]
    assert "The lab's cat is called Quark." in messages[0]["content"]
    assert sorted(carried.calls[0]["tools"]) == ["memory", "terminal", "write_file"]
    assert carried.conclusion.final_text == "All of it is done."
