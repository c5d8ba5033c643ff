"""Requests of harnesses, in every dialect, are read as what they ask, and are changed only where that is wanted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemra.gateway.dialects import by_name, of_path
from hemra.gateway.normal import Message, Request, SamplingWish, ToolCall
from tests.gateway.odd_values import KINDS, WORDS, objects

NAMES = ("chat", "responses", "messages")


def read(name: str, **body: Any) -> Request:
    """What a dialect reads in a body."""
    return by_name(name).read(body)


def messages(name: str, *listed: Any, **body: Any) -> list[Message]:
    """The messages of a body with these."""
    return list(read(name, **{"input" if name == "responses" else "messages": list(listed)}, **body).messages)


def said(role: str, text: Any, **more: Any) -> Message:
    """A message."""
    return Message(role=role, text=text, **more)


def call(
    name: str = "bash", arguments: Any = None, number: str = "1", written: str | None = None
) -> ToolCall:
    """A call, of `ls` where nothing else is said."""
    given = {"command": "ls"} if arguments is None else arguments
    return ToolCall(id=number, name=name, arguments=given, written=written)


def text(value: str, kind: str = "text", **more: Any) -> dict[str, Any]:
    """A content part."""
    return {"type": kind, "text": value, **more}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/chat/completions", "chat"),
        ("/chat/completions/", "chat"),
        ("/openai/deployments/gpt/chat/completions", "chat"),
        ("/v1/responses", "responses"),
        ("/v1/messages", "messages"),
        ("/anthropic/v1/messages", "messages"),
        ("/v1/messages/count_tokens", None),
        ("/v1/threads/t1/messages", None),
        ("/v1/models", None),
        ("/v1/completions", None),
        ("", None),
    ],
)
def test_paths_have_their_dialect(path: str, name: str | None) -> None:
    """A model call would be passed on without a record, or something else read as one."""
    dialect = of_path(path)
    assert (dialect.name if dialect else None) == name


def test_a_name_has_its_dialect() -> None:
    """A recorded call could not be read again; another name is an error, not a guess."""
    assert [by_name(name).name for name in NAMES] == list(NAMES)
    with pytest.raises(KeyError):
        by_name("gemini")


FUNCTION = {"type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}


def test_a_chat_conversation_is_read() -> None:
    """Roles, parts of texts, reasoning, calls and results as Hermes, Pi and mini-swe-agent send them."""
    got = messages(
        "chat",
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [text("Be "), text("kind.", cache_control={"type": "ephemeral"})]},
        {"role": "user", "content": [text("List"), text("files.")]},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Hm",
            "tool_calls": [{"id": "1", **FUNCTION}],
        },
        {"role": "tool", "tool_call_id": "1", "content": [text("a\n"), text("b")]},
        {"role": "assistant", "content": [text("Two "), text("files.")], "tool_calls": []},
    )
    assert got == [
        said("system", "Be brief."),
        said("system", "Be \nkind."),
        said("user", "List\nfiles."),
        said("assistant", None, reasoning="Hm", calls=(call(),)),
        said("tool", "a\n\nb", answers="1"),
        said("assistant", "Two files."),
    ]


def test_chat_calls_are_read_in_every_form() -> None:
    """A freeform call, a legacy one and a broken one would not be known again when they come back."""
    patch = {"id": "2", "type": "custom", "custom": {"name": "apply_patch", "input": "*** Begin"}}
    broken = {"id": "3", "type": "function", "function": {"name": "bash", "arguments": '{"comm'}}
    got = messages(
        "chat",
        {"role": "assistant", "tool_calls": [patch, broken]},
        {"role": "assistant", "content": "", "function_call": {"name": "ls", "arguments": "{}"}},
        {"role": "function", "name": "ls", "content": "a"},
        {"role": "assistant", "content": None, "refusal": "I will not."},
    )
    assert [m.calls for m in got] == [
        (call("apply_patch", "*** Begin", "2", "*** Begin"), call("bash", '{"comm', "3", '{"comm')),
        (call("ls", {}, ""),),
        (),
        (),
    ]
    assert (got[2].role, got[2].answers, got[3].text) == ("tool", "", "I will not.")


def test_parts_that_are_no_text_are_kept_without_cache_marks() -> None:
    """An image would be lost; a mark that moves from turn to turn would make every message a new one."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    marked = image | {"cache_control": {"type": "ephemeral"}}
    assert messages("chat", {"role": "user", "content": [text("See:"), marked]}) == [
        said("user", [text("See:"), image])
    ]
    page = {"type": "search_result", "content": [text("x", cache_control={"type": "ephemeral"})]}
    assert messages("messages", {"role": "user", "content": [page]})[0].text == [
        page | {"content": [text("x")]}
    ]
    block = {"type": "image", "source": {"type": "base64", "data": "AA=="}}
    result = {
        "type": "tool_result",
        "tool_use_id": "1",
        "content": [block | {"cache_control": {"type": "ephemeral"}}],
    }
    assert messages("messages", {"role": "user", "content": [result]}) == [said("tool", [block], answers="1")]


