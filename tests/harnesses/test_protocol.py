"""The kind `protocol`: the task that goes in, and every sound and odd line that may come out."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import (
    MessageRecorded,
    ModelResponded,
    NoteRecorded,
    ToolCalled,
    ToolReturned,
)
from eventlog.schemas.trials import Usage
from harnesses.base import Conclusion, HarnessFile
from harnesses.line_reader import DEPTH
from harnesses.protocol import ProtocolHarness, ProtocolInterpreter, task_object
from harnesses.usage import COUNTS
from tests.harnesses.trial_inputs import trial_input

HELLO = {"type": "hello", "protocol": "hemra/1", "name": "a", "version": "1"}
FINAL = {"type": "final", "text": "done"}


def told(
    *lines: Any, exit_code: int | None = 0, signal: int | None = None
) -> tuple[list[EventData], Conclusion]:
    """Events and conclusion of a program that printed these lines (objects as JSON, bytes as they are)."""
    interpreter = ProtocolInterpreter()
    events = []
    for line in lines:
        raw = line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
        events += interpreter.feed("stdout", raw)
    rest, conclusion = interpreter.finish(exit_code, signal)
    return events + rest, conclusion


def of_type(events: list[EventData], kind: type[Any]) -> list[Any]:
    """The events of one type."""
    return [event for event in events if isinstance(event, kind)]


def raw_notes(events: list[EventData]) -> list[NoteRecorded]:
    """The lines that were kept as they came."""
    return [note for note in of_type(events, NoteRecorded) if note.code == "harness_raw"]


def test_the_task_is_one_object_with_everything_in_it() -> None:
    """A program in any language must find its task without guessing."""
    file = HarnessFile(name="p", kind="protocol", command="agent", model="m", settings={"a": 1})
    launch = ProtocolHarness(file, Path("/nowhere"), {}).launch(
        trial_input(allowed_tools=["terminal"], forbidden_tools=["web"])
    )
    assert launch.stdin is not None
    assert launch.stdin.count(b"\n") == 1
    task = json.loads(launch.stdin)
    assert task == {
        "protocol": "hemra/1",
        "run": "20261130-194512-abcdef",
        "trial": "0001",
        "task": "t01/echo",
        "instruction": "Say hello to Zoë ☕.",
        "workspace": "/scratch/workspace",
        "home": "/scratch/home",
        "seed": 7,
        "attempt": 2,
        "limits": task["limits"],
        "allowed_tools": ["terminal"],
        "forbidden_tools": ["web"],
        "model": "m",
        "settings": {"a": 1},
        "mcp_servers": {},
    }
    assert task["limits"]["wall_seconds"] == 60.0
    assert "hemra_protocol.py" in launch.files
    assert launch.env["PYTHONPATH"] == "/scratch/harness"


def test_a_sound_conversation_becomes_events() -> None:
    """The straight path: each line is the event that docs/harness-protocol.md says."""
    events, conclusion = told(
        HELLO,
        {"type": "message", "role": "assistant", "text": "Looking.", "reasoning": "why"},
        {"type": "tool_call", "call": "c1", "name": "terminal", "arguments": {"command": "ls"}, "turn": 1},
        {"type": "tool_result", "call": "c1", "ok": True, "result": {"output": "x"}},
        {"type": "tool_call", "call": 2, "name": "web", "arguments": None},
        {"type": "tool_result", "call": 2, "ok": "perhaps", "result": None},
        {"type": "usage", "input_tokens": 10, "output_tokens": 2, "model": "m"},
        {"type": "usage", "input_tokens": 5, "cache_read_tokens": 4, "cost_usd": 0.5},
        {"type": "log", "level": "WARN", "text": "slow"},
        FINAL,
    )
    assert of_type(events, MessageRecorded) == [
        MessageRecorded(role="assistant", text="Looking.", reasoning="why"),
        MessageRecorded(role="assistant", text="done", final=True),
    ]
    assert of_type(events, ToolCalled) == [
        ToolCalled(call="c1", name="terminal", arguments={"command": "ls"}, turn=1),
        ToolCalled(call="2", name="web", arguments=None),
    ]
    assert of_type(events, ToolReturned) == [
        ToolReturned(call="c1", name="terminal", ok=True, result={"output": "x"}),
        ToolReturned(call="2", name="web", ok=None, result=None),
    ]
    assert [event.model for event in of_type(events, ModelResponded)] == ["m", None]
    assert [(note.level, note.code) for note in of_type(events, NoteRecorded)] == [
        ("info", "harness_hello"),
        ("warning", "harness_log"),
    ]
    assert conclusion == Conclusion(
        final_text="done",
        usage=Usage(input_tokens=15, output_tokens=2, cache_read_tokens=4, cost_usd=0.5),
        recognised=10,
        flags=["usage_partial", "cost_partial"],
    )


def test_chunks_fall_anywhere() -> None:
    """Lines, characters and the last line without a newline do not depend on how reads fall."""
    whole = b"".join(
        json.dumps(line, ensure_ascii=False).encode() + b"\n"
        for line in (HELLO, {"type": "message", "text": "café ☕ 😀"}, FINAL)
    ).rstrip(b"\n")
    expected, _ = told(whole)
    for step in (1, 2, 3, 7):
        interpreter = ProtocolInterpreter()
        events = []
        for at in range(0, len(whole), step):
            events += interpreter.feed("stdout", whole[at : at + step])
        rest, conclusion = interpreter.finish(0, None)
        assert events + rest == expected
        assert conclusion.final_text == "done"


@pytest.mark.parametrize("size", [65_500, 65_536, 70_000, 1 << 20, 17 << 20])
def test_long_lines_arrive(size: int) -> None:
    """A reader with a 64 KiB line limit dies on the first real tool result."""
    events, conclusion = told(HELLO, {"type": "message", "text": "a" * size}, json.dumps(FINAL).encode())
    assert [len(message.text) for message in of_type(events, MessageRecorded)] == [size, 4]
    assert conclusion.flags == []


def test_a_line_past_the_limit_is_skipped_counted_and_flagged() -> None:
    """One endless line must neither fill memory nor cost the lines after it."""
    interpreter = ProtocolInterpreter()
    events = interpreter.feed("stdout", json.dumps(HELLO).encode() + b"\n" + b'{"type":"message","text":"')
    for _ in range(65):
        events += interpreter.feed("stdout", b"a" * (1 << 20))
        assert len(interpreter._lines._content) <= 64 << 20
    events += interpreter.feed("stdout", b'"}\n' + json.dumps(FINAL).encode() + b"\n")
    _, conclusion = interpreter.finish(0, None)
    assert {"line_too_long", "unknown_lines"} <= set(conclusion.flags)
    assert (conclusion.recognised, conclusion.unrecognised) == (2, 1)
    note = raw_notes(events)[0]
    assert note.details == {"line": 2, "bytes": 28 + (65 << 20), "whole": False}
    assert conclusion.final_text == "done"


def test_endless_text_that_is_no_json_takes_no_memory() -> None:
    """300 MB without a newline cannot be an event, so nothing of it but its head is held."""
    interpreter = ProtocolInterpreter()
    chunk = b"a" * 65536
    for _ in range(4800):
        assert interpreter.feed("stdout", chunk) == []
        assert len(interpreter._lines._content) <= 2 * 65536
    events, conclusion = interpreter.finish(0, None)
    assert raw_notes(events)[0].details == {"line": 1, "bytes": 4800 * 65536, "whole": False}
    assert conclusion.outcome == "unknown"


@pytest.mark.parametrize(
    "line",
    [
        b"plain text\n",
        b"[1, 2]\n",
        b"5\n",
        b'{"type": "message"\n',
        b'{"type": "someday", "x": 1}\n',
        b'{"type": 7}\n',
        b'{"no": "type"}\n',
        b'{"type": "tool_call", "name": "x"}\n',
        b'{"type": "tool_call", "call": true, "name": "x"}\n',
        b'{"type": "tool_result", "ok": true}\n',
        b'{"type": "message", "role": 3, "text": "x"}\n',
        b'{"type": "usage"}\n',
        b'{"type": "log"}\n',
        b'{"id":"1","msg":{"type":"task_started"}}\n',
        b"\xff\xfe\x00\n",
        b'{"type":"message","text":' + b"1" * 5000 + b"}\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_what_is_not_understood_is_kept_and_counted(line: bytes) -> None:
    """A line that is dropped without a word is data lost, and a reader that dies loses all the rest."""
    events, conclusion = told(HELLO, line, FINAL)
    note = raw_notes(events)[0]
    assert note.text.encode("utf-8", "surrogateescape") == line.rstrip(b"\n")[: len(note.text)]
    assert note.details["bytes"] == len(line) - 1
    assert (conclusion.recognised, conclusion.unrecognised) == (2, 1)
    assert conclusion.flags == ["unknown_lines"]
    assert conclusion.final_text == "done"


def test_odd_json_is_understood() -> None:
    """Programs print NaN, halves of emoji, numbers of any size, colours and byte order marks."""
    events, conclusion = told(
        b"\xef\xbb\xbf" + json.dumps(HELLO).encode() + b"\r\n",
        b'\x1b[0m\x1b[2K {"type":"tool_call","call":"c","name":"t","arguments":{"n":NaN,"i":-Infinity}}\n',
        b'{"type":"tool_result","call":"c","ok":true,"result":{"cut \\ud83d":18446744073709551616}}\n',
        b'{"type":"message","text":"bad \xff byte"}\n',
        b"\n  \n",
        FINAL,
    )
    call, result = of_type(events, ToolCalled)[0], of_type(events, ToolReturned)[0]
    assert math.isnan(call.arguments["n"])
    assert call.arguments["i"] == -math.inf
    assert result.result == {"cut \ud83d": 2**64}
    assert of_type(events, MessageRecorded)[0].text.encode("utf-8", "surrogateescape") == b"bad \xff byte"
    assert (conclusion.recognised, conclusion.unrecognised, conclusion.flags) == (5, 0, [])


def test_deep_nesting_is_recorded_as_text() -> None:
    """Readers of the log stop at some depth; a value that passes it must not take the event with it."""
    deep = b'{"type":"tool_call","call":"c","name":"t","arguments":' + b"[" * 500 + b"]" * 500 + b"}\n"
    events, conclusion = told(HELLO, deep, FINAL)
    assert of_type(events, ToolCalled)[0].arguments == "[" * 500 + "]" * 500
    assert conclusion.flags == ["deep_nesting"]
    shallow = {"type": "tool_call", "call": "c", "name": "t", "arguments": json.loads("[" * 50 + "]" * 50)}
    assert told(HELLO, shallow, FINAL)[1].flags == []
    assert DEPTH > 50


def test_a_chatty_program_does_not_fill_the_log() -> None:
    """A million lines of debug output are in the recording already; they need not be events too."""
    kept = ProtocolInterpreter.KEPT_LINES
    events, conclusion = told(HELLO, b"debug\n" * (kept + 500), FINAL)
    assert len(raw_notes(events)) == kept
    assert conclusion.unrecognised == kept + 500


@pytest.mark.parametrize(
    ("usage", "expected", "sound"),
    [
        ({"input_tokens": 3.0}, Usage(input_tokens=3), True),
        ({"input_tokens": None, "output_tokens": 0}, Usage(output_tokens=0), True),
        ({"input_tokens": True, "output_tokens": 1}, Usage(output_tokens=1), False),
        ({"input_tokens": -1, "output_tokens": 1}, Usage(output_tokens=1), False),
        ({"input_tokens": 2**63, "output_tokens": 1}, Usage(output_tokens=1), False),
        ({"input_tokens": float("nan"), "cost_usd": 1}, Usage(cost_usd=1.0), False),
        ({"cost_usd": float("inf"), "output_tokens": 1}, Usage(output_tokens=1), False),
        ({"input_tokens": "12"}, None, False),
    ],
)
def test_usage_is_a_number_or_unknown(usage: dict[str, Any], expected: Usage | None, sound: bool) -> None:
    """A count that makes no sense is null, never 0, and never spoils the sum of the others."""
    _, conclusion = told(HELLO, {"type": "usage"} | usage, FINAL)
    assert conclusion.usage == expected
    assert ("bad_usage" not in conclusion.flags) == sound


def test_usage_that_was_never_told_is_unknown() -> None:
    """0 tokens and unknown tokens are different facts."""
    assert told(HELLO, FINAL)[1].usage is None


@pytest.mark.parametrize(
    ("lines", "ending", "outcome", "flags"),
    [
        ([HELLO, FINAL], (0, None), None, []),
        ([HELLO, FINAL], (1, None), None, ["nonzero_exit"]),
        ([HELLO, FINAL], (None, 9), None, []),
        ([HELLO, FINAL], (None, None), None, []),
        ([FINAL], (0, None), None, ["no_hello"]),
        ([HELLO | {"protocol": "hemra/9"}, FINAL], (0, None), None, ["other_protocol"]),
        ([HELLO, FINAL, FINAL], (0, None), None, ["several_finals"]),
        ([HELLO, {"type": "final", "text": ""}], (0, None), None, ["no_output"]),
        ([HELLO], (0, None), None, ["incomplete_stream"]),
        ([HELLO], (None, None), None, ["incomplete_stream"]),
        ([HELLO], (2, None), "harness_error", ["incomplete_stream", "nonzero_exit"]),
        ([HELLO], (None, 11), "harness_error", ["incomplete_stream"]),
        ([], (1, None), "harness_error", ["no_hello", "incomplete_stream", "nonzero_exit"]),
        ([], (0, None), "unknown", ["no_hello", "incomplete_stream", "no_output"]),
        (
            [b"x\n"],
            (0, None),
            "unknown",
            ["unknown_lines", "no_hello", "incomplete_stream", "adapter_mismatch"],
        ),
    ],
)
def test_the_stream_decides_before_the_exit_code(
    lines: list[Any], ending: tuple[int | None, int | None], outcome: str | None, flags: list[str]
) -> None:
    """Exit codes lie both ways; what the program said about itself comes first."""
    _, conclusion = told(*lines, exit_code=ending[0], signal=ending[1])
    assert (conclusion.outcome, conclusion.flags) == (outcome, flags)
    assert (conclusion.reason is None) == (outcome is None)


def test_the_last_message_stands_in_for_a_missing_or_empty_final() -> None:
    """Text that the agent did say must not be lost because its last line is empty or never came."""
    message = {"type": "message", "text": "the answer"}
    assert told(HELLO, message)[1].final_text == "the answer"
    empty = told(HELLO, message, {"type": "final", "text": ""})[1]
    assert (empty.final_text, empty.flags) == ("the answer", [])


def test_the_end_is_known_as_soon_as_it_is_said() -> None:
    """The engine's grace for a program that hangs after its end begins at this line."""
    interpreter = ProtocolInterpreter()
    interpreter.feed("stdout", json.dumps(HELLO).encode() + b"\n")
    interpreter.feed("stderr", json.dumps(FINAL).encode() + b"\n")
    assert not interpreter.ended
    interpreter.feed("stdout", json.dumps(FINAL).encode())
    assert not interpreter.ended
    interpreter.feed("stdout", b"\n")
    assert interpreter.ended


