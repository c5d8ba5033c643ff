"""The client's side of ACP: what it says and when, what it reads, and what it makes of an agent that plays no part."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventlog.schemas.runs import Limits
from harnesses.acp.client import AcpClient
from harnesses.base import Dialogue, Launch
from harnesses.mcp import McpServer
from tests.harnesses.acp_messages import (
    SESSION,
    WORKSPACE,
    ask,
    chunk,
    client,
    done,
    hear,
    hello,
    may_i,
    opened,
    refusal,
    reply,
    said,
    talk,
    update,
)
from tests.harnesses.adapters import (
    as_data,
    calls,
    lines,
    messages,
    notes,
    results,
    same_in_any_pieces,
    sample,
    survives,
)

ASKS = ["allow_once", "allow_always", "reject_once", "reject_always"]
AGENTS = ("claude-agent-acp", "codex-acp", "hermes-acp", "opencode-acp", "pi-acp")


def test_it_says_one_thing_after_the_other() -> None:
    """An agent that is prompted before its session is there has nothing to answer in."""
    made = client()
    assert isinstance(made, Dialogue)
    (first,) = said(made)
    assert first["method"] == "initialize"
    assert first["params"]["protocolVersion"] == 1
    assert first["params"]["clientCapabilities"] == {
        "fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False,
    }  # fmt: skip
    assert said(made) == []
    hear(made, hello())
    (second,) = said(made)
    assert (second["method"], second["params"]) == ("session/new", {"cwd": WORKSPACE, "mcpServers": []})
    assert not made.ready
    hear(made, opened())
    (third,) = said(made)
    assert third["method"] == "session/prompt"
    assert third["params"] == {
        "sessionId": SESSION, "prompt": [{"type": "text", "text": "Say hello to Zoë ☕."}],
    }  # fmt: skip
    assert (made.ready, made.ended) == (True, False)
    hear(made, chunk("Hello"), done())
    assert (made.ended, said(made)) == (True, [])


def test_an_instruction_of_any_characters_is_sent_as_json() -> None:
    """A lone surrogate, or a line end in the wrong place, would break the line that the task stands on."""
    made = client(trial={"instruction": "a\nb\u2028c\ud800 \U0001f600"})
    hear(made, hello(), opened())
    text = said(made)[-1]["params"]["prompt"][0]["text"]
    assert text.startswith("a\nb\u2028c")
    assert text.endswith(" \U0001f600")
    assert "\ud800" not in text


def test_messages_thoughts_and_calls_become_events() -> None:
    """A conversation that is told only here would be lost, or be in pieces."""
    events, conclusion = talk(
        client(), hello(), opened(),
        chunk("I ", "agent_thought_chunk"), chunk("think", "agent_thought_chunk"),
        chunk("Let me ", messageId="m1"), chunk("see.", messageId="m1"),
        update("tool_call", toolCallId="c1", title="ls", kind="execute", status="pending", rawInput={}),
        update("tool_call_update", toolCallId="c1", status="in_progress", rawInput={"command": "ls"}),
        update("tool_call_update", toolCallId="c1", status="completed", rawOutput="a.txt"),
        chunk("There is ", messageId="m2"), update("usage_update", used=5, size=10), chunk("a.txt", messageId="m2"),
        done(),
    )  # fmt: skip
    assert messages(events) == [
        ("assistant", "Let me see.", "I think", False), ("assistant", "There is a.txt", None, True),
    ]  # fmt: skip
    assert calls(events) == [("c1", "terminal", {"command": "ls"}, None)]
    assert results(events) == [("c1", "terminal", True, "a.txt")]
    assert (conclusion.outcome, conclusion.final_text, conclusion.flags) == (None, "There is a.txt", [])


@pytest.mark.parametrize("agent", AGENTS)
def test_a_real_agents_words_are_read(agent: str) -> None:
    """An agent at the version that it was made for would be read wrongly: its call, its answer, its sums."""
    mode = {
        "claude-agent-acp": "bypassPermissions",
        "codex-acp": "agent-full-access",
        "hermes-acp": "dont_ask",
    }
    made = client(mode=mode.get(agent))
    events = made.feed("stdout", sample(f"acp.{agent}.jsonl"))
    rest, conclusion = made.finish(0, None)
    told = events + rest
    assert (conclusion.outcome, conclusion.unrecognised) == (None, 0)
    assert (conclusion.final_text or "").strip() == "hello-fjord-137030"
    ((_, name, _, _),) = calls(told)
    assert name in ("terminal", "bash", "Bash", "exec_command")
    ((_, _, ok, result),) = results(told)
    assert ok is True
    assert "hello-fjord-137030" in json.dumps(result)
    said_first = next(text for _, text, _, _ in messages(told) if not text.startswith("Warning:"))
    assert said_first == "I source the script and echo the variable."
    usage = conclusion.usage
    assert (usage is None) == (agent == "pi-acp")
    if usage is not None:
        assert (usage.output_tokens or 0) > 0


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"totalTokens": 2580, "inputTokens": 468, "outputTokens": 112, "cachedReadTokens": 2000,
          "cachedWriteTokens": 0}, (2468, 2000, 0, 112, None)),
        ({"totalTokens": 2580, "inputTokens": 2468, "outputTokens": 112, "thoughtTokens": 14, "cachedReadTokens": 2000},
         (2468, 2000, None, 112, 14)),
        ({"totalTokens": 1290, "inputTokens": 234, "outputTokens": 49, "thoughtTokens": 7, "cachedReadTokens": 1000},
         (1234, 1000, None, 56, 7)),
        ({"totalTokens": 10, "inputTokens": 4, "outputTokens": 6}, (4, None, None, 6, None)),
        ({"totalTokens": 999, "inputTokens": 4, "outputTokens": 6}, None),
        ({"inputTokens": 4, "outputTokens": 6}, None),
        ({"totalTokens": "10", "inputTokens": -4, "outputTokens": 6}, None),
    ],
)  # fmt: skip
def test_sums_are_brought_into_one_form(told: dict[str, Any], expected: tuple[int, ...] | None) -> None:
    """The same call would cost another sum by every agent: whether cached tokens are in the input, each has its way."""
    _, conclusion = talk(client(), hello(), opened(), chunk("x"), done(usage=told))
    usage = conclusion.usage
    got = usage and (
        usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens,
        usage.reasoning_tokens,
    )  # fmt: skip
    assert got == expected
    assert ("bad_usage" in conclusion.flags) == (expected is None)


@pytest.mark.parametrize(
    ("reason", "outcome", "flag"),
    [
        ("end_turn", None, None),
        ("max_tokens", None, "answer_cut_at_length"),
        ("refusal", None, "refusal"),
        ("max_turn_requests", "turn_limit", None),
        ("cancelled", "harness_error", None),
        ("error", "harness_error", None),
        (None, "harness_error", None),
        (7, "harness_error", None),
    ],
)
def test_the_end_of_a_turn_has_a_meaning(reason: Any, outcome: str | None, flag: str | None) -> None:
    """An agent at its limit, or in an error of its own, would count as one whose model failed the task."""
    _, conclusion = talk(client(), hello(), opened(), chunk("x"), done(reason=reason))
    assert conclusion.outcome == outcome
    assert conclusion.flags == ([flag] if flag else [])
    if outcome == "harness_error":
        assert (
            str(reason) in (conclusion.reason or "")
            or "cancelled" in (conclusion.reason or "")
            or reason is None
        )


def test_what_comes_after_the_end_belongs_to_the_turn() -> None:
    """The last words of some agents come after the reply: an answer without its end would be judged."""
    events, conclusion = talk(
        client(), hello(), opened(), update("tool_call", toolCallId="c", title="t", status="in_progress"),
        chunk("The answer"), done(), chunk(" is 42"), update("tool_call_update", toolCallId="c", status="completed"),
        update("session_info_update", title="t"),
    )  # fmt: skip
    assert conclusion.final_text == "The answer is 42"
    assert conclusion.flags == ["late_updates"]
    assert len(results(events)) == 1


def test_what_comes_before_the_session_is_there_is_read() -> None:
    """An update that overtakes the answer to `session/new` would be lost."""
    events, _ = talk(client(), hello(), chunk("early "), opened(), chunk("late"), done())
    assert "".join(text for _, text, _, _ in messages(events)) == "early late"


def test_another_sessions_words_are_not_the_agents_own() -> None:
    """A helper's chatter would be taken for the answer."""
    _, conclusion = talk(
        client(), hello(), opened(), chunk("mine"),
        update("agent_message_chunk", "s-2", content={"type": "text", "text": "no"}), done(),
    )  # fmt: skip
    assert conclusion.final_text == "mine"