def test_a_codex_conversation_is_read() -> None:
    """Developer items, sealed thoughts, freeform and namespaced calls, and items of one turn, which are one message."""
    sealed = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "sealed"}
    got = messages(
        "responses",
        {"type": "message", "role": "developer", "content": [text("You are a coding agent.", "input_text")]},
        {"role": "user", "content": "Fix it."},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Look"}],
            "encrypted_content": "x",
        },
        {"type": "message", "role": "assistant", "content": [text("I look.", "output_text")]},
        {"type": "function_call", "call_id": "1", "name": "exec_command", "arguments": '{"cmd":"ls"}'},
        {
            "type": "custom_tool_call",
            "call_id": "2",
            "name": "apply_patch",
            "input": "*** Begin",
            "status": "completed",
        },
        {
            "type": "function_call",
            "call_id": "3",
            "name": "search",
            "namespace": "mcp__docs__",
            "arguments": "{}",
        },
        {
            "type": "local_shell_call",
            "call_id": "4",
            "status": "completed",
            "action": {"type": "exec", "command": ["ls"]},
        },
        {"type": "function_call_output", "call_id": "1", "output": "a"},
        {"type": "custom_tool_call_output", "call_id": "2", "output": [text("Done", "input_text")]},
        {"type": "function_call_output", "call_id": "3", "output": {"content": "none", "success": False}},
        sealed,
        instructions="Be brief.",
    )
    shell = {"type": "exec", "command": ["ls"]}
    assert got == [
        said("system", "Be brief."),
        said("system", "You are a coding agent."),
        said("user", "Fix it."),
        said(
            "assistant", "I look.", reasoning="Look",
            calls=(
                call("exec_command", {"cmd": "ls"}), call("apply_patch", "*** Begin", "2", "*** Begin"),
                call("mcp__docs__search", {}, "3"), call("local_shell", shell, "4"),
            ),
        ),
        said("tool", "a", answers="1"),
        said("tool", "Done", answers="2"),
        said("tool", "none", answers="3", ok=False),
        said("assistant", "", reasoning=[sealed]),
    ]  # fmt: skip
    assert list(read("responses", input="Hi").messages) == [said("user", "Hi")]


