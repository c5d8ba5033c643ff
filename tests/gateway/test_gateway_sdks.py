"""Clients that people use, against the gateway as if it were their provider."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from eventlog.schemas.conversation import MessageRecorded, ToolCalled
from eventlog.schemas.runs import Limits
from tests.gateway.conftest import Rig, Trial
from tests.tools.wire import SHELL, serving

SPEECH = """
turns:
  - reasoning: Let me think about it.
    text: I will run it.
    calls: [{action: terminal, arguments: {command: echo hello}}]
usage: {input: 100, output: 20, cache_read: 60, reasoning: 5}
"""
SAID = [{"role": "user", "content": "Do it."}]


def _openai(trial: Trial, **options: Any) -> Any:
    openai = pytest.importorskip("openai")
    return openai.OpenAI(base_url=f"{trial.root}/v1", api_key=trial.token, max_retries=0, **options)


def _anthropic(trial: Trial, **options: Any) -> Any:
    anthropic = pytest.importorskip("anthropic")
    return anthropic.Anthropic(base_url=trial.root, api_key=trial.token, max_retries=0, **options)


def _checked(trial: Trial) -> None:
    """Both calls of a test are in the record as they were."""
    side = {event.call for event in trial.asked if event.auxiliary}
    answers = [answer for answer in trial.settled(2 + len(side)) if answer.call not in side]
    assert [answer.ended for answer in answers] == ["complete", "complete"]
    assert [(a.usage.input_tokens, a.usage.output_tokens) for a in answers] == [(100, 20)] * 2
    assert [call.arguments for call in trial.of(ToolCalled)] == [{"command": "echo hello"}] * 2
    assert {e.text for e in trial.of(MessageRecorded) if e.role == "assistant"} == {"I will run it."}
    # The second is a repetition of a question that was answered already, and no retry of a failed one.
    assert {event.retry_of for event in trial.asked} == {None}


def test_openai_chat(rig: Rig) -> None:
    """Hermes, pi, mini-swe-agent and OpenCode speak this dialect, most of them through this client."""
    tools = [{"type": "function", "function": {"name": "bash", "parameters": SHELL}}]
    with serving(SPEECH) as server:
        trial = rig.admit(server.base)
        with _openai(trial) as client:
            whole = client.chat.completions.create(model="test-model", messages=SAID, tools=tools)
            assert whole.choices[0].message.tool_calls[0].function.name == "bash"
            stream = client.chat.completions.create(
                model="test-model", messages=SAID, tools=tools, stream=True,
                stream_options={"include_usage": True},
            )  # fmt: skip
            chunks = list(stream)
            assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "I will run it."
            assert chunks[-1].usage.prompt_tokens == 100
            assert [model.id for model in client.models.list()] == ["test-model"]
    _checked(trial)


def test_openai_responses(rig: Rig) -> None:
    """Codex speaks only this dialect."""
    tools = [{"type": "function", "name": "bash", "parameters": SHELL}]
    with serving(SPEECH) as server:
        trial = rig.admit(server.base)
        with _openai(trial) as client:
            whole = client.responses.create(model="test-model", input=SAID, tools=tools)
            assert whole.output_text == "I will run it."
            with client.responses.stream(model="test-model", input=SAID, tools=tools) as stream:
                assert stream.get_final_response().usage.input_tokens == 100
    _checked(trial)


def test_anthropic_messages(rig: Rig) -> None:
    """Claude Code speaks only this dialect."""
    tools = [{"name": "bash", "input_schema": SHELL}]
    with serving(SPEECH) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial = rig.admit(server.base)
        with _anthropic(trial) as client:
            asked = {"model": "test-model", "max_tokens": 99, "messages": SAID, "tools": tools}
            whole = client.messages.create(**asked)
            assert [part.type for part in whole.content] == ["thinking", "text", "tool_use"]
            with client.messages.stream(**asked) as stream:
                assert stream.get_final_message().content[1].text == "I will run it."
            assert client.messages.count_tokens(model="test-model", messages=SAID).input_tokens > 0
    _checked(trial)


def test_clients_understand_a_refusal(rig: Rig) -> None:
    """A client that does not would try again, or hide from its user why it stopped."""
    openai, anthropic = pytest.importorskip("openai"), pytest.importorskip("anthropic")
    with serving(SPEECH) as server:
        trial = rig.admit(server.base, limits=Limits(calls=1))
        with _openai(trial) as client, _anthropic(trial) as other:
            client.responses.create(model="test-model", input="One")
            with pytest.raises(openai.BadRequestError, match="calls limit of 1"):
                client.chat.completions.create(model="test-model", messages=SAID, stream=True)
            with pytest.raises(openai.BadRequestError, match="calls limit of 1"):
                client.responses.create(model="test-model", input="Two")
            with pytest.raises(anthropic.BadRequestError, match="calls limit of 1"):
                other.messages.create(model="test-model", max_tokens=9, messages=SAID)
        trial.close()
        with _openai(trial) as client, pytest.raises(openai.AuthenticationError):
            client.models.list()
        with _anthropic(trial) as other, pytest.raises(anthropic.AuthenticationError):
            other.messages.create(model="test-model", max_tokens=9, messages=SAID)


def test_clients_that_give_up_waiting_try_again(rig: Rig) -> None:
    """A client's own timeout is a call that cost something, and its next try is a retry."""
    openai = pytest.importorskip("openai")
    with serving("turns: [{text: hi}]\nfaults: [{kind: hang, times: 1}]") as server:
        trial = rig.admit(server.base)
        with openai.OpenAI(
            base_url=f"{trial.root}/v1", api_key=trial.token, max_retries=1, timeout=0.3
        ) as client:
            client.responses.create(model="test-model", input="x")
    assert [answer.ended for answer in trial.settled(2)] == ["disconnected", "complete"]
    assert [event.retry_of for event in trial.asked] == [None, "m1"]
    assert trial.channel.verdict(stopped=False) == (None, None)
    assert trial.channel.flags == ["model_retried"]
