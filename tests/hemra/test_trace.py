"""The trace: what a verifier is told, made from events."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest

from eventlog.envelope import Event
from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import (
    MessageRecorded,
    ModelRequested,
    NoteRecorded,
    ToolCalled,
    ToolReturned,
)
from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import (
    HarnessExited,
    SandboxCreated,
    TrialFinished,
    TrialQueued,
    TrialStarted,
)
from hemra.datasets.toolnames import ALIASES, canonical
from hemra.scoring.trace import KEPT_CHARS, as_text, build_trace


def events(*data: EventData) -> list[Event]:
    """The events that carry these payloads, as a reader gives them."""
    return [
        Event(seq, f"id-{seq}", "2026-01-01T00:00:00Z", seq, item.type, item.v, "test", "0001", fields(item))
        for seq, item in enumerate(data, 1)
    ]


def fields(item: EventData) -> dict[str, Any]:
    """The payload as a dict."""
    return {
        name: msgspec.to_builtins(getattr(item, name), builtin_types=(bytes,))
        for name in item.__struct_fields__
    }


def trace_of(*data: EventData, **known: Any) -> dict[str, Any]:
    """The trace of these payloads, without blobs."""
    return build_trace(events(*data), lambda value: value, **known)


def started(try_no: int = 1, **values: Any) -> TrialStarted:
    """A trial.started."""
    return TrialStarted(
        try_no=try_no,
        harness="h",
        task="a/one",
        attempt=1,
        seed=7,
        instruction=f"Do it {try_no}.",
        values=values,
        limits=Limits(),
        not_enforced=[],
    )


def said(text: Any, *, role: str = "assistant", final: bool = False) -> MessageRecorded:
    """A message.recorded."""
    return MessageRecorded(role=role, text=text, final=final)


def called(call: str, name: str = "terminal", turn: int | None = 1) -> ToolCalled:
    """A tool.called."""
    return ToolCalled(call=call, name=name, arguments={"command": "ls"}, turn=turn)


def returned(call: str, *, ok: bool | None = True, result: Any = "out") -> ToolReturned:
    """A tool.returned."""
    return ToolReturned(call=call, name=None, ok=ok, result=result)


def asked(call: str, auxiliary: str | None = None, known: int = 0) -> ModelRequested:
    """A model.requested."""
    return ModelRequested(call=call, model="m", parameters={}, auxiliary=auxiliary, known=known)


def answered(call: str, text: str) -> MessageRecorded:
    """A message that the answer to a model call brought."""
    return MessageRecorded(role="assistant", text=text, call=call)


def test_a_title_is_no_answer() -> None:
    """An agent that has its session named at the end would be scored on the title."""
    turn, title = [asked("m1"), answered("m1", "42")], [
        asked("m2", "other_model"), answered("m2", "Session: sums"),
    ]  # fmt: skip
    trace = trace_of(started(), *turn, *title)
    assert (trace["final"], trace["messages"]) == ("42", [{"role": "assistant", "text": "42"}])
    assert trace_of(started(), *title, *turn)["final"] == "42"


def test_an_agent_that_is_asked_to_come_to_an_end_answers() -> None:
    """What an agent says at its limit of turns, when its tools are taken away, would not be its answer."""
    turn = [asked("m1"), answered("m1", "let me look")]
    trace = trace_of(started(), *turn, asked("m2", "no_tools", known=4), answered("m2", "42"))
    assert trace["final"] == "42"
    assert trace_of(started(), *turn, asked("m2", "no_tools"), answered("m2", "42"))["final"] == "let me look"


def test_calls_that_are_all_taken_for_side_calls_are_the_conversation() -> None:
    """An agent whose file names another model than it asks would be scored as if it had said nothing."""
    trace = trace_of(started(), asked("m1", "other_model"), answered("m1", "42"))
    assert (trace["final"], len(trace["messages"])) == ("42", 1)


def test_a_new_try_forgets_the_side_calls_of_the_one_before() -> None:
    """The words of one try would be weighed by what happened in another."""
    before = [started(), asked("m1"), answered("m1", "41")]
    trace = trace_of(*before, started(), asked("m2", "no_tools"), answered("m2", "42"))
    assert trace["final"] == "42"


def test_whole_trial() -> None:
    """A verifier would miss something that the record has."""
    queued = TrialQueued(
        position=1,
        harness="h",
        harness_digest="d",
        task="a/one",
        task_digest="t",
        scorer_digest="s",
        attempt=1,
        seed=7,
    )
    sandbox = SandboxCreated(try_no=1, kind="host", workspace="/w", home="/h", enforcement={}, environment=[])
    exited = HarnessExited(
        try_no=1,
        exit_code=3,
        exit_signal=None,
        duration_ns=1,
        stdout_bytes=1,
        stderr_bytes=0,
        leftover_processes=0,
        flags=[],
    )
    trace = trace_of(
        queued,
        started(key="v"),
        sandbox,
        said("hello", role="user"),
        called("c1", "Bash"),
        returned("c1"),
        said("thinking"),
        said("done", final=True),
        NoteRecorded(
            level="info",
            code="service_asked",
            text="asked",
            details={"service": "web", "requests": [{"path": "/x"}]},
        ),
        exited,
        outcome="completed",
    )
    assert trace == {
        "task": "a/one",
        "instruction": "Do it 1.",
        "values": {"key": "v"},
        "seed": 7,
        "messages": [
            {"role": "user", "text": "hello"},
            {"role": "assistant", "text": "thinking"},
            {"role": "assistant", "text": "done"},
        ],
        "final": "done",
        "tools_recorded": True,
        "tool_calls": [
            {
                "call": "c1",
                "name": "Bash",
                "tool": "terminal",
                "arguments": {"command": "ls"},
                "ok": True,
                "result": "out",
                "turn": 1,
                "called_s": 3e-9,
                "returned_s": 4e-9,
            }
        ],
        "services": {"web": [{"path": "/x"}]},
        "exit_code": 3,
        "outcome": "completed",
        "home": "/h",
        "workspace": "/w",
    }


def test_only_the_newest_try_counts() -> None:
    """Work of a try that was thrown away would be scored."""
    trace = trace_of(
        started(1, k=1),
        called("c"),
        returned("c", result="old"),
        said("old", final=True),
        started(2, k=2),
        called("c"),
        returned("c", result="new"),
    )
    assert trace["values"] == {"k": 2}
    assert [call["result"] for call in trace["tool_calls"]] == ["new"]
    assert trace["final"] is None
    assert trace["messages"] == []


def test_unanswered_and_unasked_calls() -> None:
    """A call that never came back would look as if it had worked, or an answer alone as a call."""
    trace = trace_of(
        started(), called("c1"), called("c2"), returned("c2", ok=None), returned("c9"), returned("c2")
    )
    assert [(call["ok"], call["result"]) for call in trace["tool_calls"]] == [(None, None), (None, "out")]


def test_first_answer_to_a_call_is_the_one_that_counts() -> None:
    """A harness could take back a failure by answering again."""
    trace = trace_of(started(), called("c"), returned("c", ok=False, result="no"), returned("c"))
    assert [(call["ok"], call["result"]) for call in trace["tool_calls"]] == [(False, "no")]


@pytest.mark.parametrize(
    ("messages", "final"),
    [
        ([], None),
        ([said("a"), said("b")], "b"),
        ([said("a"), said("  "), said("c", role="tool")], "a"),
        ([said("a", final=True), said("b")], "a"),
        ([said("a", final=True), said("b", final=True)], "b"),
        ([said("", final=True)], ""),
        ([said([{"type": "text", "text": "a"}, {"type": "image"}, "b"])], "a\nb"),
        ([said("q", role="user")], None),
    ],
)
def test_final_answer(messages: list[EventData], final: str | None) -> None:
    """The scorer would judge another message than the last word of the harness."""
    assert trace_of(started(), *messages)["final"] == final


def test_a_verifier_is_not_drowned_by_an_answer() -> None:
    """A harness could keep itself from being scored by an answer that the verifier does not get through."""
    final = trace_of(started(), said("a" * 20_000_000 + "z", final=True))["final"]
    assert len(final) < 2 * KEPT_CHARS + 100
    assert "characters left out" in final
    assert final.endswith("z")


@pytest.mark.parametrize(
    ("known", "data", "expected"),
    [
        (None, [], False),
        (None, [called("c")], True),
        (True, [], True),
        (False, [called("c")], False),
    ],
)
def test_whether_tools_are_recorded(known: bool | None, data: list[EventData], expected: bool) -> None:
    """A harness that called nothing would be excused as one that records nothing, or the other way round."""
    assert trace_of(started(), *data, tools_recorded=known)["tools_recorded"] is expected


def test_outcome_of_the_record_wins_and_unknown_is_said() -> None:
    """Scoring again from the log would see another outcome than the first time."""
    finished = TrialFinished(
        try_no=1,
        outcome="timeout",
        reason=None,
        flags=[],
        limit=None,
        exit_code=None,
        exit_signal=9,
        duration_ns=1,
        agent_ns=None,
        phases={},
        scored=True,
        score_status=None,
        reward=None,
        usage=None,
    )
    assert trace_of(started(), finished, outcome="completed")["outcome"] == "timeout"
    assert trace_of(started())["outcome"] == "unknown"
    assert trace_of()["task"] is None


def test_trace_is_json_whatever_was_recorded() -> None:
    """One odd byte in a tool result would make the trial impossible to score."""
    odd = {"b": b"\xff\x00ok", "n": [math.nan, math.inf, 2**70], 5: "\ud800", "t": (1, 2)}
    trace = trace_of(started(), called("c"), returned("c", result=odd), said(b"\xc3\xa4\xff", final=True))
    again = json.loads(json.dumps(trace, allow_nan=False))
    assert again["tool_calls"][0]["result"] == {
        "b": "\udcff\x00ok",
        "n": [None, None, 2**70],
        "5": "\ud800",
        "t": [1, 2],
    }
    assert again["final"] == "ä\udcff"


def test_blobs_are_resolved() -> None:
    """A verifier would see a reference where a long result was."""
    blob = {"$blob": "sha256:00"}
    resolved = build_trace(
        events(started(), called("c"), returned("c", result=blob)),
        lambda data: {key: "the content" if value == blob else value for key, value in data.items()},
    )
    assert resolved["tool_calls"][0]["result"] == "the content"


def test_tool_names() -> None:
    """A harness whose shell has another name would fail every terminal task."""
    assert [canonical(name) for name in ("Bash", "exec_command", "terminal", "Read")] == [
        "terminal",
        "terminal",
        "terminal",
        "read_file",
    ]
    assert canonical("SuperTool") == "SuperTool"
    assert canonical("web_search") == "web_search"
    names = [alias for aliases in ALIASES.values() for alias in aliases]
    assert len(names) == len(set(names))
    assert all(name == name.lower() for name in names)


def test_tools_of_the_trials_servers_have_one_name() -> None:
    """A verifier would not find the call of a harness that puts the server's name before a tool in its own way."""
    start = msgspec.structs.replace(started(), mcp_servers=["my-ledger"])
    trace = trace_of(start, called("1", "my-ledger_look"), called("2", "other_look"))
    assert [call["tool"] for call in trace["tool_calls"]] == ["mcp__my_ledger__look", "other_look"]
    assert trace["tool_calls"][0]["name"] == "my-ledger_look"


def test_text_of_any_shape() -> None:
    """A message in parts would count as empty."""
    assert as_text({"content": [{"text": "a"}, {"text": None}]}) == "a"
    assert as_text(None) == ""
    assert as_text(5) == "5"
