"""Agents in the manner of real harnesses: what they did with a scripted model is what the gateway's record says."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("aiohttp", reason="needs aiohttp, which is not installed")

from hemra.gateway.conversation import Conversation
from hemra.gateway.dialects import by_name
from tests.tools.agents import DIALECT, TOOLS, Agent
from tests.tools.wire import PATHS, send, served, serving

SCRIPT = """
turns:
  - reasoning: I should look.
    text: "I look. "
    calls:
      - {action: terminal, arguments: {command: "echo one"}}
      - {action: terminal, arguments: {command: "echo two; false"}}
  - calls: [{action: write_file, arguments: {path: a.txt, content: "héllo\\n"}}]
  - text: Reading.
    calls: [{action: read_file, arguments: {path: a.txt}}]
  - text: All done.
usage: {input: 1234, output: 56, cache_read: 1000, reasoning: 7}
"""


@pytest.mark.parametrize("kind", sorted(TOOLS))
@pytest.mark.parametrize("stream", [True, False])
def test_calls_results_and_usage_are_those_of_the_agent(kind: str, stream: bool, tmp_path: Path) -> None:
    """What a harness did could not be told without its co-operation."""
    dialect = by_name(DIALECT[kind])
    path = PATHS[dialect.name]
    agent = Agent(kind, tmp_path, tmp_path, "Make a.txt.")
    conversation = Conversation("test-model", offers_tools=True)
    called, returned, said, used = [], [], [], []
    with serving(SCRIPT) as server:
        while agent.final is None:
            body = agent.request()
            asked = body | {"stream": stream, "stream_options": {"include_usage": True}}
            seen = conversation.request(str(agent.turn), dialect.read(asked))
            reader = dialect.reader(stream=stream)
            reply = send(server, path, asked)
            reader.feed(reply.body)
            answer = reader.finish()
            assert answer.usage is not None
            used.append(
                (answer.usage.input_tokens, answer.usage.cache_read_tokens, answer.usage.output_tokens)
            )
            told = conversation.answer(str(agent.turn), answer)
            assert (answer.complete, seen.auxiliary, told.turn) == (True, None, agent.turn + 1)
            called += [(each.call.name, each.call.arguments, each.turn) for each in told.calls]
            returned += [(each.name, each.result) for each in seen.results]
            said += [message.text for _, message in seen.fresh] + (
                [told.message[1].text] if told.message else []
            )
            # A stream is asked for again as a document: the same words, with ids of their own.
            agent.take(send(server, path, body).json if stream else reply.json)
        entries = served(server)[:: 2 if stream else 1]
    assert called == [(each["name"], each["arguments"], each["turn"]) for each in agent.calls]
    # mini-swe-agent ends with a call, the one by which it submits: nobody hears its result.
    heard = agent.calls[:-1] if kind == "mini" else agent.calls
    assert [name for name, _ in returned] == [each["name"] for each in heard]
    for (_, shown), each in zip(returned, heard, strict=True):
        assert shown == agent._laid_out(each["name"], each["ok"], each["result"])
    assert said[1:] == ["I look. ", "Reading.", "All done."]
    counted = [entry["usage"] for entry in entries]
    assert used == [
        (each["input_tokens"], each["cache_read_tokens"], each["output_tokens"]) for each in counted
    ]