def test_a_claude_conversation_is_read() -> None:
    """Thinking, results that say that they failed, words beside results, and system messages amid the others."""
    got = messages(
        "messages",
        {"role": "user", "content": [text("<reminder>"), text("Fix it.", cache_control={"type": "ephemeral"})]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Look", "signature": "c2ln"}, text("I look."),
            {"type": "tool_use", "id": "1", "name": "bash", "input": {"command": "ls"}},
            {"type": "tool_use", "id": "2", "name": "bash", "input": {"command": "x"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": "a", "is_error": False},
            {"type": "tool_result", "tool_use_id": "2", "content": [text("not found")], "is_error": True},
            text("Go on."),
        ]},
        {"role": "system", "content": "Be quick."},
        {"role": "user", "content": [text("First."), {"type": "tool_result", "tool_use_id": "3"}]},
        {"role": "assistant", "content": "Done."},
        system=[text("You are an agent.", cache_control={"type": "ephemeral"}), text("Be kind.")],
    )  # fmt: skip
    assert got == [
        said("system", "You are an agent.\nBe kind."),
        said("user", "<reminder>\nFix it."),
        said("assistant", "I look.", reasoning="Look", calls=(call(), call("bash", {"command": "x"}, "2"))),
        said("tool", "a", answers="1", ok=True),
        said("tool", "not found", answers="2", ok=False),
        said("user", "Go on."),
        said("system", "Be quick."),
        said("user", "First."),
        said("tool", None, answers="3"),
        said("assistant", "Done."),
    ]


def test_results_of_a_providers_own_tools_are_results() -> None:
    """A web search stands with its result within the answer: both would be text of the model."""
    found = {"type": "web_search_result", "url": "u"}
    got = messages(
        "messages",
        {"role": "assistant", "content": [
            {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "1", "content": [found]},
            text("Found."),
        ]},
    )  # fmt: skip
    assert got == [
        said("assistant", "Found.", calls=(call("web_search", {"query": "x"}),)),
        said("tool", [found], answers="1"),
    ]


def test_a_check_sum_among_the_system_blocks_is_none_of_the_prompt() -> None:
    """Claude Code's is another one in every request: the whole conversation would be new every time."""
    header = text("x-anthropic-billing-header: cc_version=2.1; cch=a1b2c;")
    request = read("messages", system=[header, text("You are an agent.")], messages=[])
    assert list(request.messages) == [said("system", "You are an agent.")]
    assert request.parameters["x-anthropic-billing-header"] == "cc_version=2.1; cch=a1b2c;"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_known_is_kept(name: str) -> None:
    """A new kind of item would vanish from the record."""
    item = {"type": "hologram", "role": "user", "content": [{"type": "hologram", "data": "x"}]}
    assert messages(name, item)[0].text in ([item], item["content"])
    assert messages(name, "odd", 7) == [said("unknown", "odd"), said("unknown", 7)]


def test_parameters_are_the_rest_of_the_body() -> None:
    """What a harness asked of the decoding would be missing, or the conversation stand in the record twice."""
    common = {"model": "m", "stream": True, "temperature": 0.5, "metadata": {"user_id": "u"}}
    rest = {name: value for name, value in common.items() if name != "model"}
    bodies = {
        "chat": {"messages": [], "tools": [], "functions": []},
        "responses": {"input": [], "tools": [], "instructions": ""},
        "messages": {"messages": [], "tools": [], "system": ""},
    }
    for name, body in bodies.items():
        request = read(name, **common, **body)
        assert (request.model, request.stream, request.parameters) == ("m", True, rest)
        by_name(name).put_sampling(common | body, SamplingWish(temperature=0.0))
        assert request.parameters["temperature"] == 0.5


SHELL = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLBOXES: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"type": "function", "function": {"name": "bash", "parameters": SHELL}},
        {"type": "function", "function": {"name": "web", "parameters": SHELL}},
        {"type": "custom", "custom": {"name": "apply_patch"}},
    ],
    "responses": [
        {"type": "function", "name": "bash", "parameters": SHELL},
        {"type": "web_search"},
        {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}},
        {"type": "namespace", "name": "mcp__docs", "tools": [{"type": "function", "name": n} for n in ("get", "put")]},
    ],
    "messages": [
        {"name": "bash", "input_schema": SHELL, "cache_control": {"type": "ephemeral"}},
        {"name": "web", "input_schema": SHELL},
    ],
}  # fmt: skip
OFFERED = {
    "chat": ["bash", "web", "apply_patch"],
    "responses": ["bash", "web_search", "apply_patch", "mcp__docs__get", "mcp__docs__put"],
    "messages": ["bash", "web"],
}


@pytest.mark.parametrize("name", NAMES)
def test_tools_are_read_with_their_definitions(name: str) -> None:
    """What was offered could not be told; a mark for a cache would make the same tools others."""
    tools = read(name, tools=TOOLBOXES[name]).tools
    assert [tool.name for tool in tools] == OFFERED[name]
    assert "cache_control" not in json.dumps([tool.definition for tool in tools])
    assert '"command"' in json.dumps(tools[0].definition)
    assert [tool.name for tool in read("chat", functions=[{"name": "ls"}]).tools] == ["ls"]


