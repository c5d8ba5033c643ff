"""What is new in each request of a trial is found, whatever harnesses and providers do to the rest."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemra.gateway import conversation as module
from hemra.gateway.conversation import BEGINNING, Conversation, Seen, Told
from hemra.gateway.dialects import by_name
from hemra.gateway.normal import Answer, Message, Request, Tool, ToolCall

BASH = (Tool(name="bash", definition={"name": "bash"}),)
SYSTEM = Message(role="system", text="Be brief.")
TASK = Message(role="user", text="Fix it.")


def asking(
    *messages: Message, tools: tuple[Tool, ...] = BASH, model: str = "m", **parameters: Any
) -> Request:
    """A request of this conversation."""
    return Request(model=model, stream=True, parameters=parameters, tools=tools, messages=messages)


def call(number: str, command: str = "ls", **more: Any) -> ToolCall:
    """A call of the shell."""
    return ToolCall(id=number, name="bash", arguments={"command": command}, **more)


def answer(text: str = "", *calls: ToolCall, complete: bool = True, **more: Any) -> Answer:
    """A model's answer."""
    return Answer(
        text=text, calls=calls, complete=complete, finish_reason="stop" if complete else None, **more
    )


def echo(given: Answer) -> Message:
    """The answer as the next request has it."""
    return Message(role="assistant", text=given.text, calls=given.calls)


def result(number: str, text: str = "a", ok: bool | None = None) -> Message:
    """What a tool gave back."""
    return Message(role="tool", text=text, answers=number, ok=ok)


class Trial:
    """A conversation with calls that are numbered by themselves."""

    def __init__(self, **options: Any) -> None:
        self.conversation = Conversation(**options)
        self.number = 0

    def ask(self, request: Request, given: Answer | None = None, **options: Any) -> tuple[Seen, Told]:
        """A request and its answer; without one it failed."""
        self.number += 1
        seen = self.conversation.request(f"c{self.number}", request, **options)
        return seen, self.conversation.answer(f"c{self.number}", given or Answer())


def texts(seen: Seen) -> list[Any]:
    """What of a request is to be recorded."""
    return [message.text for _, message in seen.fresh]


def joined(seen: Seen) -> list[tuple[str, str, Any]]:
    """The results that a request brought."""
    return [(each.call, each.name, each.result) for each in seen.results]


def told(answered: Told) -> list[tuple[str, Any, int | None]]:
    """The calls that an answer brought."""
    return [(each.call.id, each.call.arguments["command"], each.turn) for each in answered.calls]


def test_a_turn_is_recorded_once() -> None:
    """Messages would be recorded again with every request, or not at all."""
    trial = Trial()
    first = answer("I look.", call("t1"), reasoning="Hm")
    seen, answered = trial.ask(asking(SYSTEM, TASK), first)
    assert (texts(seen), seen.known, seen.messages, seen.prefix) == (
        ["Be brief.", "Fix it."],
        0,
        2,
        BEGINNING,
    )
    assert [key for key, _ in seen.fresh] == list(seen.added) == [SYSTEM.key, TASK.key]
    assert answered.message is not None
    assert answered.message[0] == answered.key == echo(first).key
    assert (answered.message[1].text, answered.message[1].reasoning) == ("I look.", "Hm")
    assert (told(answered), answered.ids, answered.turn) == ([("t1", "ls", 1)], ("t1",), 1)
    last = answer("Done.")
    seen, answered = trial.ask(asking(SYSTEM, TASK, echo(first), result("t1", ok=True)), last)
    assert (texts(seen), seen.known, seen.messages) == ([], 3, 4)
    assert seen.added == (result("t1").key,)
    assert [(each.call, each.name, each.ok, each.result) for each in seen.results] == [
        ("t1", "bash", True, "a")
    ]
    assert (answered.turn, answered.calls) == (2, ())