def test_unknown_things_are_counted_and_kept() -> None:
    """A new version's new updates would vanish, or be taken for an agent that is not understood."""
    events, conclusion = talk(
        client(), hello(), opened(), update("brand_new", x=1), {"method": "_auth/status", "params": {}},
        update("agent_message_chunk", content={"type": "image", "data": "…"}), chunk("x"), done(),
    )  # fmt: skip
    assert notes(events)["acp_unknown"] == ["session/update/brand_new", "_auth/status", "content/image"]
    assert (conclusion.unrecognised, conclusion.outcome) == (0, None)
    many = [update(f"kind-{number}") for number in range(300)]
    events, _ = talk(client(), hello(), opened(), *many, chunk("x"), done())
    assert len(notes(events)["acp_unknown"]) == 100


@pytest.mark.parametrize(
    ("trial", "call", "answer"),
    [
        ({}, {"kind": "execute", "title": "rm -rf /"}, "allow_once!"),
        ({"forbidden_tools": ["terminal"]}, {"kind": "execute", "title": "ls"}, "reject_once!"),
        ({"forbidden_tools": ["terminal"]}, {"kind": "edit", "title": "a.txt"}, "allow_once!"),
        ({"allowed_tools": ["terminal"]}, {"kind": "edit", "title": "a.txt"}, "reject_once!"),
        ({"allowed_tools": ["patch"]}, {"kind": "edit", "title": "a.txt"}, "allow_once!"),
        ({"allowed_tools": ["terminal"]}, {"kind": "think", "title": "hm"}, "reject_once!"),
        ({"forbidden_tools": ["terminal"]}, {"kind": "other", "title": "hm"}, "allow_once!"),
        ({"forbidden_tools": ["patch"]}, {"kind": "edit", "name": "Edit", "title": "a"}, "reject_once!"),
        ({"forbidden_tools": ["patch"]}, {"kind": "edit", "name": "Write", "title": "a"}, "allow_once!"),
        ({"allowed_tools": ["mcp__a__b"]}, {"kind": "other", "name": "mcp__a__b", "title": "b"}, "allow_once!"),
        ({"forbidden_tools": ["mcp__a__b"]}, {"kind": "other", "name": "mcp__a__b", "title": "b"}, "reject_once!"),
    ],
)  # fmt: skip
def test_permission_is_given_as_the_task_says(
    trial: dict[str, Any], call: dict[str, Any], answer: str
) -> None:
    """A tool that the task forbids would be allowed, or one that it allows refused."""
    made = client(trial=trial, tools={"patch": ("Edit",), "write_file": ("Write",), "terminal": ("Bash",)})
    hear(made, hello(), opened())
    said(made)
    events = hear(made, may_i("q-1", ASKS, toolCallId="c", **call))
    (told,) = said(made)
    assert told == {"jsonrpc": "2.0", "id": "q-1",
                    "result": {"outcome": {"outcome": "selected", "optionId": answer}}}  # fmt: skip
    (note,) = notes(events)["permission"]
    assert answer in note
    assert ("permission_denied" in made.flags) == answer.startswith("reject")