def test_the_page_names_every_line_every_flag_and_every_field() -> None:
    """A program is written from docs/harness-protocol.md, so what is not on it does not exist."""
    page = (Path(__file__).parents[2] / "docs" / "harness-protocol.md").read_text(encoding="utf-8")
    modules = [Path(__file__).parents[2] / "harnesses" / name for name in ("protocol.py", "line_reader.py")]
    source = "".join(module.read_text(encoding="utf-8") for module in modules)
    flags = set(re.findall(r'\.flag\("(\w+)"\)', source))
    fields = json.loads(task_object(trial_input(solution_dir="/x")))
    names = {*ProtocolInterpreter()._readers, *flags, *fields, *fields["limits"], *COUNTS, "cost_usd"}
    assert len(flags) >= 10
    assert sorted(name for name in names if f"`{name}`" not in page) == []


def test_the_example_on_the_page_is_understood() -> None:
    """The lines that people copy from the page must themselves be sound."""
    page = (Path(__file__).parents[2] / "docs" / "harness-protocol.md").read_text(encoding="utf-8")
    lines = [line.strip().encode() + b"\n" for line in page.splitlines() if line.startswith('    {"type"')]
    _, conclusion = told(*lines)
    assert (conclusion.recognised, conclusion.unrecognised, conclusion.flags) == (6, 0, [])
    assert conclusion.final_text == "There is one file."


