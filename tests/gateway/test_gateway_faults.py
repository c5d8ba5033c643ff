"""Whatever an endpoint does, it is passed on as it came, recorded for what it was, and blamed on whoever it is due."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest

from hemra.gateway.verdict import End, Ends
from tests.gateway.conftest import Rig, answering, reply, saying
from tests.tools.wire import Reply, ask, serving

NAMES = ("chat", "responses", "messages")
SAID = "turns: [{text: one two three four five six seven, calls: [{action: terminal, arguments: {command: date}}]}]"

#: fault -> (how a stream ends, how a whole answer ends, outcome of a trial that it ends)
FAULTS: dict[str, tuple[str, str, str | None]] = {
    "{kind: status, status: 401}": ("error", "error", "auth_error"),
    "{kind: status, status: 403}": ("error", "error", "auth_error"),
    "{kind: status, status: 402}": ("error", "error", "quota_error"),
    "{kind: status, status: 429}": ("error", "error", "provider_error"),
    "{kind: status, status: 429, code: insufficient_quota}": ("error", "error", "quota_error"),
    "{kind: status, status: 400, message: Your credit balance is too low}": ("error", "error", "quota_error"),
    "{kind: status, status: 400}": ("error", "error", "provider_error"),
    "{kind: status, status: 400, message: prompt is too long}": ("error", "error", None),
    "{kind: status, status: 500}": ("error", "error", "provider_error"),
    "{kind: status, status: 529}": ("error", "error", "provider_error"),
    "{kind: hang}": ("timeout", "timeout", "provider_error"),
    "{kind: drop}": ("cut", "cut", "provider_error"),
    "{kind: junk}": ("junk", "junk", "provider_error"),
    "{kind: empty}": ("complete", "complete", "provider_error"),
    "{kind: length}": ("complete", "complete", None),
    "{kind: malformed_arguments}": ("complete", "complete", None),
    "{kind: cut}": ("cut", "cut", "provider_error"),
    "{kind: stall}": ("timeout", "timeout", "provider_error"),
    "{kind: error_event}": ("error", "error", "provider_error"),
}
FLAGS = {
    "{kind: empty}": "empty_answer",
    "{kind: length}": "answer_cut_at_length",
    "{kind: malformed_arguments}": "malformed_arguments",
    "{kind: status, status: 400, message: prompt is too long}": "context_exceeded",
}


def _asked(who: Any, dialect: str, *how: Any, **fields: Any) -> Reply | str:
    """The reply, or what the connection did in its place."""
    try:
        reply: Reply = who(*how, dialect, **fields)
        return reply
    except http.client.RemoteDisconnected:
        return "closed"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_passed_on_recorded_and_blamed(rig: Rig, fault: str, dialect: str, stream: bool) -> None:
    """A fault that ends as a failed task says that a model cannot do what it was never asked."""
    ended, whole_ended, outcome = FAULTS[fault]
    silent = fault in ("{kind: hang}", "{kind: stall}")
    fields: dict[str, Any] = {"stream": True} if stream else {}
    with serving(f"{SAID}\nfaults: [{fault}]") as server:
        trial = rig.admit(server.base, idle_s=0.1 if silent else 30.0)
        got = _asked(trial.ask, dialect, **fields)
        server.journal.clear()
        server._director.reset()
        if not silent:
            headers = {"Authorization": "Bearer dummy-upstream-key-0123456789"}
            direct = _asked(ask, dialect, server, headers=headers, **fields)
            if isinstance(direct, str) or isinstance(got, str):
                assert got == direct
            else:
                assert (got.status, got.body, got.whole) == (direct.status, direct.body, direct.whole)
    (answer,) = trial.settled()
    assert answer.ended == (ended if stream else whole_ended)
    assert trial.channel.verdict(stopped=False)[0] == outcome
    assert trial.channel.flags == ([FLAGS[fault]] if fault in FLAGS else [])
    assert trial.channel.failed == (answer.ended != "complete")
    assert trial.channel.fired is None


def test_recovered_is_recovered(rig: Rig) -> None:
    """One hiccup that the harness got over must not throw its work away."""
    for fault in (
        "{kind: status, status: 500, times: 1}",
        "{kind: cut, times: 1}",
        "{kind: empty, times: 1}",
    ):
        with serving(f"turns: [{{text: one two three four five}}]\nfaults: [{fault}]") as server:
            trial = rig.admit(server.base)
            for _ in range(2):
                trial.ask("messages", stream=True)
        trial.settled(2)
        assert trial.channel.verdict(stopped=False) == (None, None), fault


def test_what_is_not_http_is_told(rig: Rig) -> None:
    """Something else listens at the port: the harness must see an error, and the record say what was there."""
    with saying(answering(b"SSH-2.0-OpenSSH_9.2\r\n")) as endpoint:
        trial = rig.admit(endpoint.base)
        got = trial.ask("chat")
    assert got.status == 502
    (answer,) = trial.settled()
    assert answer.ended == "junk"
    assert "HTTP" in answer.error


def test_an_error_in_html_is_an_error(rig: Rig) -> None:
    """A proxy's page in the place of JSON still says what went wrong."""
    page = b"<html><h1>502 Bad Gateway</h1></html>"
    with saying(answering(reply(page, "502 Bad Gateway", Content_Type="text/html"))) as endpoint:
        trial = rig.admit(endpoint.base)
        assert trial.ask("chat", stream=True).body == page
    (answer,) = trial.settled()
    assert (answer.ended, answer.error) == ("error", page.decode())
    assert trial.channel.verdict() == ("provider_error", f"HTTP 502: {page.decode()}")


