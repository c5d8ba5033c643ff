"""The kind `opencode`: how it is started, and what the events of the real program mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.trials import Usage
from harnesses.base import Dialect
from harnesses.opencode import OpencodeHarness, OpencodeInterpreter
from tests.harnesses.adapters import (
    calls,
    gateway,
    lines,
    made,
    messages,
    notes,
    read,
    results,
    same_in_any_pieces,
    sample,
    survives,
)
from tests.harnesses.trial_inputs import trial_input

CONFIG_FILE = ".config/opencode/opencode.json"


def config(folder: Path, dialect: Dialect = "chat", **trial: Any) -> dict[str, Any]:
    """The configuration that it is given."""
    harness = made(OpencodeHarness, folder)
    launch = harness.launch(trial_input(gateway=gateway(dialect), **trial))
    assert list(launch.home_files) == [CONFIG_FILE]
    told: dict[str, Any] = json.loads(launch.home_files[CONFIG_FILE])
    return told


def step(reason: str, **fields: Any) -> dict[str, Any]:
    """The end of a step."""
    tokens = {"input": 234, "output": 49, "reasoning": 7, "cache": {"read": 1000, "write": 0}}
    return {
        "type": "step_finish",
        "part": {"type": "step-finish", "reason": reason, "tokens": tokens} | fields,
    }


@pytest.mark.parametrize(
    ("dialect", "package"),
    [
        ("chat", "@ai-sdk/openai-compatible"),
        ("responses", "@ai-sdk/openai"),
        ("messages", "@ai-sdk/anthropic"),
    ],
)
def test_it_is_told_where_its_model_is(dialect: Dialect, package: str, tmp_path: Path) -> None:
    """With another address, package or switch it would ask somebody else, or install something first."""
    assert config(tmp_path, dialect) == {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": "hemra/test-model",
        "small_model": "hemra/test-model",
        "enabled_providers": ["hemra"],
        "permission": "allow",
        "provider": {
            "hemra": {
                "npm": package,
                "name": "hemra",
                "options": {"baseURL": "http://127.0.0.1:4000/t/0001/v1", "apiKey": "trial-token"},
                "models": {
                    "test-model": {
                        "name": "test-model",
                        "reasoning": True,
                        "tool_call": True,
                        "limit": {"context": 131072, "output": 16384},
                    }
                },
            }
        },
    }


@pytest.mark.parametrize("instruction", ["Say hello to Zoë ☕.", "--help", "x" * (1 << 20)])
def test_every_instruction_goes_in_by_stdin(instruction: str, tmp_path: Path) -> None:
    """As an argument it would reach the model in quotation marks."""
    launch = made(OpencodeHarness, tmp_path).launch(trial_input(gateway=gateway(), instruction=instruction))
    assert launch.argv == ["agent", "run", "--format", "json", "--thinking", "--title", "trial"]
    assert launch.env == {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    assert (launch.stdin, launch.prompt, launch.files) == (instruction.encode(), "stdin", {})


@pytest.mark.parametrize(
    ("allowed", "forbidden", "denied"),
    [
        (
            ["terminal"],
            [],
            {"read", "grep", "glob", "todowrite", "webfetch", "websearch", "edit", "task", "skill"},
        ),
        (
            ["read_file", "patch", "terminal"],
            [],
            {"grep", "glob", "todowrite", "webfetch", "websearch", "task", "skill"},
        ),
        ([], ["terminal"], {"bash"}),
        # Writing and patching are one permission: one of them alone cannot be taken away.
        ([], ["write_file"], set()),
        ([], ["write_file", "patch"], {"edit"}),
    ],
)
def test_a_task_takes_tools_away(
    allowed: list[str], forbidden: list[str], denied: set[str], tmp_path: Path
) -> None:
    """A tool that the task forbids would be offered, or everything would ask for a permission that nobody gives."""
    told = config(tmp_path, allowed_tools=allowed, forbidden_tools=forbidden)["permission"]
    assert told == {"*": "allow"} | dict.fromkeys(denied, "deny")
    assert made(OpencodeHarness, tmp_path).enforces == frozenset()


def test_servers_stand_in_its_configuration(tmp_path: Path) -> None:
    """An MCP server that a harness file names would not be there for the agent."""
    servers = {
        "files": {"command": "server", "args": ["a"], "env": {"A": "1"}},
        "web": {"url": "http://127.0.0.1:9/mcp", "headers": {"X": "y"}},
    }
    harness = made(OpencodeHarness, tmp_path, settings={"mcp_servers": servers})
    told = json.loads(harness.launch(trial_input(gateway=gateway())).home_files[CONFIG_FILE])
    assert told["mcp"] == {
        "files": {"type": "local", "command": ["server", "a"], "environment": {"A": "1"}, "enabled": True},
        "web": {"type": "remote", "url": "http://127.0.0.1:9/mcp", "headers": {"X": "y"}, "enabled": True},
    }


def test_a_run_is_read_to_its_end() -> None:
    """Messages, calls, usage or the answer of the real program would be missing."""
    interpreter = OpencodeInterpreter()
    events, said = read(interpreter, sample("opencode.jsonl"))
    assert (said.outcome, said.flags, said.unrecognised) == (None, [], 0)
    assert not interpreter.ended, "it has no last word after which it could be told to go"
    assert said.final_text == "All done: hello.txt written. "
    assert said.usage == Usage(
        input_tokens=2468,
        cache_read_tokens=2000,
        cache_write_tokens=0,
        output_tokens=112,
        reasoning_tokens=14,
    )
    assert messages(events) == [
        ("assistant", "Working on it. ", "I should write the file with the shell. ", False),
        ("assistant", "All done: hello.txt written. ", "The file is there; finish. ", True),
    ]
    assert calls(events) == [("call_1_0", "bash", {"command": "echo hello > hello.txt"}, 1)]
    assert results(events) == [("call_1_0", "bash", True, {"output": "(no output)", "exit_code": 0})]


def test_a_tool_that_failed_says_so() -> None:
    """A refused call would pass for one that worked."""
    part = {"tool": "bash", "callID": "c", "state": {"status": "error", "input": {}, "error": "denied"}}
    failed = {
        "tool": "bash",
        "callID": "d",
        "state": {"status": "completed", "output": "", "metadata": {"exit": 2}},
    }
    told = lines({"type": "tool_use", "part": part}, {"type": "tool_use", "part": failed})
    events, _ = read(OpencodeInterpreter(), told)
    assert [(ok, result) for *_, ok, result in results(events)] == [
        (False, "denied"),
        (False, {"output": "", "exit_code": 2}),
    ]


def test_a_refused_key_is_no_work_of_the_agent() -> None:
    """The trial would be scored although its model never answered."""
    events, said = read(OpencodeInterpreter(), sample("opencode.err401.jsonl"), 1)
    assert (said.outcome, said.reason, said.usage) == ("auth_error", "scripted failure 401", None)
    assert notes(events) == {"harness_error": ["scripted failure 401"]}
    assert "exit_contradicts" in read(OpencodeInterpreter(), sample("opencode.err401.jsonl"), 0)[1].flags


def test_an_error_that_was_got_over_is_none() -> None:
    """A step that was tried again would make a failure of a trial that went well."""
    error = json.loads(sample("opencode.err401.jsonl"))
    _, said = read(OpencodeInterpreter(), lines(error) + sample("opencode.jsonl"))
    assert (said.outcome, said.final_text) == (None, "All done: hello.txt written. ")


def test_an_answer_cut_at_its_limit_is_flagged() -> None:
    """It exits with 0 then: half an answer would look like a whole one."""
    text = {"type": "text", "part": {"text": "Half of", "messageID": "m"}}
    _, said = read(OpencodeInterpreter(), lines({"type": "step_start"}, text, step("length")))
    assert (said.outcome, said.final_text, said.flags) == (None, "Half of", ["answer_cut_at_length"])
    assert (
        "refusal"
        in read(OpencodeInterpreter(), lines({"type": "step_start"}, step("content-filter")))[1].flags
    )


def test_a_stream_that_breaks_off_says_so() -> None:
    """A run that was stopped while it asked again and again would look whole."""
    content = sample("opencode.jsonl").splitlines(keepends=True)
    _, said = read(OpencodeInterpreter(), b"".join(content[:6]))
    assert {"incomplete_stream", "usage_partial"} <= set(said.flags)
    assert said.usage is not None
    assert said.usage.input_tokens == 1234
    assert read(OpencodeInterpreter(), b"".join(content[:6]), 1)[1].outcome == "harness_error"


def test_counts_under_other_names_are_unknown_and_no_zeros() -> None:
    """A version that renames its counts would look like one that costs nothing."""
    finish = step("stop", tokens={"inputTokens": 234, "outputTokens": 49, "cache": {"read": 1000}})
    _, said = read(OpencodeInterpreter(), lines({"type": "step_start"}, finish))
    assert said.usage is not None
    assert (said.usage.input_tokens, said.usage.output_tokens) == (None, None)


def test_another_vocabulary_is_a_mismatch_and_no_zeros() -> None:
    """A new version that this adapter does not know would look like an agent that did nothing for nothing."""
    _, said = read(OpencodeInterpreter(), lines({"type": "session.step", "data": {}}, {"kind": "text"}))
    assert (said.outcome, said.usage, said.recognised, said.unrecognised) == ("unknown", None, 0, 2)
    assert "adapter_mismatch" in said.flags


@pytest.mark.parametrize("name", ["opencode.jsonl", "opencode.err401.jsonl"])
def test_no_stream_stops_the_reading(name: str) -> None:
    """One odd line would cost the record of a whole trial."""
    same_in_any_pieces(OpencodeInterpreter, sample(name), 1)
    survives(OpencodeInterpreter, sample(name), 2)