RENDERED: list[tuple[str, Answer, Message]] = [
    ("blanks cut off", answer("On it. ", call("1")), Message(role="assistant", text="On it.", calls=(call("1"),))),
    ("blanks within", answer("On\n it."), Message(role="assistant", text="On it.")),
    ("reasoning given back", answer("Yes", reasoning="Hm"), Message(role="assistant", text="Yes", reasoning="Hm")),
    ("thoughts taken out", answer("<think>Hm</think>\nYes"), Message(role="assistant", text="Yes")),
    ("no text as null", answer("", call("1")), Message(role="assistant", text=None, calls=(call("1"),))),
    ("text left out beside calls", answer("On it.", call("1")), Message(role="assistant", text="", calls=(call("1"),))),
    ("arguments mended", answer("", call("1")), Message(role="assistant", text="", calls=(call("1", "?"),))),
    ("one call of two", answer("", call("1"), call("2", "id")), Message(role="assistant", text="", calls=(call("1"),))),
    ("ids of the harness's own", answer("", call("")), Message(role="assistant", text="", calls=(call("own"),))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "back"), [each[1:] for each in RENDERED], ids=[each[0] for each in RENDERED]
)
def test_an_answer_is_known_again_in_other_clothes(given: Answer, back: Message) -> None:
    """A re-rendered answer would be recorded a second time, and its results belong to nothing."""
    trial = Trial()
    seen, answered = trial.ask(asking(TASK), given)
    results = [result(each.id) for each in back.calls]
    again, _ = trial.ask(asking(TASK, back, *results))
    assert (again.known, texts(again)) == (2, [])
    assert again.prefix == module._chained(seen.context, answered.key or "")
    assert [each.call for each in again.results] == [each.call.id for each in answered.calls][: len(results)]


def test_arguments_spelt_anew_are_the_same_call() -> None:
    """Harnesses parse a call's JSON and write it again in their own way."""
    dialect = by_name("chat")
    trial = Trial()

    def body(*more: dict[str, Any]) -> Request:
        return dialect.read({"model": "m", "messages": [{"role": "user", "content": "x"}, *more]})

    def said(arguments: str) -> dict[str, Any]:
        made = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [made]}

    reader = dialect.reader(stream=False)
    reader.feed(
        json.dumps(
            {"choices": [{"message": said('{"command": "x"}'), "finish_reason": "tool_calls"}]}
        ).encode()
    )
    trial.ask(body(), reader.finish())
    seen, _ = trial.ask(body(said('{"command":"x"}'), {"role": "tool", "tool_call_id": "1", "content": "a"}))
    assert (seen.known, joined(seen)) == (2, [("1", "bash", "a")])


def test_ids_that_are_used_again_join_their_own_call() -> None:
    """A server that calls every call `call_0` would give all results to one of them."""
    trial = Trial()
    history = [TASK]
    for turn in (1, 2, 3):
        given = answer("", call("call_0"))
        _, answered = trial.ask(asking(*history), given)
        number = "call_0" if turn == 1 else f"call_0#{turn}"
        assert told(answered) == [(number, "ls", turn)]
        history += [echo(given), result("call_0", "same")]
        seen, _ = trial.ask(asking(*history))
        assert joined(seen) == [(number, "bash", "same")]


@pytest.mark.parametrize("wire", ["", "call_0"])
def test_calls_of_one_turn_that_share_an_id_are_answered_in_their_order(wire: str) -> None:
    """Results of parallel calls would be exchanged or lost."""
    trial = Trial()
    given = answer("", call(wire, "one"), call(wire, "two"))
    _, answered = trial.ask(asking(TASK), given)
    ids = [each.call.id for each in answered.calls]
    assert len(set(ids)) == 2
    assert "" not in ids
    seen, _ = trial.ask(asking(TASK, echo(given), result(wire, "1"), result(wire, "2")))
    assert joined(seen) == [(ids[0], "bash", "1"), (ids[1], "bash", "2")]


