"""The kind `sdk`: programs on the vendors' libraries, among them the examples, which do tasks of the suite here."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.conversation import MessageRecorded, ToolCalled
from eventlog.schemas.runs import Limits
from harnesses.base import Conclusion, GatewayAddress
from harnesses.errors import HarnessFileError, LaunchError
from harnesses.file import check
from harnesses.registry import KINDS, load_harness
from harnesses.sdk_program import SdkHarness, SdkInterpreter
from hemra.datasets.load import load_dataset
from hemra.datasets.prepare import prepare
from hemra.datasets.toolnames import canonical
from tests.harnesses.trial_inputs import trial_input
from tests.hemra.solved_trials import verifier_of
from tests.hemra.task_folders import blank_trace
from tools.model_server.dialects import DIALECTS
from tools.model_server.script import load, parse
from tools.model_server.server import ModelServer, running

EXAMPLES = Path(__file__).parents[2] / "examples" / "harnesses"
GATEWAY = GatewayAddress(root="http://127.0.0.1:9/t/0001", token="token-of-the-trial", dialect="messages")
agents = pytest.mark.parametrize(
    ("name", "library"), [("openai-sdk-agent", "openai"), ("anthropic-sdk-agent", "anthropic")]
)


def program(folder: Path, **fields: Any) -> SdkHarness:
    """A program by what its file says beside the usual."""
    usual = {"name": "mine", "kind": "sdk", "command": ["python3", "a.py"], "model": "m-1",
             "upstream": {"base_url": "http://127.0.0.1:9"}}  # fmt: skip
    return SdkHarness(check(usual | fields), folder, {"PATH": "/usr/bin:/bin", "MINE": "x"})


def test_the_libraries_find_the_gateway(tmp_path: Path) -> None:
    """A library would ask its maker's endpoint with a key of the user's, or send it traces."""
    found = program(tmp_path, env={"OPENAI_API_BASE": "mine"})
    launch = found.launch(trial_input(gateway=GATEWAY, limits=Limits(turns=5)))
    environment = launch.env
    assert {environment[f"{vendor}_API_KEY"] for vendor in ("OPENAI", "ANTHROPIC")} == {"token-of-the-trial"}
    assert environment["ANTHROPIC_AUTH_TOKEN"] == "token-of-the-trial"
    assert environment["OPENAI_BASE_URL"] == "http://127.0.0.1:9/t/0001/v1"
    assert environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9/t/0001"
    assert (environment["HEMRA_MODEL"], environment["HEMRA_TURNS"]) == ("m-1", "5")
    assert environment["OPENAI_AGENTS_DISABLE_TRACING"] == "1"
    assert environment["OPENAI_API_BASE"] == "mine"
    assert launch.stdin == trial_input().instruction.encode()
    assert isinstance(KINDS["sdk"](found.file, tmp_path), SdkHarness)


def test_without_a_model_behind_it_nothing_starts(tmp_path: Path) -> None:
    """The program would ask for a model with whatever it finds."""
    bare = program(tmp_path, upstream=None, model=None, command=["true"])
    assert [problem.split(" is missing")[0] for problem in bare.problems()] == ["upstream", "model"]
    with pytest.raises(LaunchError, match="'upstream'"):
        bare.launch(trial_input())
    with pytest.raises(LaunchError, match="'model'"):
        bare.launch(trial_input(gateway=GATEWAY))
    with pytest.raises(HarnessFileError, match="needs a 'command'"):
        program(tmp_path, command=None)


@pytest.mark.parametrize(("dialect", "spoken"), [(None, "chat"), ("messages", "messages")])
def test_its_dialect_is_its_files(tmp_path: Path, dialect: str | None, spoken: str) -> None:
    """The gateway would read its requests in another dialect than it speaks."""
    upstream = {"base_url": "http://127.0.0.1:9"} | ({"dialect": dialect} if dialect else {})
    assert program(tmp_path, upstream=upstream).dialect == spoken


def read(*pieces: bytes, code: int | None = 0) -> tuple[list[Any], Conclusion]:
    """What comes of these pieces of stdout."""
    reader = SdkInterpreter()
    events = [event for piece in pieces for event in reader.feed("stdout", piece)]
    reader.feed("stderr", b"chatter\n")
    more, conclusion = reader.finish(code, None)
    return events + more, conclusion


@pytest.mark.parametrize(
    "text", [b"The answer\nis 42.\n", b'{"type": "other"}\n', b"\n\n  x", b"", b"{" * 70_000]
)
def test_what_it_prints_is_its_answer(text: bytes) -> None:
    """An answer would be taken for the protocol and lost."""
    events, said = read(*(text[at : at + 5000] for at in range(0, len(text), 5000)))
    assert said.final_text == (text.decode() or None)
    assert said.flags == ([] if text else ["no_output"])
    assert len(events) == (1 if text else 0)


def test_a_program_that_says_hello_speaks_the_protocol() -> None:
    """Its lines would be the answer that the scorer gets."""
    lines = [
        {"type": "hello", "protocol": "hemra/1", "name": "x"},
        {"type": "tool_call", "call": 1, "name": "bash", "arguments": {}},
        {"type": "final", "text": "42"},
    ]
    text = b"\n" + b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    reader = SdkInterpreter()
    assert not reader.ended
    assert reader.feed("stdout", text[:9]) == []
    events = reader.feed("stdout", text[9:])
    assert reader.ended
    more, said = reader.finish(0, None)
    assert said == Conclusion(final_text="42", recognised=3)
    assert [type(event) for event in events + more][1:] == [ToolCalled, MessageRecorded]


def carried_out(server: ModelServer, folder: Path, name: str, task: str) -> tuple[str, str, int, str]:
    """(status and reason of the task's verifier, exit code, stderr) of an example agent, without the engine."""
    found = next(each for each in load_dataset("hermes").tasks if each.id == task)
    workspace, home = folder / "workspace", folder / "home"
    home.mkdir()
    prepared = prepare(found, workspace, seed=7)
    harness = load_harness(str(EXAMPLES / name))
    assert isinstance(harness, SdkHarness)
    address = GatewayAddress(root=server.base, token="dummy-token", dialect=harness.dialect)
    launch = harness.launch(
        trial_input(
            gateway=address, instruction=prepared.instruction, workspace=str(workspace), home=str(home)
        )
    )
    done = subprocess.run(
        [sys.executable, *launch.argv[1:]], input=launch.stdin, cwd=workspace, capture_output=True, timeout=100,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **launch.env}, check=False,
    )  # fmt: skip
    reader = harness.interpreter()
    reader.feed("stdout", done.stdout)
    _, said = reader.finish(done.returncode, None)
    calls = [
        entry for entry in server.journal.served() if entry["kind"] == "model" and entry["status"] == 200
    ]
    if not calls:
        return "none", "", done.returncode, done.stderr.decode()
    trace = blank_trace(prepared, workspace, home) | {"tool_calls": told(calls[-1]), "final": said.final_text}
    verdict: dict[str, Any] = verifier_of(found)(workspace, trace)
    return verdict["status"], verdict["reason"], done.returncode, done.stderr.decode()


