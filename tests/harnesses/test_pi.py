"""The kind `pi`: how it is started, and what the events of the real program mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Usage
from harnesses.base import Dialect
from harnesses.pi import PiHarness, PiInterpreter
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

BASE = ["agent", "-p", "--mode", "json", "--model", "hemra/test-model", "--no-session"]
SETTLED = {"type": "agent_settled", "aborted": False}


def session_messages() -> list[dict[str, Any]]:
    """The messages of the session that the real program kept: system, user, answer, result, answer."""
    told = [json.loads(line) for line in sample("pi.session.jsonl").splitlines()]
    return [entry["message"] for entry in told if entry["type"] == "message"]


def whole_run() -> bytes:
    """What the real program printed of this session. The sample ends in its first answer; the rest is put together
    from the kept session, in the order in which the same events came over its RPC mode."""
    first, result, last = session_messages()[2:]
    call = next(part for part in first["content"] if part["type"] == "toolCall")
    return sample("pi.begin.jsonl") + lines(
        {"type": "message_end", "message": first},
        {"type": "tool_execution_start", "toolCallId": call["id"], "toolName": "bash", "args": call["arguments"]},
        {"type": "tool_execution_update", "toolCallId": call["id"], "partialResult": {"content": []}},
        {
            "type": "tool_execution_end", "toolCallId": call["id"], "toolName": "bash", "isError": False,
            "result": {"content": result["content"]}, "durationMs": 42,
        },
        {"type": "message_start", "message": result},
        {"type": "message_end", "message": result},
        {"type": "turn_end", "message": first, "toolResults": [result]},
        {"type": "turn_start"},
        {"type": "message_end", "message": last},
        {"type": "turn_end", "message": last, "toolResults": []},
        {"type": "agent_end", "messages": session_messages(), "willRetry": False},
        SETTLED,
    )  # fmt: skip


def failed(text: str, **fields: Any) -> dict[str, Any]:
    """The message in which it hides that its model did not answer."""
    usage = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}
    message = {
        "role": "assistant",
        "content": [],
        "stopReason": "error",
        "errorMessage": text,
        "usage": usage,
    }
    return {"type": "message_end", "message": message | fields}


@pytest.mark.parametrize(
    ("dialect", "api", "base"),
    [
        ("chat", "openai-completions", "http://127.0.0.1:4000/t/0001/v1"),
        ("responses", "openai-responses", "http://127.0.0.1:4000/t/0001/v1"),
        ("messages", "anthropic-messages", "http://127.0.0.1:4000/t/0001"),
    ],
)
def test_it_is_told_where_its_model_is(dialect: Dialect, api: str, base: str, tmp_path: Path) -> None:
    """With another address, name or dialect it would ask somebody else, or nobody."""
    launch = made(PiHarness, tmp_path).launch(trial_input(gateway=gateway(dialect)))
    assert launch.argv == [*BASE, "Say hello to Zoë ☕."]
    assert launch.env == {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}
    assert (launch.stdin, launch.prompt, launch.files) == (b"", "argument", {})
    compat = {"compat": {"supportsDeveloperRole": False, "supportsReasoningEffort": False}}
    assert {name: json.loads(content) for name, content in launch.home_files.items()} == {
        ".pi/agent/models.json": {
            "providers": {
                "hemra": {
                    "baseUrl": base,
                    "api": api,
                    "apiKey": "trial-token",
                    **(compat if dialect == "chat" else {}),
                    "models": [{"id": "test-model", "reasoning": True, "contextWindow": 131072}],
                }
            }
        }
    }


SERVERS = {
    "files": {"command": "server", "args": ["$x"], "env": {"KEY": "$TOKEN_", "MARK": "!true"}},
    "web": {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": "a$b"}},
}


def test_servers_stand_in_its_configuration(tmp_path: Path) -> None:
    """An MCP server would not be there; a key with a dollar in it would be another; and what begins with an
    exclamation mark is run by it."""
    harness = made(PiHarness, tmp_path, {"TOKEN_": "${HOME}"}, settings={"mcp_servers": SERVERS})
    launch = harness.launch(trial_input(gateway=gateway()))
    assert json.loads(launch.home_files[".pi/agent/mcp.json"])["mcpServers"] == {
        "files": {
            "type": "stdio",
            "command": "server",
            "args": ["$x"],
            "env": {"KEY": "$${HOME}", "MARK": "$!true"},
            "exposure": "direct",
        },
        "web": {
            "type": "http",
            "url": "http://127.0.0.1:9/mcp",
            "headers": {"X-Key": "a$$b"},
            "exposure": "direct",
        },
    }


@pytest.mark.parametrize(
    ("allowed", "forbidden", "flags"),
    [
        ([], [], []),
        (["terminal"], [], ["--tools", "bash"]),
        (["terminal", "mcp__web__find"], [], ["--tools", "bash,mcp__web__find"]),
        (["mcp__web__find"], [], ["--tools", "mcp__web__find"]),
        ([], ["patch"], ["--tools", "bash,read,write,mcp__*"]),
        ([], ["mcp__web__find"], ["--tools", "bash,read,write,edit,mcp__*", "--exclude-tools", "mcp__web__find"]),
    ],
)  # fmt: skip
def test_a_task_takes_tools_of_servers_away(
    allowed: list[str], forbidden: list[str], flags: list[str], tmp_path: Path
) -> None:
    """A list of tools would take away those of servers that it allows, or leave those that it forbids."""
    harness = made(PiHarness, tmp_path, {"TOKEN_": "x"}, settings={"mcp_servers": SERVERS})
    launch = harness.launch(trial_input(gateway=gateway(), allowed_tools=allowed, forbidden_tools=forbidden))
    assert launch.argv == [*BASE, *flags, "Say hello to Zoë ☕."]


@pytest.mark.parametrize(
    ("allowed", "forbidden", "flags"),
    [
        ([], [], []),
        (["terminal"], [], ["--tools", "bash"]),
        (["read_file", "patch", "terminal"], [], ["--tools", "bash,read,edit"]),
        ([], ["terminal"], ["--tools", "read,write,edit"]),
        (["todo"], [], ["--no-tools"]),
    ],
)
def test_a_task_takes_tools_away(
    allowed: list[str], forbidden: list[str], flags: list[str], tmp_path: Path
) -> None:
    """A tool that the task forbids would be offered, and the record would say that it was not."""
    harness = made(PiHarness, tmp_path)
    trial = trial_input(gateway=gateway(), allowed_tools=allowed, forbidden_tools=forbidden)
    assert harness.launch(trial).argv == [*BASE, *flags, trial.instruction]
    assert harness.enforces == {"allowed_tools", "forbidden_tools"}


@pytest.mark.parametrize("instruction", ["- a list", "@notes.txt is a name", "x" * (128 * 1024), "a\0b"])
def test_an_instruction_that_is_no_argument_goes_in_by_stdin(instruction: str, tmp_path: Path) -> None:
    """It would take a dash for an option and an @ for a file, and the system takes no long argument."""
    launch = made(PiHarness, tmp_path).launch(trial_input(gateway=gateway(), instruction=instruction))
    assert (launch.argv, launch.stdin, launch.prompt) == (BASE, instruction.encode(), "stdin")


def test_settings_change_what_it_is_told(tmp_path: Path) -> None:
    """A model with a smaller window would be sent more than it takes; a limit that it has not would be believed."""
    settings = {
        "context_tokens": 8000,
        "output_tokens": 500,
        "reasoning": False,
        "system_prompt": "Be brief.",
    }
    harness = made(PiHarness, tmp_path, settings=settings)
    launch = harness.launch(trial_input(gateway=gateway(), limits=Limits(turns=3), instruction="Go."))
    assert launch.argv == [*BASE, "--append-system-prompt", "Be brief.", "Go."]
    model = json.loads(launch.home_files[".pi/agent/models.json"])["providers"]["hemra"]["models"][0]
    assert model == {"id": "test-model", "reasoning": False, "contextWindow": 8000, "maxTokens": 500}


def test_a_run_is_read_to_its_end() -> None:
    """Messages, calls, usage or the answer of the real program would be missing or doubled."""
    interpreter = PiInterpreter()
    events, said = read(interpreter, whole_run())
    assert (said.outcome, said.reason, said.flags, said.unrecognised) == (None, None, [], 0)
    assert interpreter.ended
    assert said.final_text == "All done: hello.txt written. "
    assert said.usage == Usage(
        input_tokens=2468,
        cache_read_tokens=2000,
        cache_write_tokens=0,
        output_tokens=112,
        reasoning_tokens=14,
    )
    assert messages(events)[1:] == [
        ("user", "Create hello.txt containing hello", None, False),
        ("assistant", "Working on it. ", "I should write the file with the shell. ", False),
        ("assistant", "All done: hello.txt written. ", "The file is there; finish. ", True),
    ]
    assert calls(events) == [("call_1_0", "bash", {"command": "echo hello > hello.txt"}, 1)]
    assert results(events) == [
        ("call_1_0", "bash", True, {"content": [{"type": "text", "text": "(no output)"}]})
    ]


def test_an_error_in_the_last_message_is_a_failure_whatever_the_exit_code() -> None:
    """It exits with 0 when its key was refused: the trial would count as the agent's work."""
    events, said = read(PiInterpreter(), lines(failed("OpenAI API error (401): no"), SETTLED))
    assert (said.outcome, said.final_text, said.usage) == ("auth_error", None, None)
    assert said.reason == "OpenAI API error (401): no"
    assert "exit_contradicts" in said.flags
    assert list(notes(events)) == ["exit_contradicts"]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("500 scripted failure 500", "provider_error"),
        ("OpenAI API error (402): insufficient credits", "quota_error"),
        ("429 You exceeded your current quota", "quota_error"),
        ("400 scripted failure", "harness_error"),
        ("Connection error.", "provider_error"),
    ],
)
def test_what_the_endpoint_said_decides_which_failure_it_is(text: str, outcome: str) -> None:
    """A refusal of money would be tried again, an outage would stop the run."""
    assert read(PiInterpreter(), lines(failed(text), SETTLED))[1].outcome == outcome