def test_results_without_an_id_are_answered_in_their_order() -> None:
    """The older functions have no ids; nor do some local servers."""
    trial = Trial()
    given = answer("", call("x", "one"), call("y", "two"))
    trial.ask(asking(TASK), given)
    seen, _ = trial.ask(asking(TASK, echo(given), result("", "1"), result("", "2"), result("", "3")))
    assert joined(seen) == [("x", "bash", "1"), ("y", "bash", "2")]
    assert texts(seen) == [[{"type": "tool_result", "id": "", "ok": None, "content": "3"}]]


def test_a_result_whose_call_was_left_out_is_joined_by_its_id() -> None:
    """Clients that name stored items send a result without its call."""
    trial = Trial()
    trial.ask(asking(TASK), answer("", call("t1")))
    reference = Message(role="unknown", text=[{"type": "item_reference", "id": "fc_1"}])
    seen, _ = trial.ask(asking(TASK, reference, result("t1")))
    assert joined(seen) == [("t1", "bash", "a")]


def test_calls_of_one_turn_may_come_back_one_by_one() -> None:
    """Each of them would be recorded as a further turn."""
    trial = Trial()
    given = answer("I look.", call("1", "one"), call("2", "two"))
    trial.ask(asking(TASK), given)
    one = Message(role="assistant", text="I look.", calls=(call("1", "one"),))
    two = Message(role="assistant", text="", calls=(call("2", "two"),))
    seen, _ = trial.ask(asking(TASK, one, result("1", "A"), two, result("2", "B")))
    assert (joined(seen), texts(seen)) == ([("1", "bash", "A"), ("2", "bash", "B")], [])


def test_a_result_is_told_once() -> None:
    """A result would count twice when a harness shortens it later, or sends it in another conversation."""
    trial = Trial()
    given = answer("", call("t1"))
    trial.ask(asking(TASK), given)
    trial.ask(asking(TASK, echo(given), result("t1", "long")), answer("Yes"))
    seen, _ = trial.ask(
        asking(TASK, echo(given), result("t1", "[cleared]"), Message(role="user", text="Go on."))
    )
    assert joined(seen) == []
    assert texts(seen) == [
        [{"type": "tool_result", "id": "t1", "ok": None, "content": "[cleared]"}],
        "Go on.",
    ]


def test_the_same_words_twice_are_two_messages() -> None:
    """The second "continue" of a user would be missing in the record."""
    trial = Trial()
    more = Message(role="user", text="Continue.")
    one, two = answer("Part."), answer("Part.")
    trial.ask(asking(more), one)
    seen, answered = trial.ask(asking(more, echo(one), more), two)
    assert texts(seen) == ["Continue."]
    assert answered.message is not None
    seen, _ = trial.ask(asking(more, echo(one), more, echo(two), more))
    assert (texts(seen), seen.known) == (["Continue."], 4)
    seen, _ = trial.ask(asking(more, echo(one), more, echo(two), more, TASK))
    assert (texts(seen), seen.known) == ([TASK.text], 5)
    seen, _ = trial.ask(asking(TASK, more, more, more, more))
    assert texts(seen) == ["Continue."]


def test_a_sub_agent_has_its_own_beginning() -> None:
    """Its messages would be taken for the main conversation's, which goes on as before."""
    trial = Trial()
    given = answer("", call("t1"))
    trial.ask(asking(SYSTEM, TASK), given)
    inner = Message(role="user", text="Search the docs.")
    sub = answer("", call("t2"))
    seen, answered = trial.ask(asking(SYSTEM, inner), sub)
    assert (seen.known, texts(seen), seen.auxiliary) == (1, ["Search the docs."], None)
    seen, _ = trial.ask(asking(SYSTEM, inner, echo(sub), result("t2", "B")), answer("Found."))
    assert joined(seen) == [("t2", "bash", "B")]
    seen, answered = trial.ask(asking(SYSTEM, TASK, echo(given), result("t1", "Found.")), answer("Done."))
    assert (seen.known, joined(seen), answered.turn) == (3, [("t1", "bash", "Found.")], 4)