def test_permission_goes_by_what_was_told_of_the_call_before() -> None:
    """A request that names a call by its id alone would be answered for a tool that nobody knows."""
    made = client(trial={"forbidden_tools": ["terminal"]})
    hear(
        made,
        hello(),
        opened(),
        update("tool_call", toolCallId="c", title="ls", kind="execute", status="pending"),
    )
    said(made)
    events = hear(made, may_i(0, ASKS, toolCallId="c"))
    assert said(made)[0]["result"]["outcome"]["optionId"] == "reject_once!"
    assert [name for _, name, _, _ in calls(events)] == ["terminal"]


@pytest.mark.parametrize(
    ("kinds", "chosen"), [(["allow_always"], "allow_always!"), (["reject_once"], None), ([], None)]
)
def test_a_permission_without_the_right_option_is_answered_all_the_same(
    kinds: list[str], chosen: str | None
) -> None:
    """An agent that gets no answer waits for it until its time is up."""
    made = client()
    hear(made, hello(), opened())
    said(made)
    hear(made, may_i(1, kinds, toolCallId="c", kind="execute"))
    outcome = said(made)[0]["result"]["outcome"]
    assert outcome == ({"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"})


def test_what_was_not_offered_is_refused_and_told() -> None:
    """An agent that uses files or terminals of its client would wait for ever, or work outside its sandbox."""
    made = client()
    hear(made, hello(), opened())
    said(made)
    wanted = [ask(5, "fs/read_text_file", path="/x"), ask("t", "terminal/create"), ask(None, "_vendor/new"),
              ask(6, "session/request_permission", nonsense=True)]  # fmt: skip
    events = hear(made, *wanted)
    assert [(each["id"], each["error"]["code"]) for each in said(made)] == [
        (5, -32601), ("t", -32601), (None, -32601), (6, -32602),
    ]  # fmt: skip
    assert len(notes(events)["acp_refused"]) == 3


