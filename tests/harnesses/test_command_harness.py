"""The kind `command`: how the instruction goes in and how the answer is read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.conversation import MessageRecorded
from harnesses.base import Conclusion, HarnessFile
from harnesses.command import CommandHarness, CommandInterpreter
from harnesses.errors import HarnessFileError, LaunchError
from harnesses.head_and_tail import KEPT_BYTES
from tests.harnesses.trial_inputs import trial_input


def harness(**fields: Any) -> CommandHarness:
    """A command harness with these fields."""
    return CommandHarness(HarnessFile(name="c", kind="command", **fields), Path("/nowhere"), {"PATH": "/bin"})


def answer(*chunks: bytes, exit_code: int | None = 0) -> tuple[str | None, Conclusion]:
    """What an interpreter makes of chunks of stdout: the recorded final text, and the conclusion."""
    interpreter = CommandInterpreter()
    for chunk in chunks:
        assert interpreter.feed("stdout", chunk) == []
        assert interpreter.feed("stderr", b"noise") == []
    events, conclusion = interpreter.finish(exit_code, None)
    messages = [event for event in events if isinstance(event, MessageRecorded)]
    assert len(messages) == len(events) <= 1
    assert all(message.final and message.role == "assistant" for message in messages)
    return (messages[0].text if messages else None), conclusion


def test_the_instruction_goes_in_the_way_the_file_says() -> None:
    """An agent that waits for its task at the wrong place does nothing, and nothing says so."""
    text = trial_input().instruction
    by_argument = harness(command=["agent", "--task={instruction}"]).launch(trial_input())
    assert (by_argument.argv[1], by_argument.stdin, by_argument.prompt) == (
        f"--task={text}",
        None,
        "argument",
    )
    appended = harness(command="agent run", prompt="argument").launch(trial_input())
    assert appended.argv == ["agent", "run", text]
    by_stdin = harness(command="agent").launch(trial_input())
    assert (by_stdin.argv, by_stdin.stdin, by_stdin.prompt) == (["agent"], text.encode(), "stdin")
    by_file = harness(command=["agent", "-f", "{instruction_file}"]).launch(trial_input())
    assert by_file.argv[2] == "/scratch/harness/instruction.md"
    assert (by_file.files, by_file.stdin, by_file.prompt) == ({"instruction.md": text.encode()}, None, "file")


def test_two_ways_at_once_are_refused() -> None:
    """A file that says stdin and uses {instruction} is a mistake that would give the task twice."""
    with pytest.raises(HarnessFileError, match="choose one"):
        harness(command=["agent", "{instruction}"], prompt="stdin")


def test_placeholders_are_filled_once() -> None:
    """An instruction that holds a placeholder's name is text, not a way to change the command."""
    command = ["a", "{workspace}:{home}", "{task}/{trial}/{seed}/{attempt}", "{python}", "{model}", "${home}"]
    argv = (
        harness(command=[*command, "{instruction}"], model="m")
        .launch(trial_input(instruction="{home} {instruction} {python}"))
        .argv
    )
    assert argv == [
        "a",
        "/scratch/workspace:/scratch/home",
        "t01/echo/0001/7/2",
        sys.executable,
        "m",
        "${home}",
        "{home} {instruction} {python}",
    ]


@pytest.mark.parametrize("text", ["x" * (128 * 1024), "a\0b"])
def test_what_no_argument_can_hold_is_refused_with_the_remedy(text: str) -> None:
    """The system would refuse it with a message that nobody understands."""
    with pytest.raises(LaunchError, match="use prompt: stdin or file"):
        harness(command="agent", prompt="argument").launch(trial_input(instruction=text))
    assert harness(command="agent").launch(trial_input(instruction=text)).stdin == text.encode()


def test_a_character_split_over_chunks_is_one_character() -> None:
    """Decoding chunk by chunk turns every split character into two replacement marks."""
    whole = "café ☕ 😀\n".encode()
    text, conclusion = answer(*(whole[i : i + 1] for i in range(len(whole))))
    assert text == conclusion.final_text == "café ☕ 😀\n"
    assert conclusion.flags == []


def test_bytes_that_are_no_text_are_kept() -> None:
    """What a harness really printed must be restorable from the record."""
    text, _ = answer(b"ok \xff\xfe", b" end \xf0\x9f")
    assert text is not None
    assert text.encode("utf-8", "surrogateescape") == b"ok \xff\xfe end \xf0\x9f"


def test_a_long_answer_keeps_head_and_tail_and_little_memory() -> None:
    """A harness that prints gigabytes must not fill our memory, and its last words matter most."""
    interpreter = CommandInterpreter()
    interpreter.feed("stdout", b"BEGIN")
    for _ in range(400):
        interpreter.feed("stdout", "é".encode() * 32768)
        assert interpreter.answer.kept <= 3 * KEPT_BYTES
    interpreter.feed("stdout", b"END")
    _, conclusion = interpreter.finish(0, None)
    text = conclusion.final_text
    assert text is not None
    assert text.startswith("BEGINé")
    assert text.endswith("éEND")
    assert not any("\udc80" <= character <= "\udcff" for character in text)
    left_out = int(text.split("[… ")[1].split()[0])
    shown = text.split("\n[…")[0].encode(), text.split("…]\n")[1].encode()
    assert left_out + len(shown[0]) + len(shown[1]) == 400 * 65536 + 8
    assert conclusion.flags == ["output_truncated"]


@pytest.mark.parametrize("size", [KEPT_BYTES - 1, KEPT_BYTES, 2 * KEPT_BYTES])
def test_an_answer_up_to_the_bound_is_kept_whole(size: int) -> None:
    """Off by one here loses a byte of an answer that needed no cut."""
    text, conclusion = answer(b"x" * (size - 1), b"y")
    assert text == "x" * (size - 1) + "y"
    assert conclusion.flags == []


def test_no_output_and_exit_codes_are_flags_not_outcomes() -> None:
    """How a program exits never decides whether it did the task."""
    text, conclusion = answer()
    assert (text, conclusion.final_text, conclusion.outcome, conclusion.flags) == (
        None,
        None,
        None,
        ["no_output"],
    )
    _, failed = answer(b"x", exit_code=3)
    assert (failed.outcome, failed.flags) == (None, ["nonzero_exit"])


def test_a_placeholder_of_the_gateway_needs_an_upstream(tmp_path: Path) -> None:
    """An empty base URL would send the agent, with the whole network, to its maker's own endpoint."""
    file = HarnessFile(name="a", kind="command", command=["sh"], env={"OPENAI_BASE_URL": "{gateway_v1}"})
    assert any("upstream" in text for text in CommandHarness(file, tmp_path).problems())
    typo = HarnessFile(name="a", kind="command", command=["sh", "{gateway_V1}"])
    assert any("{gateway_v1}" in text for text in CommandHarness(typo, tmp_path).problems())