def told(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The tool calls of a conversation, from its last request."""
    asked = DIALECTS[entry["dialect"]].parse(entry["request_body"])
    return [
        {"call": call.id, "name": call.name, "tool": canonical(call.name), "arguments": json.loads(call.arguments),
         "ok": call.result is not None, "result": call.result, "turn": turn}
        for turn, message in enumerate(asked.messages)
        for call in message.calls
    ]  # fmt: skip


@agents
@pytest.mark.parametrize(
    ("mode", "task", "wanted"),
    [("solver", "t03_patch_edit/t01_basic", "PASS"), ("saboteur", "t01_terminal_smoke/t01_echo", "FAIL")],
)
def test_the_examples_do_tasks(
    tmp_path: Path, name: str, library: str, task: str, mode: str, wanted: str
) -> None:
    """People copy them: a loop that loses a result would make every model look bad."""
    needs(library)
    import msgspec

    with running(msgspec.structs.replace(load(mode), record_bodies=True)) as server:
        status, reason, code, errors = carried_out(server, tmp_path, name, task)
    assert (status, code) == (wanted, 0), (reason, errors)


@agents
def test_an_example_whose_model_fails_says_so(tmp_path: Path, name: str, library: str) -> None:
    """Its failure would look like an answer."""
    needs(library)
    script = "faults: [{kind: status, status: 401, message: nobody}]\nturns: [{text: x}]"
    with running(parse(script)) as server:
        _, _, code, errors = carried_out(server, tmp_path, name, "t01_terminal_smoke/t01_echo")
    assert code == 1
    last = errors.splitlines()[-1]
    assert last.startswith("the model did not answer: ")
    assert "401" in last


def needs(library: str) -> None:
    """Skip, by name, without a library of a vendor."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}, which is not installed")