def test_another_model_than_asked_is_flagged(rig: Rig) -> None:
    """A router that answers with a cheaper model would be measured as the one that was paid for."""

    def answered(model: str) -> bytes:
        choice = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
        return reply(json.dumps({"id": "1", "model": model, "choices": [choice]}).encode())

    for model, flags in (
        ("small-model", ["other_model_answered"]),
        ("test-model-2026-01-01", []),
        ("provider/test-model", []),
        ("Test-Model", []),
    ):
        with saying(answering(answered(model))) as endpoint:
            trial = rig.admit(endpoint.base)
            trial.ask("chat")
        assert (trial.settled()[0].model, trial.channel.flags) == (model, flags)


def test_a_freeform_tool_s_text_is_not_malformed(rig: Rig) -> None:
    """A patch is no JSON, and none is asked for."""
    call = {
        "type": "custom_tool_call",
        "id": "c",
        "call_id": "c",
        "name": "apply_patch",
        "input": "*** Begin",
    }
    body = {"id": "r", "object": "response", "status": "completed", "model": "test-model", "output": [call]}
    with saying(answering(reply(json.dumps(body).encode()))) as endpoint:
        trial = rig.admit(endpoint.base)
        tools = [{"type": "custom", "name": "apply_patch", "format": {"type": "text"}}]
        question = {"model": "test-model", "input": "x", "tools": tools}
        trial.send("/v1/responses", question)
    assert trial.settled()[0].ended == "complete"
    assert trial.channel.flags == []


def _verdict(*ends: End, stopped: bool, wall: float | None = None) -> str | None:
    said = Ends(wall)
    for end in ends:
        said.add(end)
    return said.verdict(stopped=stopped, fired=False)[0]


def test_who_broke_an_unanswered_call() -> None:
    """A trial stopped at its limit cuts its last call by itself; an endpoint that hangs makes it wait until then."""
    quick = End("disconnected", silent_s=1.0)
    slow = End("disconnected", silent_s=70.0)
    failed = End("error", status=500)
    good = End("complete", status=200)
    assert _verdict(good, quick, stopped=True) is None
    assert _verdict(good, quick, stopped=False) is None  # it went by itself, in haste
    assert _verdict(good, slow, stopped=True) == "provider_error"
    assert _verdict(End("disconnected", silent_s=12.0), stopped=True, wall=20) == "provider_error"
    assert _verdict(End("disconnected", silent_s=12.0), stopped=True, wall=300) is None
    assert _verdict(End("disconnected", silent_s=32.0), stopped=False, wall=300) == "provider_error"
    assert _verdict(End("disconnected", silent_s=12.0), stopped=False, wall=300) is None  # it was in haste
    assert _verdict(failed, failed, quick, stopped=True) == "provider_error"  # it was trying again
    assert _verdict(failed, quick, stopped=True) is None
    assert _verdict(failed, quick, stopped=False) == "provider_error"
    assert _verdict(slow, good, stopped=True) is None
    assert _verdict(stopped=True) is None


def test_a_budget_explains_more_than_the_last_failure() -> None:
    """A trial that was served until its budget ended is a result; one that was never served is none."""
    served, never = Ends(None), Ends(None)
    served.add(End("complete", status=200))
    served.add(End("error", status=500))
    never.add(End("error", status=500))
    assert served.verdict(stopped=True, fired=True) == (None, None)
    assert never.verdict(stopped=True, fired=True)[0] == "provider_error"


def test_side_calls_only_speak_where_nothing_else_was_asked() -> None:
    """A title that failed says nothing about a trial whose turns were answered."""
    said = Ends(None)
    said.add(End("error", status=401), aside=True)
    assert said.verdict(stopped=False, fired=False)[0] == "auth_error"
    said.add(End("complete", status=200))
    assert said.verdict(stopped=False, fired=False) == (None, None)
