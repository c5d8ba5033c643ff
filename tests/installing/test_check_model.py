"""The scripted model of a check, spoken to by the clients that harnesses are made of."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hemra.checking import answers
from hemra.checking.endpoint import DONE, WORD, CheckModel, arguments
from hemra.gateway.normal import Tool

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOKEN = "a-token-of-one-trial"


def _talk(dialect: str, *, stream: bool) -> tuple[CheckModel, list[Any]]:
    """Two turns with the model through the provider's own client; (the model, what the two answers came to)."""

    async def talk() -> tuple[CheckModel, list[Any]]:
        model = CheckModel(TOKEN)
        place = await model.start()
        try:
            told = await asyncio.to_thread(_TALKS[dialect], f"http://{place}/t/check", stream)
        finally:
            await model.close()
        return model, told

    return asyncio.run(talk())


def _chat(root: str, stream: bool) -> list[Any]:
    import openai

    client = openai.OpenAI(base_url=f"{root}/v1", api_key=TOKEN)
    tool = {"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}
    messages: list[Any] = [{"role": "user", "content": "x"}]
    first = _chat_once(client, messages, [tool], stream=stream)
    call = first["calls"][0]
    messages += [
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": call[0], "type": "function", "function": {"name": call[1], "arguments": call[2]}}]},
        {"role": "tool", "tool_call_id": call[0], "content": f"{WORD}\n"},
    ]  # fmt: skip
    second = _chat_once(client, messages, [tool], stream=stream)
    return [(call[1], json.loads(call[2])), second["text"], second["usage"]]


def _chat_once(client: Any, messages: list[Any], tools: list[Any], *, stream: bool) -> dict[str, Any]:
    more = {"stream_options": {"include_usage": True}} if stream else {}
    got = client.chat.completions.create(model="m", messages=messages, tools=tools, stream=stream, **more)
    if not stream:
        message = got.choices[0].message
        calls = [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or []]
        return {"calls": calls, "text": message.content, "usage": got.usage.completion_tokens}
    said: dict[str, Any] = {"calls": [], "text": "", "usage": None}
    for piece in got:
        if piece.usage is not None:
            said["usage"] = piece.usage.completion_tokens
        for choice in piece.choices:
            said["text"] += choice.delta.content or ""
            said["calls"] += [
                (c.id, c.function.name, c.function.arguments) for c in choice.delta.tool_calls or []
            ]
    return said


def _responses(root: str, stream: bool) -> list[Any]:
    import openai

    client = openai.OpenAI(base_url=f"{root}/v1", api_key=TOKEN)
    tool: Any = {"type": "function", "name": "bash", "parameters": SCHEMA, "strict": False}
    given: list[Any] = [{"role": "user", "content": "x"}]

    def once() -> Any:
        if not stream:
            return client.responses.create(model="m", input=given, tools=[tool])
        with client.responses.stream(model="m", input=given, tools=[tool]) as events:
            return events.get_final_response()

    call = once().output[0]
    given += [
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
        {"type": "function_call_output", "call_id": call.call_id, "output": f"{WORD}\n"},
    ]
    last = once()
    return [(call.name, json.loads(call.arguments)), last.output_text, last.usage.output_tokens]


def _messages(root: str, stream: bool) -> list[Any]:
    import anthropic

    client = anthropic.Anthropic(base_url=root, api_key=TOKEN)
    tool: Any = {"name": "bash", "input_schema": SCHEMA}
    said: list[Any] = [{"role": "user", "content": "x"}]

    def once() -> Any:
        if not stream:
            return client.messages.create(model="m", max_tokens=9, messages=said, tools=[tool])
        with client.messages.stream(model="m", max_tokens=9, messages=said, tools=[tool]) as events:
            return events.get_final_message()

    call = once().content[0]
    said += [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call.id, "content": f"{WORD}\n"}],
        },
    ]
    last = once()
    return [(call.name, call.input), last.content[0].text, last.usage.output_tokens]


_TALKS = {"chat": _chat, "responses": _responses, "messages": _messages}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", list(_TALKS))
def test_each_dialect_is_spoken_as_its_client_expects(dialect: str, stream: bool) -> None:
    """A harness that is fine would be called broken for an answer of ours that its client cannot read."""
    model, told = _talk(dialect, stream=stream)
    assert told == [("bash", {"command": f"echo {WORD}"}), DONE, answers.OUTPUT_TOKENS]
    assert [(call.dialect, call.stream, call.token) for call in model.calls] == [(dialect, stream, True)] * 2
    assert model.carried_out
    assert model.served(model.main).output_tokens == 2 * answers.OUTPUT_TOKENS
    assert list(model.calls[0].tools) == ["bash"]


def test_a_tool_gets_the_arguments_that_its_schema_requires() -> None:
    """A harness would refuse the call, and be called broken for it."""
    fields = {
        "cmd": {"type": "array"}, "description": {"type": "string"}, "timeout": {"type": ["integer", "null"]},
        "wait": {"type": "boolean"}, "more": {"type": "string"},
    }  # fmt: skip
    schema = {"properties": fields, "required": ["cmd", "description", "timeout", "wait"]}
    made = arguments(Tool(name="shell", definition={"function": {"parameters": schema}}), "echo x")
    assert made == {"cmd": ["sh", "-c", "echo x"], "description": WORD, "timeout": 10, "wait": False}
    assert arguments(Tool(name="bash", definition=None), "echo x") == {"command": "echo x"}