def usage_lines(*lines: dict[str, Any]) -> Conclusion:
    """What is concluded from these usage lines."""
    return told(HELLO, *({"type": "usage"} | line for line in lines), FINAL)[1]


@pytest.mark.parametrize(
    ("lines", "flags"),
    [
        ([{"input_tokens": 5, "cost_usd": 1}, {"input_tokens": 5, "cost_usd": 1}], []),
        ([{"input_tokens": 5}, {"input_tokens": 5}], []),
        ([{"input_tokens": 5, "reasoning_tokens": 1}, {"input_tokens": 5}], []),
        ([{"input_tokens": 5, "cost_usd": 1}, {"input_tokens": 5}], ["cost_partial"]),
        ([{"input_tokens": 5, "cost_usd": 1}, {"cost_usd": 1}], ["usage_partial"]),
        ([{"cost_usd": 1}, {"cost_usd": "free"}], ["bad_usage", "cost_partial"]),
        ([{"output_tokens": 5}, {"output_tokens": -1}], ["bad_usage", "usage_partial"]),
        ([{"output_tokens": math.nan}], ["bad_usage"]),
    ],
)
def test_a_sum_that_is_not_the_whole_says_so(lines: list[dict[str, Any]], flags: list[str]) -> None:
    """The cost of some calls would be shown as the cost of all."""
    found = [flag for flag in usage_lines(*lines).flags if flag != "unknown_lines"]
    assert found == flags