def test_an_error_that_was_got_over_is_none() -> None:
    """A retried request would make a failure of a trial that went well."""
    retry = {
        "type": "auto_retry_start",
        "attempt": 1,
        "maxAttempts": 3,
        "delayMs": 2000,
        "errorMessage": "500 x",
    }
    told = [failed("500 x"), {"type": "agent_end", "messages": [], "willRetry": True}, retry]
    end = [
        {"type": "message_end", "message": session_messages()[4]},
        {"type": "agent_end", "messages": []},
        SETTLED,
    ]
    events, said = read(PiInterpreter(), lines(*told, *end))
    assert (said.outcome, said.flags) == (None, ["model_retried"])
    assert notes(events) == {"model_retried": ["500 x"]}
    assert said.final_text == "All done: hello.txt written. "


def test_only_its_last_word_ends_it() -> None:
    """A trial would be cut off between an attempt that failed and its repetition."""
    interpreter = PiInterpreter()
    interpreter.feed("stdout", lines({"type": "agent_end", "messages": [], "willRetry": True}))
    assert not interpreter.ended
    interpreter.feed("stdout", lines(SETTLED))
    assert interpreter.ended


def test_the_older_version_needs_no_last_word() -> None:
    """Version 0.73 would look as if it had broken off."""
    content = b"".join(line for line in whole_run().splitlines(keepends=True) if b"agent_settled" not in line)
    _, said = read(PiInterpreter(), content)
    assert (said.outcome, said.flags, said.final_text) == (None, [], "All done: hello.txt written. ")


