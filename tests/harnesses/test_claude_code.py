"""The kind `claude-code`: how it is started, and what the events of the real program mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Usage
from harnesses.claude_code import ClaudeCodeHarness
from harnesses.claude_events import ClaudeInterpreter
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

OPTIONS = [
    "--model",
    "test-model",
    "--output-format",
    "stream-json",
    "--verbose",
    "--dangerously-skip-permissions",
]
ENVIRONMENT = {
    "CLAUDE_CONFIG_DIR": "/scratch/home/.claude",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:4000/t/0001",
    "ANTHROPIC_API_KEY": "trial-token",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "IS_SANDBOX": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
}
INIT = {"type": "system", "subtype": "init", "claude_code_version": "2.1.332", "served_by_anthropic": False}
SESSION = ".claude/projects/-scratch-workspace/76d1.jsonl"


def answer(identity: str, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """An `assistant` event; its usage is that of the answer's beginning, as in the real ones."""
    usage = {
        "input_tokens": 234,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 0,
        "output_tokens": 1,
    }
    message = {
        "id": identity,
        "role": "assistant",
        "model": "test-model",
        "content": list(blocks),
        "usage": usage,
    }
    return {"type": "assistant", "message": message, "parent_tool_use_id": None} | fields


def text(said: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": said}


def bash(call: str) -> dict[str, Any]:
    """A block that calls the shell."""
    return {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}


def result(**fields: Any) -> dict[str, Any]:
    """The last event of a run that went well, with some things changed."""
    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": 128955,
        "cache_creation_input_tokens": 1253,
        "output_tokens": 13,
    }
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "Done.",
        "usage": usage,
    } | fields


def launched(folder: Path, *, file: dict[str, Any] | None = None, **trial: Any) -> Any:
    """Its launch for a trial."""
    harness = made(ClaudeCodeHarness, folder, **(file or {}))
    return harness.launch(trial_input(gateway=gateway("messages"), **trial))


def test_it_is_told_where_its_model_is(tmp_path: Path) -> None:
    """With another address or without one of its switches it would talk to its maker."""
    launch = launched(tmp_path)
    assert launch.argv == ["agent", "-p", "Say hello to Zoë ☕.", *OPTIONS, "--strict-mcp-config"]
    assert launch.env == ENVIRONMENT
    assert (launch.stdin, launch.prompt, launch.files, launch.home_files) == (b"", "argument", {}, {})
    assert launch.keep_home == (".claude/projects/-scratch-workspace/*",)


@pytest.mark.parametrize(
    ("allowed", "forbidden", "tools"),
    [
        (["terminal"], [], "Bash"),
        (["read_file", "patch", "terminal"], [], "Bash,Read,Edit"),
        ([], ["terminal"], "Read,Write,Edit"),
        (["todo"], [], ""),
    ],
)
def test_a_task_takes_tools_away(
    allowed: list[str], forbidden: list[str], tools: str, tmp_path: Path
) -> None:
    """A tool that the task forbids would be offered, and the record would say that it was not."""
    argv = launched(tmp_path, allowed_tools=allowed, forbidden_tools=forbidden).argv
    assert argv[3:] == [*OPTIONS, "--tools", tools, "--strict-mcp-config"]


def test_it_keeps_a_limit_of_turns(tmp_path: Path) -> None:
    """The record says that the harness holds the limit, so it has to be told it."""
    assert "turns" in made(ClaudeCodeHarness, tmp_path).enforces
    argv = launched(tmp_path, limits=Limits(turns=7)).argv
    assert argv[argv.index("--max-turns") + 1] == "7"


def test_a_server_brings_tools_of_its_own(tmp_path: Path) -> None:
    """The record would say that only the task's tools were offered, and an MCP server's were too."""
    servers = {"files": {"command": "server"}}
    assert made(ClaudeCodeHarness, tmp_path, settings={"mcp_servers": servers}).enforces == {"turns"}
    assert made(ClaudeCodeHarness, tmp_path).enforces == {"turns", "allowed_tools", "forbidden_tools"}


def test_servers_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    """An MCP server that a harness file names would not be there for the agent, or its option swallow the prompt."""
    servers = {
        "files": {"command": "server", "args": ["a"], "env": {"A": "1"}},
        "web": {"url": "http://127.0.0.1:9/mcp", "headers": {"X": "y"}},
    }
    launch = launched(tmp_path, file={"settings": {"mcp_servers": servers, "system_prompt": "Be brief."}})
    assert launch.argv[-5:] == [
        "--append-system-prompt", "Be brief.",
        "--mcp-config", "/scratch/harness/claude-mcp.json", "--strict-mcp-config",
    ]  # fmt: skip
    assert json.loads(launch.files["claude-mcp.json"]) == {
        "mcpServers": {
            "files": {"type": "stdio", "command": "server", "args": ["a"], "env": {"A": "1"}},
            "web": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"X": "y"}},
        }
    }