def modes(*ids: str) -> dict[str, Any]:
    """What `session/new` says of modes."""
    return {"currentModeId": ids[0], "availableModes": [{"id": each, "name": each} for each in ids]}


def option(category: str, *values: str) -> dict[str, Any]:
    """What it says of a choice in the newer way, values in a group."""
    group = {"group": "g", "name": "g", "options": [{"value": each, "name": each} for each in values]}
    return {"id": f"the-{category}", "category": category, "type": "select", "currentValue": values[0],
            "options": [group]}  # fmt: skip


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        ({"modes": modes("ask", "free")}, ("session/set_mode", {"sessionId": SESSION, "modeId": "free"})),
        ({"configOptions": [option("mode", "ask", "free")]},
         ("session/set_config_option", {"sessionId": SESSION, "configId": "the-mode", "value": "free"})),
    ],
)  # fmt: skip
def test_a_mode_is_chosen_before_the_task_is_given(
    session: dict[str, Any], expected: tuple[str, Any]
) -> None:
    """An agent would ask before every step, or its maker's server whether it may."""
    made = client(mode="free")
    hear(made, hello(), opened(**session))
    told = said(made)[-1]
    assert (told["method"], told["params"]) == expected
    hear(made, reply(told["id"], {}))
    assert said(made)[-1]["method"] == "session/prompt"


def test_a_model_is_chosen_in_the_old_way_and_the_new() -> None:
    """An agent would be compared under the name of a model that it does not use."""
    old = {
        "currentModelId": "a",
        "availableModels": [{"modelId": "a", "name": "a"}, {"modelId": "b", "name": "b"}],
    }
    for session, method in (({"models": old}, "session/set_model"),
                            ({"configOptions": [option("model", "a", "b")]}, "session/set_config_option")):  # fmt: skip
        made = client(model="b")
        hear(made, hello(), opened(**session))
        assert said(made)[-1]["method"] == method