@pytest.mark.parametrize(
    ("name", "sent", "ignored"),
    [
        ("chat", {"temperature": 0.0, "top_p": 0.9, "seed": 7}, ["top_k"]),
        ("responses", {"temperature": 0.0, "top_p": 0.9}, ["top_k", "seed"]),
        ("messages", {"temperature": 0.0, "top_p": 0.9, "top_k": 40}, ["seed"]),
    ],
)
def test_sampling_goes_where_the_dialect_has_a_field(
    name: str, sent: dict[str, Any], ignored: list[str]
) -> None:
    """A provider refuses a field that it does not know; what was not sent would be told as sent."""
    body = {"model": "m", "temperature": 1.0, "max_tokens": 9}
    wish = SamplingWish(temperature=0.0, top_p=0.9, top_k=40, seed=7)
    told = by_name(name).put_sampling(body, wish)
    assert (told[0], sorted(told[1])) == (sent, sorted(ignored))
    assert body == {"model": "m", "max_tokens": 9} | sent
    untouched = {"temperature": 1.0}
    assert by_name(name).put_sampling(untouched, SamplingWish()) == ({}, [])
    assert untouched == {"temperature": 1.0}


@pytest.mark.parametrize("kind", ["enabled", "adaptive"])
def test_sampling_that_thinking_forbids_is_left_out(kind: str) -> None:
    """Every request of the trial would be refused by the provider."""
    body: dict[str, Any] = {"thinking": {"type": kind}}
    wish = SamplingWish(temperature=0.0, top_p=0.5, top_k=1, seed=1)
    sent, ignored = by_name("messages").put_sampling(body, wish)
    assert (sent, sorted(ignored), list(body)) == (
        {},
        ["seed", "temperature", "top_k", "top_p"],
        ["thinking"],
    )
    sent, ignored = by_name("messages").put_sampling(body, SamplingWish(temperature=1.0, top_p=0.95))
    assert (sent, ignored) == ({"temperature": 1.0, "top_p": 0.95}, [])


@pytest.mark.parametrize("name", NAMES)
def test_unwanted_tools_are_taken_out(name: str) -> None:
    """A tool that the task forbids would still be offered."""
    gone = {"web", "web_search", "mcp__docs__put"}
    body: dict[str, Any] = {"tools": json.loads(json.dumps(TOOLBOXES[name])), "tool_choice": "auto"}
    assert set(by_name(name).take_tools_out(body, gone.__contains__)) == gone & set(OFFERED[name])
    left = [each for each in OFFERED[name] if each not in gone]
    assert [tool.name for tool in by_name(name).read(body).tools] == left
    assert body["tool_choice"] == "auto"
    assert by_name(name).take_tools_out(body, gone.__contains__) == []


@pytest.mark.parametrize("name", NAMES)
def test_without_a_tool_nothing_speaks_of_tools(name: str) -> None:
    """Providers refuse an empty list, and a choice without one."""
    body: dict[str, Any] = {
        "tools": TOOLBOXES[name],
        "tool_choice": "required",
        "parallel_tool_calls": True,
        "n": 1,
    }
    assert by_name(name).take_tools_out(body, lambda _: True) == OFFERED[name]
    assert body == {"n": 1}
    legacy: dict[str, Any] = {"functions": [{"name": "ls"}], "function_call": {"name": "ls"}}
    assert by_name("chat").take_tools_out(legacy, lambda _: True) == ["ls"]
    assert legacy == {}


CHOICES: list[tuple[str, Any, Any]] = [
    ("chat", {"type": "function", "function": {"name": "web"}}, None),
    ("chat", {"type": "function", "function": {"name": "bash"}}, "same"),
    (
        "chat",
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": TOOLBOXES["chat"][:2]}},
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": TOOLBOXES["chat"][:1]}},
    ),
    (
        "chat",
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": TOOLBOXES["chat"][1:2]}},
        None,
    ),
    ("responses", {"type": "web_search"}, None),
    ("responses", {"type": "function", "name": "bash"}, "same"),
    ("responses", {"type": "function", "name": "put", "namespace": "mcp__docs"}, None),
    (
        "responses",
        {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [{"type": "function", "name": "bash"}, {"type": "web_search"}],
        },
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "bash"}]},
    ),
    ("messages", {"type": "tool", "name": "web"}, None),
    ("messages", {"type": "any"}, "same"),
]


