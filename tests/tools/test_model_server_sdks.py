"""The providers' own client libraries understand the scripted model server, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="needs aiohttp, which is not installed")

from tests.tools.wire import SHELL, served, serving
from tools.model_server.server import ModelServer

SCRIPT = """
turns:
  - reasoning: I should look.
    text: Working on it.
    calls: [{action: terminal, arguments: {command: "ls -la"}}]
  - text: All done.
usage: {input: 1234, output: 56, cache_read: 1000, reasoning: 7}
"""
ARGUMENTS = {"command": "ls -la"}
FUNCTION: Any = {"type": "function", "function": {"name": "bash", "parameters": SHELL}}
TOOL: Any = {"name": "bash", "input_schema": SHELL}
ASK: Any = [{"role": "user", "content": "Look."}]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server with a script of two turns."""
    with serving(SCRIPT) as started:
        yield started


def openai_client(server: ModelServer, retries: int = 0) -> Any:
    """OpenAI's client, or a skip."""
    openai = pytest.importorskip("openai", reason="needs openai, which is not installed")
    return openai.OpenAI(api_key="dummy", base_url=f"{server.base}/v1", max_retries=retries, timeout=10)


def anthropic_client(server: ModelServer, retries: int = 0) -> Any:
    """Anthropic's client, or a skip."""
    anthropic = pytest.importorskip("anthropic", reason="needs anthropic, which is not installed")
    return anthropic.Anthropic(api_key="dummy", base_url=server.base, max_retries=retries, timeout=10)


def test_chat_completions(server: ModelServer) -> None:
    """A field that the client misses reads as None in the harnesses that use it."""
    with openai_client(server) as client:
        done = client.chat.completions.create(model="m", messages=ASK, tools=[FUNCTION])
        message = done.choices[0].message
        call = message.tool_calls[0]
        result = {"role": "tool", "tool_call_id": call.id, "content": "a"}
        history = [*ASK, message.model_dump(exclude_none=True), result]
        last = client.chat.completions.create(model="m", messages=history, tools=[FUNCTION])
    assert (message.content, message.reasoning_content) == ("Working on it.", "I should look.")
    assert (call.function.name, call.function.arguments) == ("bash", '{"command":"ls -la"}')
    assert (done.choices[0].finish_reason, last.choices[0].finish_reason) == ("tool_calls", "stop")
    assert (done.usage.prompt_tokens, done.usage.prompt_tokens_details.cached_tokens) == (1234, 1000)
    assert last.choices[0].message.content == "All done."
    assert [entry["turn"] for entry in served(server)] == [1, 2]


def test_chat_completions_streamed(server: ModelServer) -> None:
    """The client's own accumulator must come to the same answer as the whole one."""
    options = {"include_usage": True}
    with (
        openai_client(server) as client,
        client.chat.completions.stream(
            model="m", messages=ASK, tools=[FUNCTION], stream_options=options
        ) as stream,
    ):
        for _ in stream:
            pass
        done = stream.get_final_completion()
    message = done.choices[0].message
    assert message.content == "Working on it."
    assert message.tool_calls[0].function.arguments == '{"command":"ls -la"}'
    assert done.choices[0].finish_reason == "tool_calls"
    assert done.usage.model_dump(exclude_none=True) == served(server)[0]["usage_raw"]


@pytest.mark.parametrize("streamed", [False, True])
def test_responses(server: ModelServer, streamed: bool) -> None:
    """Items, their order and the last event are what the agents of this dialect live by."""
    tool: Any = {"type": "function", "name": "bash", "parameters": SHELL, "strict": False}
    asked: dict[str, Any] = {
        "model": "m",
        "input": "Look.",
        "tools": [tool],
        "include": ["reasoning.encrypted_content"],
    }
    with openai_client(server) as client:
        if streamed:
            with client.responses.stream(**asked) as stream:
                kinds = [event.type for event in stream]
                done = stream.get_final_response()
            assert kinds.count("response.output_item.done") == 3
            assert kinds[-1] == "response.completed"
        else:
            done = client.responses.create(**asked)
    reasoning, message, call = done.output
    assert (reasoning.summary[0].text, len(reasoning.encrypted_content)) == ("I should look.", 64)
    assert message.content[0].text == done.output_text == "Working on it."
    assert (call.name, call.arguments) == ("bash", '{"command":"ls -la"}')
    assert (done.status, done.usage.output_tokens_details.reasoning_tokens) == ("completed", 7)