def test_after_compaction_only_the_summary_is_new() -> None:
    """What is kept of the history would be recorded again, its calls as calls that nobody made."""
    trial = Trial()
    one, two = answer("", call("t1")), answer("I see.", call("t2", "id"))
    trial.ask(asking(SYSTEM, TASK), one)
    trial.ask(asking(SYSTEM, TASK, echo(one), result("t1")), two)
    summary = Message(role="user", text="So far: looked.")
    seen, _ = trial.ask(asking(SYSTEM, summary, echo(two), result("t2", "root")), answer("Done."))
    assert (seen.known, texts(seen), joined(seen)) == (1, ["So far: looked."], [("t2", "bash", "root")])
    assert len(seen.added) == 3
    later, _ = trial.ask(
        asking(SYSTEM, summary, echo(two), result("t2", "root"), echo(answer("Done.")), TASK)
    )
    assert (later.known, texts(later)) == (5, [])


def test_what_is_kept_of_a_history_is_known_again_in_other_clothes() -> None:
    """A compacted history that is re-rendered too would be recorded again, its results joined at a guess."""
    trial = Trial()
    one, two = answer("<think>Hm</think>I  look.", call("call_0")), answer("I see.", call("call_0", "id"))
    three, four = answer("Again.", call("call_0", "id")), answer("Half  done.")
    history = [TASK]
    for each in (one, two, three, four):
        trial.ask(asking(*history), each)
        history += [echo(each), *([result("call_0", "same")] if each.calls else [TASK])]
    summary = Message(role="user", text="So far: looked.")
    kept = Message(role="assistant", text="I look.", calls=(call("call_0"),))
    end = Message(role="assistant", text="Half done.")
    # Two calls have this id and the same arguments: which of them this is, nobody can say.
    unsure = Message(role="assistant", text="", calls=(call("call_0", "id"),))
    seen, _ = trial.ask(
        asking(summary, kept, result("call_0", "first"), unsure, result("call_0", "other"), end)
    )
    assert seen.results == ()
    assert texts(seen) == [
        "So far: looked.",
        [{"type": "tool_result", "id": "call_0", "ok": None, "content": "first"}],
        [{"type": "tool_call", "id": "call_0", "name": "bash", "arguments": {"command": "id"}}],
        [{"type": "tool_result", "id": "call_0", "ok": None, "content": "other"}],
    ]


def test_the_latest_of_two_like_answers_is_the_one_that_comes_back() -> None:
    """Results would belong to the call of an answer that was cut."""
    trial = Trial()
    trial.ask(asking(TASK), answer("I  look.", call("x1"), complete=False))
    trial.ask(asking(TASK), answer("I look.", call("x2")))
    back = Message(role="assistant", text="I   look.", calls=(call("own"),))
    seen, _ = trial.ask(asking(TASK, back, result("own")))
    assert joined(seen) == [("x2", "bash", "a")]


def test_a_prompt_that_is_another_every_time_costs_itself_only() -> None:
    """A clock in the system prompt would make all that was said new with every request."""
    trial = Trial()
    history = [TASK]
    for turn in range(5):
        given = answer("On it.", call("call_0"))
        clock = Message(role="system", text=f"It is {turn} o'clock.")
        seen, answered = trial.ask(asking(clock, *history), given)
        assert texts(seen) == [clock.text, *([TASK.text] if turn == 0 else [])]
        assert len(seen.results) == (turn > 0)
        assert [each.turn for each in answered.calls] == [turn + 1]
        history += [echo(given), result("call_0", "same")]