@pytest.mark.parametrize("instruction", ["--help", "x" * (128 * 1024)])
def test_an_instruction_that_is_no_argument_goes_in_by_stdin(instruction: str, tmp_path: Path) -> None:
    """It would be taken for an option, or the program would not start."""
    launch = launched(tmp_path, instruction=instruction)
    assert launch.argv == ["agent", "-p", *OPTIONS, "--strict-mcp-config"]
    assert (launch.stdin, launch.prompt) == (instruction.encode(), "stdin")


def test_a_run_is_read_to_its_end() -> None:
    """Messages, calls, usage or the answer of the real program would be missing."""
    interpreter = ClaudeInterpreter()
    events, said = read(interpreter, sample("claude.jsonl"))
    assert (said.outcome, said.flags, said.unrecognised) == (None, [], 0)
    assert interpreter.ended
    assert said.final_text == "All done: hello.txt written. "
    # Its price is made up for a model that it does not know, and its endpoint told nothing of what was thought.
    assert said.usage == Usage(
        input_tokens=2468, cache_read_tokens=2000, cache_write_tokens=0, output_tokens=112, reasoning_tokens=None,
        cost_usd=None,
    )  # fmt: skip
    assert messages(events) == [
        ("assistant", "Working on it. ", "I should write the file with the shell.", False),
        ("assistant", "All done: hello.txt written. ", "The file is there; finish.", True),
    ]
    assert calls(events) == [("toolu_1_0", "Bash", {"command": "echo hello > hello.txt"}, 1)]
    assert results(events) == [("toolu_1_0", "Bash", True, "(Bash completed with no output)")]
    assert notes(events)["harness_hello"] == ["claude-code 2.1.332"]


def test_a_refused_key_is_told_by_is_error_alone() -> None:
    """`subtype` says success: the trial would count as the agent's work. The sample's last event is put together
    from what was seen of it."""
    end = result(
        is_error=True, api_error_status=401, terminal_reason="api_error",
        result="Failed to authenticate. API Error: 401 scripted failure 401",
        usage={"input_tokens": 0, "output_tokens": 0},
    )  # fmt: skip
    events, said = read(ClaudeInterpreter(), sample("claude.err401.begin.jsonl") + lines(end), 1)
    assert (said.outcome, said.final_text) == ("auth_error", None)
    assert said.reason == "Failed to authenticate. API Error: 401 scripted failure 401"
    assert len(notes(events)["model_retried"]) == 2
    assert messages(events) == []
    assert "exit_contradicts" not in said.flags


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"api_error_status": 500, "result": "API Error: 500 x"}, "provider_error"),
        ({"api_error_status": 429, "result": "API Error: 429 rate limited"}, "provider_error"),
        ({"api_error_status": 404, "result": "There's an issue with the selected model"}, "harness_error"),
        ({"subtype": "error_during_execution", "result": None, "errors": ["a tool broke"]}, "harness_error"),
    ],
)
def test_what_the_endpoint_said_decides_which_failure_it_is(fields: dict[str, Any], outcome: str) -> None:
    """An outage would count as the agent's failure, or the other way round."""
    _, said = read(ClaudeInterpreter(), lines(INIT, result(is_error=True, **fields)), 1)
    assert said.outcome == outcome
    assert said.final_text is None


def test_an_answer_that_was_cut_is_the_models_own() -> None:
    """A model that talks itself into its limit would cost the agent the trial, which is run again in vain."""
    said_so = (
        "API Error: Claude's response exceeded the 128000 output token maximum. To configure this behavior, …"
    )
    events, said = read(ClaudeInterpreter(), lines(INIT, result(is_error=True, result=said_so)), 1)
    assert (said.outcome, said.reason, said.final_text) == (None, None, None)
    assert said.flags == ["answer_cut_at_length", "nonzero_exit", "no_output"]
    assert "exit_contradicts" not in notes(events)


def test_its_limit_of_turns_is_an_outcome_of_its_own() -> None:
    """A trial that was stopped at its limit would look like one that broke."""
    end = result(subtype="error_max_turns", is_error=True, result=None, num_turns=4)
    events, said = read(ClaudeInterpreter(), sample("claude.max-turns.begin.jsonl") + lines(end), 1)
    assert (said.outcome, said.reason) == ("turn_limit", "it ended at its limit after 4 turns")
    assert said.usage is not None
    assert said.usage.output_tokens == 13
    assert [turn for *_, turn in calls(events)] == [1, 2, 3]