def test_more_from_the_cache_than_at_all_is_a_contradiction() -> None:
    """A harness that counts cached tokens apart would look cheaper than it is, and nobody would know."""
    conclusion = usage_lines({"input_tokens": 100, "cache_read_tokens": 900})
    assert conclusion.flags == ["bad_usage"]
    assert conclusion.usage == Usage(input_tokens=100, cache_read_tokens=900)
    assert usage_lines({"input_tokens": 900, "cache_read_tokens": 900}).flags == []


def error(kind: Any, text: Any = "no") -> dict[str, Any]:
    """An error line."""
    return {"type": "error", "kind": kind, "text": text}


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("auth", "auth_error"),
        ("quota", "quota_error"),
        ("provider", "provider_error"),
        ("harness", "harness_error"),
    ],
)
@pytest.mark.parametrize("exit_code", [0, 1, None])
def test_an_error_without_a_final_is_the_outcome(kind: str, outcome: str, exit_code: int | None) -> None:
    """A key that is wrong would count as a failure of the harness, and the run would go on for hours."""
    events, conclusion = told(HELLO, error(kind, "first"), error(kind, "401:\n no key"), exit_code=exit_code)
    assert (conclusion.outcome, conclusion.reason) == (outcome, "401: no key")
    assert "incomplete_stream" in conclusion.flags
    note = of_type(events, NoteRecorded)[-1]
    assert (note.level, note.code, note.text) == ("error", "harness_error", "401:\n no key")
    assert note.details == {"kind": kind}


@pytest.mark.parametrize("lines", [[error("provider"), FINAL], [FINAL, error("harness")]])
def test_a_final_makes_an_error_a_note(lines: list[Any]) -> None:
    """An endpoint that failed once and served then would keep a finished trial from being scored."""
    events, conclusion = told(HELLO, *lines)
    assert conclusion.outcome is None
    assert any(note.code == "harness_error" for note in of_type(events, NoteRecorded))


@pytest.mark.parametrize(
    "line", [error("weather"), error(None), error(["auth"]), error("auth", 5), {"type": "error"}]
)
def test_an_error_that_cannot_be_understood_is_kept_as_it_came(line: dict[str, Any]) -> None:
    """A misspelt kind would stop runs, or vanish."""
    events, conclusion = told(HELLO, line)
    assert conclusion.outcome is None
    assert len(raw_notes(events)) == 1


def test_a_long_error_is_whole_in_its_note_only() -> None:
    """A page of HTML from a proxy would become the reason in every table."""
    events, conclusion = told(HELLO, error("provider", "x" * 100_000))
    assert conclusion.reason == "x" * 500
    assert len(of_type(events, NoteRecorded)[-1].text) == 100_000