def test_history_that_no_model_of_the_trial_said_is_no_call() -> None:
    """Examples in a prompt would count as tools that the agent used."""
    example = Message(role="assistant", text="Like so:", calls=(call("e1", written="?"),))
    seen, _ = Trial().ask(asking(SYSTEM, TASK, example, result("e1"), TASK))
    assert (seen.results, seen.calls) == ((), ())
    shown = [message.text for _, message in seen.fresh][2:4]
    assert shown[0][0] == {"type": "text", "text": "Like so:"}
    assert shown[0][1] == {
        "type": "tool_call",
        "id": "e1",
        "name": "bash",
        "arguments": {"command": "ls"},
        "written": "?",
    }
    assert shown[1] == [{"type": "tool_result", "id": "e1", "ok": None, "content": "a"}]
    assert [message.calls for _, message in seen.fresh] == [()] * 5


def test_a_failed_call_that_is_made_again_is_a_retry() -> None:
    """Retries would be counted as turns, and turns as retries."""
    trial = Trial()
    assert trial.ask(asking(TASK))[0].retry_of is None
    assert trial.ask(asking(TASK, model="m"), answer("Hm", complete=False))[0].retry_of == "c1"
    seen, answered = trial.ask(asking(TASK, temperature=0), answer("Yes"))
    assert (seen.retry_of, seen.known, texts(seen), answered.turn) == ("c2", 1, [], 1)
    assert trial.ask(asking(TASK), answer("Yes"))[0].retry_of is None
    cut = Message(role="user", text="Your response was cut off. Go on.")
    assert (
        trial.ask(asking(TASK, echo(answer("Hm")), cut), answer("More", error={"message": "x"}))[0].retry_of
        is None
    )
    assert trial.ask(asking(TASK, echo(answer("Hm")), cut))[0].retry_of == "c5"


def test_calls_of_a_cut_answer_count_when_they_are_made() -> None:
    """A call that no harness carried out would count as one, or one that was carried out would not."""
    trial = Trial()
    given = answer("I look.", call("t1"), complete=False)
    _, answered = trial.ask(asking(TASK), given)
    assert (answered.calls, answered.ids, answered.turn) == ((), (), None)
    assert answered.message is not None
    assert answered.message[1].text[1]["name"] == "bash"
    seen, answered = trial.ask(asking(TASK, echo(given), result("t1")), answer("Done."))
    assert [(each.call.id, each.turn) for each in seen.calls] == [("t1", 1)]
    assert (joined(seen), answered.turn) == ([("t1", "bash", "a")], 2)


def test_the_same_answer_in_the_same_place_is_told_once() -> None:
    """A harness that asks again after a lost answer would seem to call its tools twice."""
    trial = Trial()
    first = trial.ask(asking(TASK), answer("I look.", call("t1"), complete=False))[1]
    assert first.message is not None
    whole = trial.ask(asking(TASK), answer("I look.", call("t1")))[1]
    assert (told(whole), whole.message, whole.turn) == ([("t1", "ls", 1)], None, 1)
    again = trial.ask(asking(TASK), answer("I look.", call("t1")))[1]
    assert (again.calls, again.message, again.turn, again.ids) == ((), None, None, ("t1",))


def test_auxiliary_calls_are_told_from_turns() -> None:
    """Titles and probes would count as turns of the agent."""
    title = asking(Message(role="user", text="Name this: Fix it."), tools=())
    title = msgspec.structs.replace(title, model="test-model")
    trial = Trial(model="lab/test-model")
    assert trial.ask(title)[0].auxiliary is None  # nothing tells it yet
    assert trial.ask(asking(TASK, model="test-model[1m]"), answer("", call("t1")))[0].auxiliary is None
    seen, answered = trial.ask(title, answer("Fixing"))
    assert (seen.auxiliary, answered.turn) == ("no_tools", None)
    assert trial.ask(asking(TASK, model="small-model"))[0].auxiliary == "other_model"
    probe = asking(Message(role="user", text="quota"), tools=(), max_tokens=1, model="other")
    assert trial.ask(probe)[0].auxiliary == "probe"
    assert (
        trial.ask(asking(TASK, model="test-model"), auxiliary="count_tokens")[0].auxiliary == "count_tokens"
    )
    early, unnamed = Trial(offers_tools=True), Trial()
    assert [unnamed.ask(asking(TASK, model=name))[0].auxiliary for name in ("m", "n")] == [
        None,
        "other_model",
    ]
    assert early.ask(title)[0].auxiliary == "no_tools"