@pytest.mark.parametrize(("name", "choice", "left"), CHOICES)
def test_a_choice_of_a_removed_tool_goes_with_it(name: str, choice: Any, left: Any) -> None:
    """The provider would refuse a request that forces a tool which it does not have."""
    gone = {"web", "web_search", "mcp__docs__put"}
    body = {"tools": TOOLBOXES[name], "tool_choice": choice}
    by_name(name).take_tools_out(body, gone.__contains__)
    assert body.get("tool_choice") == (choice if left == "same" else left)


FIELDS = [*WORDS, "messages", "tools", "system", "instructions", "tool_choice", "stream", "functions"]
bodies = st.dictionaries(
    st.sampled_from(FIELDS),
    objects | st.lists(st.dictionaries(st.sampled_from(WORDS), objects, max_size=5), max_size=4),
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(NAMES), body=bodies, unwanted=st.sampled_from(["", *KINDS]))
def test_no_body_makes_a_dialect_raise(name: str, body: dict[str, Any], unwanted: str) -> None:
    """A request of a form that nobody expects would not reach its provider."""
    dialect = by_name(name)
    request = dialect.read(body)
    assert all(message.key.startswith("sha256:") for message in request.messages)
    dialect.take_tools_out(body, lambda tool: tool == unwanted)
    dialect.put_sampling(body, SamplingWish(temperature=0.0))
    dialect.read(body)


def test_bodies_nested_without_end_are_read() -> None:
    """The key of such a message would exhaust the stack."""
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    block = {"type": "tool_use", "id": "1", "name": "a", "input": {"x": deep}}
    for name in NAMES:
        for each in messages(
            name, {"role": "user", "content": deep}, {"role": "assistant", "content": [block]}
        ):
            assert each.key


class Refusing(BaseHTTPRequestHandler):
    """Answers every request with one error."""

    status = 400
    body = b""

    def do_POST(self) -> None:
        """Refuse."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def refusing(name: str, status: int) -> Iterator[str]:
    """A server that refuses in a dialect; its address."""
    body = by_name(name).error(status, "budget_exceeded", "the trial's budget of 5 calls is spent")
    handler = type("Handler", (Refusing,), {"status": status, "body": body})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("status", [400, 401, 402, 429, 500])
@pytest.mark.parametrize("name", ["chat", "responses"])
def test_openais_client_shows_the_message(name: str, status: int) -> None:
    """A harness would stop, and its user not know why."""
    openai = pytest.importorskip("openai", reason="needs openai, which is not installed")

    def chat(client: Any) -> None:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])

    with (
        refusing(name, status) as address,
        openai.OpenAI(api_key="dummy", base_url=f"{address}/v1", max_retries=0, timeout=10) as client,
        pytest.raises(openai.APIStatusError) as raised,
    ):
        (chat(client) if name == "chat" else client.responses.create(model="m", input="x"))
    assert "the trial's budget of 5 calls is spent" in str(raised.value)
    assert (raised.value.status_code, raised.value.code) == (status, "budget_exceeded")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"), (401, "authentication_error"), (402, "billing_error"),
        (429, "rate_limit_error"), (500, "api_error"), (529, "overloaded_error"),
    ],
)  # fmt: skip
def test_anthropics_client_shows_the_message(status: int, kind: str) -> None:
    """A harness would stop, and its user not know why; Claude Code looks at the type too."""
    anthropic = pytest.importorskip("anthropic", reason="needs anthropic, which is not installed")
    with (
        refusing("messages", status) as address,
        anthropic.Anthropic(api_key="dummy", base_url=address, max_retries=0, timeout=10) as client,
        pytest.raises(anthropic.APIStatusError) as raised,
    ):
        client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])
    assert "the trial's budget of 5 calls is spent" in str(raised.value)
    assert (raised.value.status_code, raised.value.body["error"]["type"]) == (status, kind)
