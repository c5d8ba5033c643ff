"""Agents over ACP through `hemra run`, on the host and in bubblewrap: a scripted agent by the library's agent side that
plays along, and ones that do not."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Command

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
TASK = "t01_terminal_smoke/t01_echo"
sandboxes = pytest.mark.parametrize(
    "sandbox", ["host", pytest.param("bwrap", marks=pytest.mark.needs("bwrap"))]
)


@dataclass(frozen=True)
class Trial:
    """The one trial of a run: what is shown of it, and its events' data by type."""

    shown: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The data of the events of a type."""
        return [data for type_, data in self.events if type_ == kind]

    def notes(self, code: str) -> list[str]:
        """The texts of the notes of a code."""
        return [note["text"] for note in self.of("note.recorded") if note["code"] == code]


def run(hemra: Command, agent: str, *options: str, sandbox: str = "host", **settings: Any) -> Trial:
    """One task with the scripted agent of a name."""
    folder = hemra.cwd.parent
    shutil.copy(Path(__file__).with_name("acp_agent.py"), folder)
    file = folder / f"{agent}.yaml"
    content = {
        "name": agent,
        "kind": "acp",
        "command": ["{python}", "acp_agent.py", agent],
        "settings": settings,
    }
    file.write_text(json.dumps(content), encoding="utf-8")
    if "--timeout" not in options:
        options = (*options, "--timeout", "60s")
    # An endpoint that does not serve is an exit code of its own.
    done = hemra(
        "run",
        "--dataset",
        "smoke",
        "--task",
        TASK,
        "--harness",
        file,
        "--sandbox",
        sandbox,
        *options,
        code=None,
    )
    name = done.stdout.splitlines()[-1]
    (shown,) = hemra.json("show", name)["trials"]
    log = [json.loads(line) for line in hemra("log", "cat", name).stdout.splitlines()]
    shown["flags"] = [flag for flag in shown["flags"] if flag != "slow_exit"]  # says how busy this machine is
    return Trial(shown, [(event["type"], event["data"]) for event in log if event["trial"] == "0001"])


@sandboxes
def test_an_agent_that_plays_along_passes(hemra: Command, sandbox: str) -> None:
    """Nothing of ACP would work: the dialogue, the permission, the answer, what is recorded of them."""
    trial = run(hemra, "works", sandbox=sandbox)
    assert (trial.shown["outcome"], trial.shown["reward"], trial.shown["flags"]) == ("completed", 1.0, [])
    assert (trial.shown["input_tokens"], trial.shown["output_tokens"]) == (20, 10)
    ((call, name),) = [(data["call"], data["name"]) for data in trial.of("tool.called")]
    assert (call, name) == ("c1", "terminal")
    (returned,) = trial.of("tool.returned")
    (final,) = [data["text"] for data in trial.of("message.recorded") if data["final"]]
    assert final in returned["result"]
    assert trial.notes("harness_hello") == ["scripted 7"]
    assert trial.notes("permission") == ["it asked whether it may call terminal: yes (allow_once)"]
    methods = [
        json.loads(line).get("method")
        for data in trial.of("terminal.input")
        for line in data["data"].splitlines()
    ]
    assert methods == ["initialize", "session/new", "session/prompt", None]
    assert {data["name"] for data in trial.of("artifact.stored")} >= {"stdin", "stdout"}
    assert trial.of("harness.exited")[0]["exit_code"] == 0


def test_a_mode_without_questions_is_chosen(hemra: Command) -> None:
    """A mode of the harness file would be a word that nobody heard."""
    trial = run(hemra, "works", mode="free")
    assert (trial.shown["reward"], trial.notes("permission")) == (1.0, [])


@sandboxes
def test_the_end_of_an_answer_that_comes_after_the_reply_is_in_it(hemra: Command, sandbox: str) -> None:
    """A right answer would be judged by its first half."""
    trial = run(hemra, "late", sandbox=sandbox)
    assert (trial.shown["reward"], trial.shown["flags"]) == (1.0, ["late_updates"])


@sandboxes
def test_an_agent_that_stays_is_ended_and_its_work_counts(hemra: Command, sandbox: str) -> None:
    """A server that does not exit when nobody talks to it any more would be one that broke, or hold up the run."""
    trial = run(hemra, "stays", sandbox=sandbox)
    assert (trial.shown["outcome"], trial.shown["reward"]) == ("completed", 1.0)
    assert trial.shown["flags"] == ["stdin_close_ignored"]


def test_lines_that_are_no_messages_are_kept(hemra: Command) -> None:
    """An agent that logs to stdout would be lost."""
    trial = run(hemra, "logs")
    assert (trial.shown["outcome"], trial.shown["reward"], trial.shown["flags"]) == (
        "completed",
        1.0,
        ["unknown_lines"],
    )
    assert trial.notes("harness_raw") == ["2026-12-01 INFO starting"]


def test_a_tool_that_the_task_does_not_leave_it_is_refused(hemra: Command) -> None:
    """A task that is to be done in the terminal would be done by other tools."""
    trial = run(hemra, "edits")
    assert trial.notes("permission") == ["it asked whether it may call patch: no (reject_once)"]
    assert "permission_denied" in trial.shown["flags"]
    (final,) = [data["text"] for data in trial.of("message.recorded") if data["final"]]
    assert final == "reject_once"


def test_files_of_ours_are_not_to_be_had(hemra: Command) -> None:
    """An agent would work outside its sandbox, or wait for an answer."""
    trial = run(hemra, "reads")
    assert (trial.shown["outcome"], trial.shown["reward"]) == ("completed", 1.0)
    assert trial.notes("acp_refused") == ["it asked for fs/read_text_file, which is not offered"]


@pytest.mark.parametrize(
    ("agent", "outcome", "word"),
    [
        ("dies", "harness_error", "left 'session/prompt' unanswered"),
        ("locked", "auth_error", "Authentication required"),
        ("future", "unknown", "version 2 of ACP"),
    ],
)
def test_an_agent_that_breaks_off_is_told_from_one_that_failed(
    hemra: Command, agent: str, outcome: str, word: str
) -> None:
    """What has nothing to do with the task would count as a task that was failed."""
    trial = run(hemra, agent)
    assert trial.shown["outcome"] == outcome
    assert word in trial.shown["reason"]


@sandboxes
@pytest.mark.parametrize("agent", ["silent", "babbles"])
def test_an_agent_that_never_answers_is_given_up_in_time(hemra: Command, agent: str, sandbox: str) -> None:
    """An agent that does not even begin would have all the time of the trial, and look like one that was too slow."""
    trial = run(hemra, agent, "--timeout", "6s", sandbox=sandbox)
    assert (trial.shown["outcome"], trial.shown["reason"]) == (
        "harness_error", "it did not answer 'initialize' within 3 s",
    )  # fmt: skip
    assert trial.of("harness.exited")[0]["duration_ns"] < 5.9e9


@sandboxes
def test_an_agent_whose_time_is_up_is_asked_to_stop(hemra: Command, sandbox: str) -> None:
    """An agent that is only killed cannot write down what it has done; one that stops must not lose its outcome."""
    trial = run(hemra, "waits", "--timeout", "24s", sandbox=sandbox)
    assert trial.shown["outcome"] == "timeout"
    assert trial.of("trial.finished")[0]["limit"]["name"] == "wall_seconds"
    assert "session/cancel" in trial.of("terminal.input")[-1]["data"]
    assert '"stopReason":"cancelled"' in trial.of("terminal.output")[-1]["data"]


def test_an_agent_that_floods_is_judged_by_its_work(hemra: Command) -> None:
    """What it did before would be lost, or its record grow without end while every other trial waits."""
    trial = run(hemra, "floods")
    assert (trial.shown["outcome"], trial.shown["reward"]) == ("completed", 1.0)
    assert len(trial.of("tool.called")) == 10_000
    (left_out,) = [note for note in trial.of("note.recorded") if note["code"] == "acp_left_out"]
    assert left_out["details"] == {"call_updates": 501}