def test_a_summary_at_the_limit_is_a_turn() -> None:
    """The final answer of a harness that is at its limit would be none: it asks for it without tools."""
    trial = Trial()
    given = answer("", call("t1"))
    trial.ask(asking(TASK), given)
    seen, answered = trial.ask(asking(TASK, echo(given), result("t1"), tools=()), answer("In short: done."))
    assert (seen.auxiliary, answered.turn) == (None, 2)
    plain = Trial()
    assert [plain.ask(asking(TASK, tools=()), answer("x"))[0].auxiliary for _ in range(2)] == [None, None]


def test_what_only_an_auxiliary_call_said_is_new_to_a_turn() -> None:
    """The turns could not be read without the calls that count tokens or ask for titles."""
    trial = Trial()
    seen, _ = trial.ask(asking(SYSTEM, TASK), auxiliary="count_tokens")
    assert texts(seen) == ["Be brief.", "Fix it."]
    given = answer("", call("t1"))
    seen, _ = trial.ask(asking(SYSTEM, TASK), given)
    assert (texts(seen), seen.known) == (["Be brief.", "Fix it."], 0)
    history = (SYSTEM, TASK, echo(given), result("t1"))
    seen, _ = trial.ask(asking(*history), auxiliary="count_tokens")
    assert (texts(seen), joined(seen), seen.known) == ([], [("t1", "bash", "a")], 3)
    seen, _ = trial.ask(asking(*history), answer("Done."))
    assert (texts(seen), joined(seen), seen.known) == ([], [], 3)


def test_tools_are_told_once_for_every_set() -> None:
    """Their definitions would be in the record with every request, or a change of them nowhere."""
    trial = Trial()
    more = (*BASH, Tool(name="read", definition={"name": "read"}))
    told = [trial.ask(asking(TASK, tools=tools))[0] for tools in (BASH, BASH, more, BASH, ())]
    assert [each.tools_new for each in told] == [True, False, True, False, False]
    assert told[0].tools == told[1].tools == told[3].tools != told[2].tools
    assert told[4].tools is None


def test_a_conversation_may_go_on_from_a_stored_response() -> None:
    """A client that names the response before sends the new items only: they would begin a conversation."""
    trial = Trial()
    given = answer("", call("t1"), id="resp_1")
    first, answered = trial.ask(asking(SYSTEM, TASK), given)
    seen, _ = trial.ask(asking(result("t1"), previous_response_id="resp_1"), answer("Done.", id="resp_2"))
    assert (joined(seen), seen.known, seen.prefix) == (
        [("t1", "bash", "a")], 3, module._chained(first.context, answered.key or "")
    )  # fmt: skip
    more = Message(role="user", text="Go on.")
    again, _ = trial.ask(asking(more, previous_response_id="resp_2"), answer("Yes.", id="resp_3"))
    assert texts(again) == ["Go on."]
    again, _ = trial.ask(asking(more, previous_response_id="resp_3"))
    assert texts(again) == ["Go on."]
    assert trial.ask(asking(TASK, previous_response_id="unknown"))[0].prefix == BEGINNING


def recorded_bytes(seen: Seen, answered: Told) -> int:
    """The size of what a call puts into the record."""
    parts = [seen.added, seen.fresh, seen.results, seen.calls, answered.message, answered.calls, answered.ids]
    return len(msgspec.json.encode(parts))