@pytest.mark.parametrize("streamed", [False, True])
def test_messages(server: ModelServer, streamed: bool) -> None:
    """Blocks and usage as Anthropic's client adds them up are what Claude Code reports."""
    asked: dict[str, Any] = {"model": "m", "max_tokens": 99, "messages": ASK, "tools": [TOOL]}
    with anthropic_client(server) as client:
        if streamed:
            with client.messages.stream(**asked) as stream:
                assert "".join(stream.text_stream) == "Working on it."
                done = stream.get_final_message()
        else:
            done = client.messages.create(**asked)
        counted = client.messages.count_tokens(model="m", messages=ASK)
    thinking, text, call = done.content
    assert (thinking.thinking, len(thinking.signature)) == ("I should look.", 64)
    assert (text.text, call.name, call.input) == ("Working on it.", "bash", ARGUMENTS)
    assert (done.stop_reason, done.usage.input_tokens, done.usage.output_tokens) == ("tool_use", 234, 56)
    assert done.usage.cache_read_input_tokens == 1000
    assert counted.input_tokens > 0


def test_models_are_listed(server: ModelServer) -> None:
    """Some harnesses refuse a model that the endpoint does not list."""
    with openai_client(server) as client:
        assert [model.id for model in client.models.list()] == ["test-model"]
    with anthropic_client(server) as client:
        assert [model.id for model in client.models.list()] == ["test-model"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, "AuthenticationError"),
        (400, "BadRequestError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
    ],
)
def test_refusals_are_the_clients_own_errors(status: int, error: str) -> None:
    """A refusal that the client does not know is retried or reported in another way."""
    with serving(SCRIPT + f"faults: [{{kind: status, status: {status}, message: No more.}}]") as server:
        with openai_client(server) as client, pytest.raises(Exception, match=r"No more\.") as chat:
            client.chat.completions.create(model="m", messages=ASK, tools=[FUNCTION])
        with anthropic_client(server) as client, pytest.raises(Exception, match=r"No more\.") as messages:
            client.messages.create(model="m", max_tokens=9, messages=ASK, tools=[TOOL])
    assert [type(raised.value).__name__ for raised in (chat, messages)] == [error, error]


def test_a_client_tries_again_after_a_refusal_that_passes() -> None:
    """Retries are counted by tries of a turn; a client that gave up here would show none."""
    fault = "faults: [{kind: status, status: 429, retry_after: 0.01, times: 2}]"
    with serving(SCRIPT + fault) as server, openai_client(server, retries=2) as client:
        done = client.chat.completions.create(model="m", messages=ASK, tools=[FUNCTION])
        tries = [(entry["attempt"], entry["status"]) for entry in served(server)]
    assert done.choices[0].finish_reason == "tool_calls"
    assert tries == [(1, 429), (2, 429), (3, 200)]


def test_a_cut_stream_is_an_error_of_the_client() -> None:
    """A cut that a client takes for the end is not the failure that is to be tried."""
    with serving(SCRIPT + "faults: [{kind: cut, after_tokens: 2}]") as server:
        with (
            openai_client(server) as client,
            pytest.raises(Exception, match=r"Connection error|incomplete chunked read|peer closed") as cut,
        ):
            list(client.chat.completions.create(model="m", messages=ASK, tools=[FUNCTION], stream=True))
        assert served(server)[0]["ended"] == "cut"
    assert cut.type.__name__ in ("RemoteProtocolError", "APIConnectionError")
