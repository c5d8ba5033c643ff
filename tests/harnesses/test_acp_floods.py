"""Agents over ACP that say far too much: what is kept of it has a bound, and reading it costs the same all the time."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from harnesses.acp import conversation
from harnesses.acp.client import AcpClient
from harnesses.acp.conversation import KEPT_CALLS, KEPT_MESSAGES, KEPT_UPDATES
from harnesses.head_and_tail import KEPT_BYTES
from tests.harnesses.acp_messages import (
    ask,
    chunk,
    client,
    done,
    hear,
    hello,
    may_i,
    opened,
    said,
    talk,
    update,
)
from tests.harnesses.adapters import calls, lines, messages, notes, results

PIECE = 64 * 1024
SHOWN = {"terminal_output_delta": {"data": "y" * 1000}}


def prompted() -> AcpClient:
    """A client whose agent has its task."""
    made = client()
    hear(made, hello(), opened())
    said(made)
    return made


def details(events: list[Any], code: str) -> dict[str, Any]:
    """The details of the one note of a code."""
    (found,) = [event for event in events if getattr(event, "code", None) == code]
    return dict(found.details)


def test_reading_the_updates_of_one_call_does_not_get_slower() -> None:
    """An agent that streams a command's output would hold up every trial beside it, and its own limits."""
    made = prompted()
    piece = lines(*[update("tool_call_update", toolCallId="c", _meta=SHOWN)] * 50)
    took = []
    for _ in range(10):
        since = time.process_time()
        for _ in range(32):
            assert made.feed("stdout", piece) == []
        took.append(time.process_time() - since)
    assert min(took[7:]) < 3 * min(took[:3])
    events = hear(made, update("tool_call_update", toolCallId="c", status="completed"))
    ((_, _, _, shown),) = results(events)
    assert shown.startswith("y" * KEPT_BYTES)
    assert f"{16_000_000 - 2 * KEPT_BYTES} bytes left out" in shown
    assert len(shown) < 2 * KEPT_BYTES + 200


def test_calls_that_never_run_do_not_pile_up() -> None:
    """Thousands of calls would be told in one go when something else follows, with the other trials waiting."""
    made = prompted()
    events, count = [], KEPT_CALLS + 500
    for at in range(0, count, 100):
        block = range(at, at + 100)
        events += hear(
            made, *(update("tool_call", toolCallId=f"c{n}", title="t", status="pending") for n in block)
        )
    assert len(calls(events)) > KEPT_CALLS - 200
    rest, conclusion = talk(made, chunk("x"), done())
    assert len(rest) < 150
    assert [call for call, _, _, _ in calls(events + rest)] == [f"c{n}" for n in range(KEPT_CALLS)]
    assert details(rest, "acp_left_out") == {"call_updates": 500}
    assert conclusion.final_text == "x"


def test_results_of_calls_beyond_the_bound_are_not_told() -> None:
    """A result would stand in the record without its call."""
    events, _ = talk(
        prompted(), *(update("tool_call", toolCallId=n, title="t", status="completed") for n in range(KEPT_CALLS + 9))
    )  # fmt: skip
    assert len(calls(events)) == len(results(events)) == KEPT_CALLS


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("permission", lambda n: may_i(n, ["allow_once", "reject_once"], toolCallId=f"c{n}", kind="execute")),
        ("acp_refused", lambda n: ask(n, "fs/read_text_file")),
        ("plan", lambda n: update("plan", entries=[{"content": str(n)}])),
    ],
)
def test_notes_of_one_kind_have_a_bound_and_every_request_its_answer(code: str, message: Any) -> None:
    """Megabytes of notes would be the record; an agent that gets no answer waits until its time is up."""
    made = prompted()
    events = hear(made, *map(message, range(1000)))
    assert len(said(made)) == (0 if code == "plan" else 1000)
    rest, _ = talk(made, chunk("x"), done())
    assert len(notes(events + rest)[code]) == KEPT_UPDATES
    assert details(rest, "acp_left_out") == {code: 1000 - KEPT_UPDATES}
    assert len(notes(rest)["acp_left_out"]) == 1


