"""The kind `codex`: how it is started, and what the events of the real program mean."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.trials import Usage
from harnesses.codex import CodexHarness, CodexInterpreter
from harnesses.errors import HarnessFileError, LaunchError
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

BASE = ["agent", "exec", "--json", "--skip-git-repo-check", "--ephemeral"]
CONFIG = {
    "model": "test-model",
    "model_provider": "hemra",
    "model_context_window": 131072,
    "approval_policy": "never",
    "sandbox_mode": "danger-full-access",
    "check_for_update_on_startup": False,
    "web_search": "disabled",
    "model_providers": {
        "hemra": {
            "name": "hemra",
            "base_url": "http://127.0.0.1:4000/t/0001/v1",
            "env_key": "HEMRA_GATEWAY_TOKEN",
            "wire_api": "responses",
            "request_max_retries": 2,
            "stream_max_retries": 2,
            "supports_websockets": False,
        }
    },
    "analytics": {"enabled": False},
    "feedback": {"enabled": False},
    "otel": {"exporter": "none"},
    "features": {
        "plugins": False,
        "apps": False,
        "remote_plugin": False,
        "plugin_sharing": False,
        "goals": False,
        "tool_suggest": False,
        "skill_search": False,
        "image_generation": False,
        "browser_use": False,
        "computer_use": False,
        "memories": False,
    },
    "agents": {"enabled": False},
}
STARTED: list[dict[str, Any]] = [{"type": "thread.started", "thread_id": "1"}, {"type": "turn.started"}]
ANSWER = {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "Done."}}
USAGE = {"input_tokens": 117231, "cached_input_tokens": 115584, "output_tokens": 225}
COMPLETED = {"type": "turn.completed", "usage": USAGE}
RECONNECTING = {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected before completion)"}


def launched(folder: Path, *, file: dict[str, Any] | None = None, **trial: Any) -> Any:
    """Its launch for a trial."""
    return made(CodexHarness, folder, **(file or {})).launch(
        trial_input(gateway=gateway("responses"), **trial)
    )


def test_it_is_told_where_its_model_is(tmp_path: Path) -> None:
    """With another address or setting it would ask somebody else, or look things up outside."""
    launch = launched(tmp_path)
    assert launch.argv == [*BASE, "Say hello to Zoë ☕."]
    assert launch.env == {"CODEX_HOME": "/scratch/home/.codex", "HEMRA_GATEWAY_TOKEN": "trial-token"}
    assert (launch.stdin, launch.prompt, launch.files) == (b"", "argument", {})
    assert list(launch.home_files) == [".codex/config.toml"]
    assert tomllib.loads(launch.home_files[".codex/config.toml"].decode()) == CONFIG


def test_servers_stand_in_its_configuration(tmp_path: Path) -> None:
    """An MCP server that a harness file names would not be there for the agent."""
    servers = {
        "files": {
            "command": "server",
            "args": ['"quoted" \\ back', "line\nbreak\x7f☕"],
            "env": {"a.b": "$TOKEN_"},
        },
        "web": {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": "$TOKEN_"}},
    }
    harness = made(CodexHarness, tmp_path, {"TOKEN_": "value"}, settings={"mcp_servers": servers})
    config = harness.launch(trial_input(gateway=gateway("responses"))).home_files[".codex/config.toml"]
    assert tomllib.loads(config.decode())["mcp_servers"] == {
        "files": {
            "command": "server",
            "args": ['"quoted" \\ back', "line\nbreak\x7f☕"],
            "env": {"a.b": "value"},
        },
        "web": {"url": "http://127.0.0.1:9/mcp", "http_headers": {"X-Key": "value"}},
    }


def test_a_model_catalog_is_put_where_it_looks(tmp_path: Path) -> None:
    """Without it Codex has no `apply_patch`; another catalog that went unseen would be the same harness."""
    catalog = tmp_path / "models.json"
    catalog.write_text('{"models": []}', encoding="utf-8")
    settings = {"model_catalog": "models.json"}
    harness = made(CodexHarness, tmp_path, settings=settings)
    launch = harness.launch(trial_input(gateway=gateway("responses")))
    told = tomllib.loads(launch.home_files[".codex/config.toml"].decode())
    assert told == CONFIG | {"model_catalog_json": "/scratch/home/.codex/models.json"}
    assert launch.home_files[".codex/models.json"] == b'{"models": []}'
    catalog.write_text('{"models": [1]}', encoding="utf-8")
    assert made(CodexHarness, tmp_path, settings=settings).digest != harness.digest
    catalog.unlink()
    gone = made(CodexHarness, tmp_path, settings=settings)
    assert f"settings.model_catalog: {catalog} is not there" in gone.problems()
    with pytest.raises(LaunchError, match="No such file"):
        gone.launch(trial_input(gateway=gateway("responses")))


def test_a_text_that_toml_cannot_hold_is_refused(tmp_path: Path) -> None:
    """The trial would start with a configuration that its program cannot read."""
    with pytest.raises(LaunchError, match="no text that its configuration can hold"):
        launched(tmp_path, file={"model": "half \ud83d"})


@pytest.mark.parametrize("instruction", ["-h", "resume", "review", "x" * (128 * 1024)])
def test_an_instruction_that_is_no_argument_goes_in_by_stdin(instruction: str, tmp_path: Path) -> None:
    """It would be taken for an option or a command of its own."""
    launch = launched(tmp_path, instruction=instruction)
    assert (launch.argv, launch.stdin, launch.prompt) == ([*BASE, "-"], instruction.encode(), "stdin")


def test_it_speaks_one_dialect(tmp_path: Path) -> None:
    """It refuses any other when it starts: the harness file has to say so before."""
    with pytest.raises(HarnessFileError, match="does not speak 'chat'"):
        made(CodexHarness, tmp_path, upstream={"base_url": "http://127.0.0.1:9/v1", "dialect": "chat"})


def test_a_run_is_read_to_its_end() -> None:
    """Messages, commands, usage or the answer of the real program would be missing."""
    interpreter = CodexInterpreter()
    events, said = read(interpreter, sample("codex.jsonl"))
    assert (said.outcome, said.flags, said.unrecognised) == (None, [], 0)
    assert interpreter.ended
    assert said.usage == Usage(
        input_tokens=2468,
        cache_read_tokens=2000,
        cache_write_tokens=0,
        output_tokens=112,
        reasoning_tokens=14,
    )
    assert messages(events) == [
        ("assistant", "Working on it.", "I should write the file with the shell.", False),
        ("assistant", "All done: hello.txt written.", "The file is there; finish.", True),
    ]
    command = "/bin/bash -lc 'echo hello > hello.txt'"
    assert calls(events) == [("item_3", "command_execution", {"command": command}, None)]
    done = {"output": "", "exit_code": 0, "status": "completed"}
    assert results(events) == [("item_3", "command_execution", True, done)]
    # An item of type `error` is a remark.
    assert [text[:26] for text in notes(events)["harness_warning"]] == ["Model metadata for `test-m"]


def test_a_patch_is_a_call() -> None:
    """The one edit of a trial would be no tool call."""
    events, said = read(CodexInterpreter(), sample("codex.apply-patch.jsonl"))
    changes = {"changes": [{"path": "/srv/user/work/hello.txt", "kind": "add"}]}
    assert calls(events) == [("item_1", "apply_patch", changes, None)]
    assert results(events) == [("item_1", "apply_patch", True, "completed")]
    assert said.final_text == "All done: hello.txt written."


def test_an_outage_is_the_providers() -> None:
    """The agent would be blamed for an endpoint that did not serve."""
    events, said = read(CodexInterpreter(), sample("codex.err500.jsonl"), 1)
    assert said.outcome == "provider_error"
    assert said.reason == "We’re currently experiencing high demand, which may cause temporary errors."
    assert len(notes(events)["model_retried"]) == 2
    assert (said.usage, said.final_text) == (None, None)
    assert "exit_contradicts" not in said.flags


def test_reconnecting_is_counted_and_no_failure() -> None:
    """The frame that is told for a dropped stream would make a failure of a turn that was completed."""
    events, said = read(CodexInterpreter(), lines(*STARTED, RECONNECTING, ANSWER, COMPLETED))
    assert (said.outcome, said.final_text, said.flags) == (None, "Done.", ["model_retried"])
    assert notes(events) == {"model_retried": [RECONNECTING["message"]]}
    assert said.usage is not None
    assert (said.usage.input_tokens, said.usage.cache_read_tokens, said.usage.output_tokens) == (
        117231,
        115584,
        225,
    )


def test_a_failed_turn_is_a_failure_with_its_usage() -> None:
    """The same frames with `turn.failed` behind them would count as done, or lose what was paid for."""
    end = {"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized"}, "usage": USAGE}
    _, said = read(CodexInterpreter(), lines(*STARTED, RECONNECTING, ANSWER, end), 1)
    assert (said.outcome, said.reason) == ("auth_error", "unexpected status 401 Unauthorized")
    assert said.usage is not None
    assert said.usage.input_tokens == 117231


def test_a_bad_exit_after_a_completed_turn_changes_nothing() -> None:
    """An error of a thread in the background would take away what the agent did."""
    events, said = read(CodexInterpreter(), lines(*STARTED, ANSWER, COMPLETED), 1)
    assert (said.outcome, said.final_text) == (None, "Done.")
    assert said.flags == ["nonzero_exit", "exit_contradicts"]
    assert list(notes(events)) == ["exit_contradicts"]


def test_an_answer_that_was_cut_is_the_models_own() -> None:
    """A model that talks itself into its limit would cost the agent the trial, which is run again in vain."""
    cut = "Incomplete response returned, reason: max_output_tokens"
    end = {"type": "turn.failed", "error": {"message": cut}}
    events, said = read(CodexInterpreter(), lines(*STARTED, {"type": "error", "message": cut}, end), 1)
    assert (said.outcome, said.reason) == (None, None)
    assert said.flags == ["answer_cut_at_length", "nonzero_exit", "no_output"]
    assert list(notes(events)) == ["harness_error"]


def test_an_error_and_no_end_is_the_reason() -> None:
    """A fatal error that no `turn.failed` follows would be an exit code only."""
    fatal = {"type": "error", "message": "exceeded retry limit, last status: 429 Too Many Requests"}
    _, said = read(CodexInterpreter(), lines(*STARTED, fatal), 1)
    assert (said.outcome, said.reason) == ("provider_error", fatal["message"])


def test_other_items_are_calls_or_counted() -> None:
    """Calls of MCP servers would be missing, and a kind of item that came later would vanish."""
    item = {"id": "item_0", "type": "mcp_tool_call", "server": "files", "tool": "list", "arguments": {"a": 1}}
    done = item | {"status": "failed", "error": {"message": "no"}, "result": None}
    todo = {"id": "item_1", "type": "todo_list", "items": [{"text": "look", "completed": False}]}
    events, said = read(
        CodexInterpreter(),
        lines(
            *STARTED,
            {"type": "item.started", "item": item},
            {"type": "item.completed", "item": done},
            {"type": "item.started", "item": todo},
            {"type": "item.updated", "item": todo},
            {"type": "item.completed", "item": {"id": "item_2", "type": "hologram"}},
            ANSWER,
            COMPLETED,
        ),
    )
    assert [(name, arguments) for _, name, arguments, _ in calls(events)] == [
        ("mcp__files__list", {"a": 1}),
        ("update_plan", {"items": todo["items"]}),
        ("update_plan", {"items": todo["items"]}),
    ]
    assert results(events)[0][1:] == ("mcp__files__list", False, {"message": "no"})
    assert "item.completed/hologram" in notes(events)["unknown_events"][0]
    assert said.outcome is None


def test_the_legacy_vocabulary_is_a_mismatch_and_no_zeros() -> None:
    """An older version would look like an agent that did nothing for nothing."""
    legacy = [{"id": "1", "msg": {"type": "task_started"}}, {"id": "1", "msg": {"type": "token_count"}}]
    events, said = read(CodexInterpreter(), b"\x1b[1mcodex\x1b[0m\n" + lines(*legacy))
    assert (said.outcome, said.usage, said.recognised, said.unrecognised) == ("unknown", None, 0, 3)
    assert "adapter_mismatch" in said.flags
    assert json.loads(notes(events)["harness_raw"][1]) == legacy[0]


@pytest.mark.parametrize("name", ["codex.jsonl", "codex.err500.jsonl", "codex.apply-patch.jsonl"])
def test_no_stream_stops_the_reading(name: str) -> None:
    """One odd line would cost the record of a whole trial."""
    same_in_any_pieces(CodexInterpreter, sample(name), 1)
    survives(CodexInterpreter, sample(name), 2)