def test_a_stream_that_breaks_off_says_so() -> None:
    """What is missing at its end would be taken for all there was."""
    content = whole_run().split(b'{"type": "turn_end"')[0]
    _, said = read(PiInterpreter(), content)
    assert (said.outcome, said.final_text) == (None, None)
    assert set(said.flags) == {"incomplete_stream", "usage_partial", "no_output"}
    assert read(PiInterpreter(), content, 143)[1].outcome == "harness_error"
    assert read(PiInterpreter(), content, None)[1].outcome is None


def test_what_it_printed_on_stderr_explains_a_crash() -> None:
    """A missing model or a broken configuration would be an exit code and nothing else."""
    interpreter = PiInterpreter()
    interpreter.feed("stdout", sample("pi.begin.jsonl"))
    interpreter.feed("stderr", b"warning\nModel hemra/x not found\n")
    _, said = interpreter.finish(1, None)
    assert said.outcome == "harness_error"
    assert str(said.reason).endswith("Model hemra/x not found")


def test_counts_under_other_names_are_unknown_and_no_zeros() -> None:
    """A version that renames its counts would look like one that costs nothing."""
    message = session_messages()[4] | {"usage": {"inputTokens": 234, "outputTokens": 56}}
    _, said = read(PiInterpreter(), lines({"type": "message_end", "message": message}, SETTLED))
    assert said.usage is None


def test_another_vocabulary_is_a_mismatch_and_no_zeros() -> None:
    """A new version that this adapter does not know would look like an agent that did nothing for nothing."""
    events, said = read(PiInterpreter(), lines({"event": "start"}, {"type": "turn.begun"}))
    assert (said.outcome, said.usage, said.recognised, said.unrecognised) == ("unknown", None, 0, 2)
    assert "adapter_mismatch" in said.flags
    assert len(notes(events)["harness_raw"]) == 2


@pytest.mark.parametrize("seed", range(3))
def test_no_stream_stops_the_reading(seed: int) -> None:
    """One odd line would cost the record of a whole trial."""
    same_in_any_pieces(PiInterpreter, whole_run(), seed)
    survives(PiInterpreter, whole_run(), seed)