def run_of(turns: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Bytes for the record and digests made in a conversation of so many turns."""
    digests = 0

    class Counting:
        """SHA-256 that is counted."""

        @staticmethod
        def sha256(content: bytes) -> Any:
            nonlocal digests
            digests += 1
            return hashed(content)

    hashed = module.hashlib.sha256
    trial, history, size = Trial(), [SYSTEM, TASK], 0
    with monkeypatch.context() as patched:
        for place in ("hemra.gateway.conversation.hashlib", "hemra.gateway.normal.hashlib"):
            patched.setattr(place, Counting)
        for turn in range(turns):
            given = answer(f"Step {turn:04}. ", call(f"t{turn:04}", "x" * 200))
            # Decoded anew every time, as it comes from a harness: nothing is the same object.
            seen, answered = trial.ask(
                msgspec.json.decode(msgspec.json.encode(asking(*history)), type=Request), given
            )
            size += recorded_bytes(seen, answered)
            back = msgspec.structs.replace(echo(given), text=given.text.rstrip())
            history += [back, result(f"t{turn:04}", "y" * 400)]
    return size, digests


def test_the_record_grows_as_the_conversation_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation of 200 turns would fill the disk: sent are 200 times its half, recorded is it once."""
    (half, few), (whole, many) = run_of(100, monkeypatch), run_of(200, monkeypatch)
    assert whole < 2.05 * half
    assert whole < 200 * 1600
    assert many < 2.05 * few + 200 * 4  # and the digest of a system message's context with every request
    assert many < 200 * 8


replies = st.lists(
    st.tuples(
        st.sampled_from(["", "On it. ", "Hm"]),
        st.lists(
            st.tuples(st.sampled_from(["call_0", "", "own"]), st.sampled_from(["ls", "id"])), max_size=2
        ),
        st.sampled_from(["same", "cut", "retried", "counted", "sub"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(replies=replies)
def test_whatever_happens_every_result_joins_its_call_once(replies: list[Any]) -> None:
    """Ids that are used twice, retries, probes and re-rendering together would mix up what belongs together."""
    trial = Trial(model="m")
    history: list[Message] = [SYSTEM, TASK]
    keys: dict[str, list[str]] = {BEGINNING: []}
    expected, returned, sent = [], [], 0

    def ask(messages: list[Message], given: Answer | None = None, **options: Any) -> tuple[Seen, Told]:
        seen, answered = trial.ask(asking(*messages), given, **options)
        for each in seen.results:
            returned.append((each.call, each.result))
        listed = [*keys[seen.prefix], *seen.added]
        assert len(keys[seen.prefix]) == seen.known
        assert len(listed) == seen.messages == len(messages)
        for end in range(len(listed) + 1):
            keys.setdefault(chained(listed[:end]), listed[:end])
        assert chained(listed) == seen.context
        if answered.key:
            keys.setdefault(chained([*listed, answered.key]), [*listed, answered.key])
        return seen, answered

    for number, (text, made, event, rendered) in enumerate(replies):
        calls = [
            call(f"own{number}.{n}" if wire == "own" else wire, command)
            for n, (wire, command) in enumerate(made)
        ]
        given = answer(text or ("" if calls else "Yes"), *calls)
        if event in ("cut", "retried"):
            ask(history, answer("Working on", complete=False) if event == "cut" else None)
        if event == "counted":
            ask(history, auxiliary="count_tokens")
        if event == "sub":
            ask([SYSTEM, Message(role="user", text=f"Search {number}")], answer("", call("call_0", "sub")))
        _, answered = ask(history, given)
        back = echo(given)
        history.append(
            msgspec.structs.replace(back, text=(back.text or "").rstrip() or None) if rendered else back
        )
        for called, wire in zip(answered.calls, calls, strict=True):
            history.append(result(wire.id, f"r{sent}"))
            expected.append((called.call.id, f"r{sent}"))
            sent += 1
    ask(history, answer("Done."))
    assert returned == expected
    assert len({name for name, _ in expected}) == len(expected)


def chained(listed: list[str]) -> str:
    """The context of a conversation of these keys."""
    context = BEGINNING
    for key in listed:
        context = module._chained(context, key)
    return context