def test_usage_is_in_the_one_normal_form() -> None:
    """Its input leaves out what was cached: sums beside those of other agents would be far too small."""
    _, said = read(ClaudeInterpreter(), lines(INIT, answer("m", text("Done.")), result()))
    assert said.usage is not None
    assert (said.usage.input_tokens, said.usage.cache_read_tokens) == (130213, 128955)
    assert (said.usage.cache_write_tokens, said.usage.output_tokens) == (1253, 13)


@pytest.mark.parametrize(
    ("served", "basis", "cost"), [(True, "listed", 0.42), (False, "listed", None), (True, "unknown", None)]
)
def test_a_cost_that_it_made_up_is_none(served: bool, basis: str, cost: float | None) -> None:
    """A price for a model that nobody named one for would stand in the comparison."""
    init = INIT | {"served_by_anthropic": served}
    end = result(total_cost_usd=0.42, modelUsage={"m": {"costBasis": basis}})
    _, said = read(ClaudeInterpreter(), lines(init, end))
    assert said.usage is not None
    assert said.usage.cost_usd == cost


def test_a_stream_without_its_last_event_is_partial() -> None:
    """Counts from the beginning of answers would pass for the whole: output is 1 there."""
    events, said = read(ClaudeInterpreter(), lines(INIT, answer("m1", text("I look."), bash("t1"))))
    assert (said.outcome, said.final_text) == (None, None)
    assert set(said.flags) == {"incomplete_stream", "usage_partial", "no_output"}
    assert said.usage is not None
    assert (said.usage.input_tokens, said.usage.output_tokens) == (1234, None)
    assert calls(events)[0][1] == "Bash"


def test_an_empty_result_leaves_the_last_message_as_the_answer() -> None:
    """The answer was said, tokens were paid for it, and the trial would have none."""
    _, said = read(
        ClaudeInterpreter(), lines(INIT, answer("m1", text("The answer"), text(" is 4.")), result(result=""))
    )
    assert (said.final_text, said.flags) == ("The answer is 4.", [])


def test_the_session_file_is_a_second_source() -> None:
    """A process that wrote on to its session and not to its output would seem to have stopped in the middle."""
    interpreter = ClaudeInterpreter()
    interpreter.feed("stdout", lines(INIT, answer("m1", bash("t1"))))
    kept = lines({"type": "queue"}, answer("m1", bash("t1")), answer("m2", text("It was done.")))
    side = lines(answer("m3", text("a helper's"), isSidechain=True))
    interpreter.files(
        {SESSION: kept + side + b"half a li", ".claude/projects/-scratch-workspace/x.txt": b"{}"}
    )
    events, said = interpreter.finish(0, None)
    assert (said.final_text, said.outcome) == ("It was done.", None)
    assert "session_disagrees" in said.flags
    assert notes(events)["session_disagrees"] == [
        "it told 1 answers of its model and kept 2 in its session file"
    ]


def test_a_helpers_words_are_not_the_agents() -> None:
    """What a subagent says to its agent would become the answer, and its calls turns."""
    helper = answer("h1", text("from below"), bash("t2"), parent_tool_use_id="t1")
    events, said = read(ClaudeInterpreter(), lines(INIT, answer("m1", bash("t1")), helper, result(result="")))
    assert said.final_text is None
    assert [(call, turn) for call, _, _, turn in calls(events)] == [("t1", 1), ("t2", None)]


def test_what_was_denied_or_cut_is_flagged() -> None:
    """A trial in which a tool was refused would look like any other."""
    end = result(permission_denials=[{"tool_name": "Bash"}], stop_reason="max_tokens")
    _, said = read(ClaudeInterpreter(), lines(INIT, end))
    assert said.flags == ["permission_denied", "answer_cut_at_length"]
    assert read(ClaudeInterpreter(), lines(INIT, result(stop_reason="refusal")))[1].flags == ["refusal"]


def test_counts_under_other_names_are_unknown_and_no_zeros() -> None:
    """A version that renames its counts would look like one that costs nothing."""
    _, said = read(ClaudeInterpreter(), lines(INIT, result(usage={"inputTokens": 5, "outputTokens": 13})))
    assert said.usage is None


def test_another_form_of_output_is_a_mismatch_and_no_zeros() -> None:
    """A list of events on one line, as another output format gives it, would be an agent that did nothing."""
    content = json.dumps([INIT, result()]).encode() + b"\n"
    _, said = read(ClaudeInterpreter(), content)
    assert (said.outcome, said.usage, said.unrecognised) == ("unknown", None, 1)
    assert "adapter_mismatch" in said.flags


@pytest.mark.parametrize(
    "name", ["claude.jsonl", "claude.err401.begin.jsonl", "claude.max-turns.begin.jsonl"]
)
def test_no_stream_stops_the_reading(name: str) -> None:
    """One odd line would cost the record of a whole trial."""
    same_in_any_pieces(ClaudeInterpreter, sample(name), 1)
    survives(ClaudeInterpreter, sample(name) + lines(result()), 2)