def test_what_is_within_the_bounds_is_not_told_to_be_left_out() -> None:
    """A note on every trial would be no news of any."""
    events, _ = talk(prompted(), ask(5, "fs/x"), chunk("x"), done())
    assert "acp_left_out" not in notes(events)


@pytest.mark.parametrize("between", [None, ask(7, "fs/x"), may_i(7, ["allow_once"], toolCallId="c")])
def test_of_a_long_answer_head_and_tail_are_kept(between: Any) -> None:
    """An agent that prints for hours would fill the memory of all trials; its last words matter most."""
    made = prompted()
    hear(made, chunk("BEGIN", messageId="m"))
    block = [chunk("é" * 10_000, messageId="m")] * 20 + ([between] if between else [])
    for _ in range(25):
        hear(made, *block)
        said(made)
        assert made.words.kept <= 3 * KEPT_BYTES
    events, conclusion = talk(made, chunk("END", messageId="m"), done())
    text = conclusion.final_text or ""
    assert text.startswith("BEGINé")
    assert text.endswith("éEND")
    left_out = int(text.split("[… ")[1].split()[0])
    shown = text.split("\n[…")[0].encode(), text.split("…]\n")[1].encode()
    assert left_out + len(shown[0]) + len(shown[1]) == 25 * 20 * 20_000 + 8
    assert conclusion.flags == ["output_truncated"]
    assert messages(events) == [("assistant", text, None, True)]


def test_a_long_message_before_the_answer_does_not_make_that_a_cut_one() -> None:
    """An answer that is whole would be marked as one of which a part is missing."""
    long = chunk("x" * 3 * KEPT_BYTES, messageId="a")
    events, conclusion = talk(prompted(), long, chunk("The answer", messageId="b"), done())
    assert (conclusion.final_text, conclusion.flags) == ("The answer", [])
    assert "bytes left out" in messages(events)[0][1]


@pytest.mark.parametrize(
    "between", [chunk("", messageId="x"), ask(1, "fs/x"), chunk("?", "user_message_chunk"), None]
)
def test_thoughts_have_a_bound(between: Any) -> None:
    """An agent that thinks without end, whatever comes between, would fill the memory as one that talks."""
    made = prompted()
    events = []
    for number in range(200):
        told = [
            chunk("t" * 20_000, "agent_thought_chunk", messageId=str(number)),
            *([between] if between else []),
        ]
        events += hear(made, *told)
        said(made)
        assert sum(map(len, made._thoughts)) + made.words.kept <= 4 * KEPT_BYTES
    rest, _ = talk(made, chunk("x", messageId="end"), done())
    events += rest
    assert all(len(reasoning or "") <= 2 * KEPT_BYTES + 200 for _, _, reasoning, _ in messages(events))
    assert sum((reasoning or "").count("t") for _, _, reasoning, _ in messages(events)) > KEPT_BYTES


def test_messages_have_a_bound_and_the_answer_is_told_all_the_same() -> None:
    """A record of a million one-letter messages would be read by nobody, and written by all trials' loop."""
    told = [chunk("x", messageId=str(number)) for number in range(KEPT_MESSAGES + 50)]
    events, conclusion = talk(prompted(), *told, chunk("The answer", messageId="last"), done())
    assert len(messages(events)) == KEPT_MESSAGES + 1
    assert messages(events)[-1] == ("assistant", "The answer", None, True)
    assert details(events, "acp_left_out") == {"messages": 50}
    assert conclusion.final_text == "The answer"


def test_the_bounds_are_wide_enough_for_work() -> None:
    """A long and honest session would be recorded in part."""
    assert min(KEPT_CALLS, KEPT_MESSAGES) >= 10_000
    assert conversation.WAITING_CALLS >= 100


def test_text_of_any_characters_comes_back_as_it_was() -> None:
    """A lone half of a character would end the reading, or become another one."""
    told = "a\ud83d", "\ude00 é \U0001f600 \udcff\x00"
    _, conclusion = talk(prompted(), *(chunk(each) for each in told), done())
    assert json.dumps(conclusion.final_text) == json.dumps("".join(told))