@pytest.mark.parametrize(
    "session", [{}, {"modes": modes("ask", "plan")}, {"modes": 7, "configOptions": ["x"]}]
)
def test_a_mode_that_is_not_offered_is_an_error_that_names_those_that_are(session: dict[str, Any]) -> None:
    """The trial would run in another mode than its harness file says."""
    _, conclusion = talk(client(mode="free"), hello(), opened(**session))
    assert conclusion.outcome == "harness_error"
    assert "no mode 'free'" in (conclusion.reason or "")
    assert ("ask, plan" in (conclusion.reason or "")) == (session.get("modes") not in (None, 7))


SERVERS = {
    "calc": McpServer(command="/bin/calc", args=("--x",), env={"K": "v"}),
    "web": McpServer(url="http://127.0.0.1:1/mcp", headers={"A": "b"}),
    "old": McpServer(url="http://127.0.0.1:1/sse", transport="sse"),
}


def test_mcp_servers_go_with_the_session() -> None:
    """A server that is named nowhere is a task without its tools."""
    made = client(servers=SERVERS)
    hear(made, hello(mcpCapabilities={"http": True, "sse": True}))
    assert said(made)[-1]["params"]["mcpServers"] == [
        {"name": "calc", "command": "/bin/calc", "args": ["--x"], "env": [{"name": "K", "value": "v"}]},
        {
            "type": "http",
            "name": "web",
            "url": "http://127.0.0.1:1/mcp",
            "headers": [{"name": "A", "value": "b"}],
        },
        {"type": "sse", "name": "old", "url": "http://127.0.0.1:1/sse", "headers": []},
    ]


@pytest.mark.parametrize("taken", [{}, {"mcpCapabilities": {"http": False}}, {"mcpCapabilities": 3}])
def test_a_server_that_the_agent_cannot_take_is_named(taken: dict[str, Any]) -> None:
    """A task would be run without the tools that it is about, and count as failed."""
    _, conclusion = talk(client(servers=SERVERS), hello(**taken))
    assert conclusion.outcome == "harness_error"
    assert "'web'" in (conclusion.reason or "")


@pytest.mark.parametrize(
    ("code", "message", "more", "outcome"),
    [
        (-32000, "Authentication required", {}, "auth_error"),
        (-32000, "Please log in", {}, "auth_error"),
        (-32603, "Internal error", {"data": {"message": "401 Incorrect API key provided"}}, "auth_error"),
        (-32603, "You exceeded your current quota", {}, "quota_error"),
        (-32603, "HTTP 503: overloaded", {}, "provider_error"),
        (-32603, "Cannot read properties of undefined", {}, "harness_error"),
        (None, None, {}, "harness_error"),
    ],
)
def test_an_error_in_the_place_of_an_answer_is_told_for_what_it_is(
    code: Any, message: Any, more: dict[str, Any], outcome: str
) -> None:
    """A key that was refused would count as a task that was failed."""
    events, conclusion = talk(client(), hello(), opened(), chunk("half"), refusal(3, code, message, **more))
    assert conclusion.outcome == outcome
    assert conclusion.final_text is None or outcome == "auth_error"
    assert notes(events)["harness_error"]


def test_an_answer_that_was_cut_too_often_is_its_models_work() -> None:
    """A model that talks itself into its limit would cost the agent the trial."""
    error = {"data": {"errorKind": "max_output_tokens"}}
    _, conclusion = talk(
        client(), hello(), opened(), chunk("so"), refusal(3, -32603, "Internal error", **error)
    )
    assert (conclusion.outcome, conclusion.final_text) == (None, "so")
    assert "answer_cut_at_length" in conclusion.flags


