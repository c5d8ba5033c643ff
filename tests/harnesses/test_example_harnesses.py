"""The examples and the SDK, run as the real programs they are."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import MessageRecorded, ToolCalled, ToolReturned
from harnesses.base import Conclusion
from harnesses.registry import load_harness
from tests.harnesses.trial_inputs import trial_input

EXAMPLES = Path(__file__).parents[2] / "examples" / "harnesses"


def carried_out(
    ref: Path, tmp_path: Path
) -> tuple[list[EventData], Conclusion, subprocess.CompletedProcess[bytes]]:
    """Run a harness once, without HEMRA's engine, and read what it said."""
    for name in ("workspace", "home", "harness"):
        (tmp_path / name).mkdir()
    (tmp_path / "workspace" / 'a "file"\\with\todd name').write_text("x", encoding="utf-8")
    harness = load_harness(str(ref))
    launch = harness.launch(
        trial_input(
            workspace=str(tmp_path / "workspace"),
            home=str(tmp_path / "home"),
            harness_dir=str(tmp_path / "harness"),
        )
    )
    for name, content in launch.files.items():
        (tmp_path / "harness" / name).write_bytes(content)
    done = subprocess.run(
        launch.argv,
        input=launch.stdin,
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"} | launch.env,
        cwd=tmp_path / "workspace",
        capture_output=True,
        timeout=60,
        check=False,
    )
    interpreter = harness.interpreter()
    events = interpreter.feed("stdout", done.stdout)
    rest, conclusion = interpreter.finish(done.returncode, None)
    return events + rest, conclusion, done


@pytest.mark.parametrize("name", ["python-agent", "bash-agent", "typescript-agent"])
def test_an_example_agent_speaks_the_protocol(name: str, tmp_path: Path) -> None:
    """People copy the examples: each must be understood to its last line, odd file names included."""
    needed = {"bash-agent": "bash", "typescript-agent": "node"}.get(name)
    if needed is not None and shutil.which(needed) is None:
        pytest.skip(f"needs {needed}, which is not installed")
    events, conclusion, done = carried_out(EXAMPLES / name, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (conclusion.unrecognised, conclusion.flags, conclusion.outcome) == (0, [], None)
    assert conclusion.final_text is not None
    assert 'a "file"\\with\todd name' in conclusion.final_text
    calls = [event for event in events if isinstance(event, ToolCalled)]
    results = [event for event in events if isinstance(event, ToolReturned)]
    assert [call.name for call in calls] == ["terminal"]
    assert [(result.call, result.ok) for result in results] == [(calls[0].call, True)]
    assert [event.final for event in events if isinstance(event, MessageRecorded)] == [False, True]


def test_the_shell_example_answers_with_what_it_prints(tmp_path: Path) -> None:
    """The simplest harness file there is must work as its comment says."""
    _, conclusion, done = carried_out(EXAMPLES / "shell.yaml", tmp_path)
    assert done.returncode == 0
    assert conclusion.final_text is not None
    assert "odd name" in conclusion.final_text


AGENT = """
import sys, subprocess
from hemra_protocol import Trial
trial = Trial("t", "1")
print("a stray print")
subprocess.run(["echo", "a stray child"])
trial.message("half an emoji \\ud83d and a line\\nbreak")
call = trial.call("terminal", {"command": "false"})
trial.result(call, None, None)
try:
    trial.terminal("sleep 30", timeout=0.2)
except subprocess.TimeoutExpired:
    pass
trial.terminal("printf '\\\\377'; exit 3")
trial.usage(model="m", input_tokens=2)
trial.final("x" * 300_000)
"""


def test_the_sdk_keeps_its_stream_clean(tmp_path: Path) -> None:
    """A stray print or a child that writes to stdout must not break the lines of the protocol."""
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "harness.yaml").write_text(
        'name: t\nkind: protocol\ncommand: ["{python}", agent.py]\n', encoding="utf-8"
    )
    events, conclusion, done = carried_out(tmp_path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"a stray print" in done.stderr
    assert b"a stray child" in done.stderr
    assert (conclusion.unrecognised, conclusion.flags) == (0, [])
    assert conclusion.final_text == "x" * 300_000
    assert conclusion.usage is not None
    assert conclusion.usage.input_tokens == 2
    assert [e.ok for e in events if isinstance(e, ToolReturned)] == [None, False, False]
    assert [e.turn for e in events if isinstance(e, ToolCalled)] == [1, 1, 1]
    texts = [event.text for event in events if isinstance(event, MessageRecorded)]
    assert texts[0] == "half an emoji \ud83d and a line\nbreak"


READER = """
from hemra_protocol import Trial
trial = Trial("t", "1")
with open("lines.txt", "wb") as file:
    file.write(b"one\\ntwo \\xff\\x0c\\r\\nthree\\nfour")
texts = [
    trial.read_file("lines.txt"),
    trial.read_file("lines.txt", limit=1),
    trial.read_file("lines.txt", 2, 2),
    trial.read_file("lines.txt", offset=4, limit=9),
    trial.read_file("lines.txt", offset=5),
]
for arguments in (("gone.txt",), (".",), ("lines.txt", 0), ("lines.txt", 3, -1)):
    try:
        trial.read_file(*arguments)
    except (OSError, ValueError) as error:
        texts.append(type(error).__name__)
trial.final("|".join(texts))
"""


def test_the_sdk_reads_files_and_records_it(tmp_path: Path) -> None:
    """A read would give other lines than it records, or a failed one would not be in the record."""
    (tmp_path / "agent.py").write_text(READER, encoding="utf-8")
    (tmp_path / "harness.yaml").write_text(
        'name: t\nkind: protocol\ncommand: ["{python}", agent.py]\n', encoding="utf-8"
    )
    events, conclusion, done = carried_out(tmp_path, tmp_path)
    assert done.returncode == 0, done.stderr
    whole = "one\ntwo \ufffd\x0c\r\nthree\nfour"
    given = [whole, "one\n", "two \ufffd\x0c\r\nthree\n", "four", ""]
    errors = ["FileNotFoundError", "IsADirectoryError", "ValueError", "ValueError"]
    assert conclusion.final_text == "|".join(given + errors)
    calls = [event for event in events if isinstance(event, ToolCalled)]
    assert {call.name for call in calls} == {"read_file"}
    assert calls[2].arguments == {"path": "lines.txt", "offset": 2, "limit": 2}
    results = [event for event in events if isinstance(event, ToolReturned)]
    assert [(result.ok, result.result) for result in results[:5]] == [
        (True, {"content": text}) for text in given
    ]
    assert [result.ok for result in results[5:]] == [False] * 4
    assert "No such file" in str(results[5].result)


def test_the_sdk_says_why_the_work_cannot_go_on(tmp_path: Path) -> None:
    """A refused key would count as an answer of the agent, and its trial would be scored."""
    program = 'from hemra_protocol import Trial\nTrial("t", "1").error("auth", "the key was refused")\n'
    (tmp_path / "agent.py").write_text(program, encoding="utf-8")
    (tmp_path / "harness.yaml").write_text(
        'name: t\nkind: protocol\ncommand: ["{python}", agent.py]\n', encoding="utf-8"
    )
    _, conclusion, done = carried_out(tmp_path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert conclusion.outcome == "auth_error"
    assert "the key was refused" in str(conclusion.reason)
