"""The kind `aider`: how it is started, and what the text of the real program means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harnesses.aider import AiderHarness, AiderInterpreter
from tests.harnesses.adapters import (
    gateway,
    made,
    messages,
    notes,
    read,
    same_in_any_pieces,
    sample,
    survives,
)
from tests.harnesses.trial_inputs import trial_input

OPTIONS = [
    "--yes-always", "--no-git", "--no-check-update", "--no-show-model-warnings", "--no-analytics",
    "--no-show-release-notes", "--edit-format", "whole",
    "--model-settings-file", "/scratch/home/aider/model.settings.yml",
    "--llm-history-file", "/scratch/home/aider/llm.md",
    "--chat-history-file", "/scratch/home/aider/chat.md", "--input-history-file", "/scratch/home/aider/input.md",
]  # fmt: skip
ANSWER = "Here it is:\n\nhello.txt\n```\nhello\n```"
BEGIN = sample("aider.txt").split(b"\nHere it is")[0]
REFUSED = (
    b"litellm.AuthenticationError: AuthenticationError: OpenAIException - scripted failure 401\n"
    b"The API provider is not able to authenticate you. Check your API key.\n"
)


def test_it_is_told_where_its_model_is(tmp_path: Path) -> None:
    """With another address or without one of its switches it would ask somebody else, look for updates, or be told
    nothing of what its answers cost."""
    launch = made(AiderHarness, tmp_path).launch(trial_input(gateway=gateway()))
    assert launch.argv == [
        "agent",
        "--model",
        "openai/test-model",
        "--message",
        "Say hello to Zoë ☕.",
        *OPTIONS,
    ]
    assert launch.env == {
        "OPENAI_API_KEY": "trial-token",
        "OPENAI_API_BASE": "http://127.0.0.1:4000/t/0001/v1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    assert (launch.stdin, launch.prompt, launch.files) == (b"", "argument", {})
    assert launch.home_files["aider/input.md"] == b""
    (settings,) = json.loads(launch.home_files["aider/model.settings.yml"])
    assert settings["extra_params"] == {"stream_options": {"include_usage": True}}
    assert launch.keep_home == ("aider/llm.md", "aider/chat.md")


@pytest.mark.parametrize("instruction", ["-v", "x" * (128 * 1024), "a\0b"])
def test_an_instruction_that_is_no_argument_goes_in_by_a_file(instruction: str, tmp_path: Path) -> None:
    """It would be taken for an option, or the program would not start."""
    launch = made(AiderHarness, tmp_path).launch(trial_input(gateway=gateway(), instruction=instruction))
    assert launch.argv[3:5] == ["--message-file", "/scratch/harness/aider-message.md"]
    assert (launch.files["aider-message.md"], launch.prompt) == (instruction.encode(), "file")


@pytest.mark.parametrize("instruction", ["/run rm x", "!ls"])
def test_an_instruction_is_no_command_of_aiders_own(instruction: str, tmp_path: Path) -> None:
    """A task that begins with a slash would be carried out by the program and never reach the model."""
    launch = made(AiderHarness, tmp_path).launch(trial_input(gateway=gateway(), instruction=instruction))
    assert launch.argv[4] == f"\n{instruction}"


def test_a_run_is_read_to_its_end() -> None:
    """Its banners would be taken for the answer, and its estimates for tokens that were served."""
    events, said = read(AiderInterpreter(), sample("aider.txt"))
    assert (said.outcome, said.reason, said.flags, said.unrecognised) == (None, None, [], 0)
    assert said.final_text == ANSWER
    assert said.usage is None
    assert messages(events) == [("assistant", ANSWER, None, True)]
    assert notes(events) == {
        "harness_hello": ["aider 0.86.2"],
        "aider_tokens": ["Tokens: 596 sent, 14 received."],
        "aider_edits": ["it edited hello.txt"],
    }


def test_a_refused_key_is_a_failure_whatever_the_exit_code() -> None:
    """It exits with 0 then: the trial would count as the agent's work."""
    events, said = read(AiderInterpreter(), BEGIN + b"\n" + REFUSED)
    assert (said.outcome, said.final_text) == ("auth_error", None)
    assert {"exit_contradicts", "no_output"} == set(said.flags)
    assert "exit_contradicts" in notes(events)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("litellm.InternalServerError: OpenAIException - scripted failure 500", "provider_error"),
        ("litellm.RateLimitError: You exceeded your current quota", "quota_error"),
        ("litellm.Timeout: no answer", "provider_error"),
        ("litellm.BadRequestError: scripted failure", "harness_error"),
    ],
)
def test_the_name_of_the_exception_decides(error: str, outcome: str) -> None:
    """Its library tells answers of an endpoint apart by nothing else."""
    retry = b"Retrying in 0.2 seconds...\n"
    events, said = read(AiderInterpreter(), BEGIN + f"\n{error}\n".encode() + retry, None)
    assert said.outcome == outcome
    assert notes(events)["model_retried"] == ["Retrying in 0.2 seconds..."]


def test_an_error_that_was_got_over_is_none() -> None:
    """A retried request would make a failure of a trial that went well."""
    rest = sample("aider.txt").removeprefix(BEGIN)
    _, said = read(
        AiderInterpreter(), BEGIN + b"\nlitellm.InternalServerError: x\nRetrying in 0.2 seconds...\n" + rest
    )
    assert said.outcome is None
    assert str(said.final_text).endswith(ANSWER)


def test_a_second_answer_takes_the_place_of_the_first() -> None:
    """When it asks again for a file, the question would be the answer."""
    again = b"\nNow really.\n\nTokens: 2.3k sent, 5 received.\n"
    _, said = read(AiderInterpreter(), sample("aider.txt") + again)
    assert said.final_text == "Now really."


def test_nothing_and_something_else_are_no_success() -> None:
    """Another program, or another version, would be an agent that did nothing."""
    _, said = read(AiderInterpreter(), b"usage: something else\n")
    assert (said.outcome, said.recognised, said.unrecognised) == ("unknown", 0, 1)
    assert "adapter_mismatch" in said.flags
    assert read(AiderInterpreter(), b"")[1].outcome == "unknown"
    assert read(AiderInterpreter(), BEGIN, 1)[1].outcome == "harness_error"
    assert read(AiderInterpreter(), BEGIN, None)[1].outcome is None
    assert read(AiderInterpreter(), BEGIN)[1].flags == ["incomplete_stream", "no_output"]


def test_a_long_answer_is_kept_in_part() -> None:
    """An answer without end would fill the memory."""
    content = BEGIN + b"\n" + b"0123456789abcde\n" * 100_000 + b"Tokens: 1 sent, 2 received.\n"
    _, said = read(AiderInterpreter(), content)
    assert said.flags == ["output_truncated"]
    assert len(str(said.final_text)) < 300_000


def test_no_output_stops_the_reading() -> None:
    """One odd line would cost the record of a whole trial."""
    same_in_any_pieces(AiderInterpreter, sample("aider.txt"), 1)
    survives(AiderInterpreter, sample("aider.txt") + REFUSED, 2)