@pytest.mark.parametrize("step", [1, 2])
def test_an_agent_that_wants_a_login_says_so(step: int) -> None:
    """Who has to log in first would look for a fault of the task."""
    before = [hello()][: step - 1]
    _, conclusion = talk(client(), *before, refusal(step, -32000, "Authentication required"))
    assert conclusion.outcome == "auth_error"
    assert "login" in (conclusion.reason or "") or "Authentication" in (conclusion.reason or "")


@pytest.mark.parametrize("version", [0, 2, "1", None, True, 1.5])
def test_another_version_of_the_protocol_is_no_failed_task(version: Any) -> None:
    """What an agent of the next version does would count as if it had been asked in its own words."""
    made = client()
    _, conclusion = talk(made, hello(version))
    assert (conclusion.outcome, conclusion.flags[:2]) == ("unknown", ["other_protocol", "adapter_mismatch"])
    assert len(said(made)) == 1


def test_garbage_is_kept_and_does_not_stop_the_reading() -> None:
    """An agent that logs to stdout would be one that says nothing."""
    made = client()
    events = made.feed(
        "stdout", b'starting up...\n\x1b[1m{"jsonrpc": 1}\n[1,2]\n' + lines(hello()) + b"\xff\xfe\n"
    )
    events += made.feed("stdout", b"WARN x\n" + lines(opened(), chunk("x"), done()))
    rest, conclusion = made.finish(0, None)
    assert (conclusion.outcome, conclusion.final_text) == (None, "x")
    assert conclusion.unrecognised == 5
    assert len(notes(events + rest)["harness_raw"]) == 5


@pytest.mark.parametrize(
    ("messages_", "code", "signal", "outcome", "word"),
    [
        ([], 0, None, "unknown", "nothing"),
        ([], 3, None, "harness_error", "3"),
        ([hello()], 0, None, "harness_error", "session/new"),
        ([hello(), opened(), chunk("half")], 0, None, "harness_error", "session/prompt"),
        ([hello(), opened(), chunk("half")], 1, None, "harness_error", "1"),
        ([hello(), opened(), chunk("half")], None, 11, "harness_error", "11"),
        ([hello(), opened()], None, None, None, ""),
    ],
)  # fmt: skip
def test_an_agent_that_goes_away_has_failed_by_itself(
    messages_: list[Any], code: int | None, signal: int | None, outcome: str | None, word: str
) -> None:
    """An agent that dies in mid-turn would be scored as one that was done; one that we ended would be blamed."""
    made = client()
    hear(made, *messages_)
    _, conclusion = made.finish(code, signal)
    assert conclusion.outcome == outcome
    assert word in (conclusion.reason or "")


def test_one_that_does_not_get_ready_is_given_up_by_name() -> None:
    """Silence would be told as a task that took too long."""
    made = client(limits=Limits(wall_seconds=10.0))
    assert made.patience == 5.0
    made.give_up()
    _, conclusion = made.finish(None, None)
    assert (conclusion.outcome, conclusion.reason) == (
        "harness_error",
        "it did not answer 'initialize' within 5 s",
    )
    later = client()
    hear(later, hello())
    later.give_up()
    assert "'session/new'" in (later.reason or "")


def test_a_cancel_is_sent_while_it_works_and_never_else() -> None:
    """An agent would be told of a turn that it does not have; its own word that it stopped would be a failure."""
    made = client()
    made.cancel()
    assert [each["method"] for each in said(made)] == ["initialize"]
    hear(made, hello(), opened())
    said(made)
    made.cancel()
    assert said(made) == [{"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": SESSION}}]
    _, conclusion = talk(made, chunk("so far"), done(reason="cancelled"), exit_code=None)
    assert (conclusion.outcome, conclusion.reason) == (None, None)
    made.cancel()
    assert said(made) == []


def test_replies_to_nothing_are_no_answers() -> None:
    """A second reply, or one to a request of somebody else, would move the dialogue on."""
    made = client()
    hear(made, reply(2, {"sessionId": "x"}), reply(True, {}), reply("1", {}), reply([1], {}), reply(1.0, {}))
    assert [each["method"] for each in said(made)] == ["initialize"]
    hear(made, hello(), hello())
    assert [each["method"] for each in said(made)] == ["session/new"]
    assert made.unrecognised == 6


def test_a_client_that_was_told_nothing_reads_all_the_same() -> None:
    """Tools that read the output of an agent without having started it would fail."""
    made = AcpClient()
    assert (made.ended, made.ready, made.say()) == (False, False, b"")
    _, conclusion = talk(made, hello(), chunk("x"), done())
    assert conclusion.unrecognised == 2
    with pytest.raises(TypeError, match="briefed"):
        made.begin(Launch(argv=["x"]))


def test_many_pieces_take_linear_time() -> None:
    """An agent that streams letter by letter would hold up the trials beside it."""
    made = client()
    hear(made, hello(), opened())
    piece = lines(chunk("0123456789"))
    for _ in range(100):
        made.feed("stdout", piece * 200)
    _, conclusion = talk(made, done())
    assert len(conclusion.final_text or "") == 200_000


@pytest.mark.parametrize("agent", AGENTS)
def test_chunks_may_fall_anywhere(agent: str) -> None:
    """Output comes in pieces of any size; what is read must not depend on them."""
    same_in_any_pieces(client, sample(f"acp.{agent}.jsonl"), 11)


@pytest.mark.parametrize("agent", AGENTS)
def test_it_survives_whatever_becomes_of_its_lines(agent: str) -> None:
    """A value of another type in one message must not end the reading."""
    survives(client, sample(f"acp.{agent}.jsonl"), 12)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
MESSAGE = st.one_of(
    st.fixed_dictionaries({"id": st.integers(0, 5) | JSON, "result": JSON}),
    st.fixed_dictionaries({"id": st.integers(0, 5), "error": JSON}),
    st.fixed_dictionaries(
        {
            "method": st.sampled_from(["session/update", "session/request_permission", "fs/x", "x"]),
            "params": JSON,
        },
        optional={"id": JSON},
    ),
    st.builds(
        lambda kind, more: update(kind, **{key: value for key, value in more.items() if key.isidentifier()}),
        st.sampled_from(["tool_call", "tool_call_update", "agent_message_chunk", "plan", "x"]),
        st.dictionaries(
            st.sampled_from(
                ["toolCallId", "content", "status", "rawInput", "_meta", "title", "kind", "name"]
            ),
            JSON,
        ),
    ),
    st.sampled_from([hello(), opened(), done(), chunk("a"), may_i(1, ASKS, toolCallId="c")]),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(MESSAGE, max_size=8), st.binary(max_size=40), st.lists(st.integers(1, 50), max_size=20))
def test_any_bytes_in_any_pieces_are_read_to_the_same_end(
    told: list[Any], tail: bytes, sizes: list[int]
) -> None:
    """Whatever an agent sends, the client must neither break nor hear something else by the way in which it came."""
    content = b"".join(json.dumps(each).encode() + b"\n" for each in told) + tail
    whole, pieces = client(), client()
    first = whole.feed("stdout", content)
    second = []
    at = 0
    for size in [*sizes, len(content) or 1]:
        second += pieces.feed("stdout", content[at : at + size])
        at += size
    assert whole.say() == pieces.say()
    ends = [made.finish(0, None) for made in (whole, pieces)]
    assert json.dumps(as_data(first + ends[0][0])) == json.dumps(as_data(second + ends[1][0]))
    assert ends[0][1] == ends[1][1]
    assert ends[0][1].outcome in (
        None,
        "unknown",
        "harness_error",
        "auth_error",
        "quota_error",
        "provider_error",
        "turn_limit",
    )
