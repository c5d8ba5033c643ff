"""A gateway's own life, that of its channels, and answers that come from a cassette."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from eventlog.schemas.conversation import MessageRecorded
from eventlog.schemas.runs import Limits
from hemra.gateway.channel import ChannelSpec
from hemra.gateway.normal import Request, SamplingWish
from hemra.gateway.server import Gateway
from hemra.sandboxes.base import Endpoint
from tests.gateway.conftest import Rig, Trial, answering, reply, saying
from tests.gateway.test_gateway_record import TURNS, two_turns
from tests.tools.wire import request, serving

NAMES = ("chat", "responses", "messages")


def test_it_listens_to_this_machine_only_and_is_gone_afterwards() -> None:
    """A port that others reach spends the user's key; one that stays open holds up the next run."""

    async def live() -> Endpoint:
        gateway = await Gateway.start()
        endpoint = gateway.endpoint
        assert endpoint.host == "127.0.0.1"
        assert gateway.root("0001") == f"http://127.0.0.1:{endpoint.port}/t/0001"
        assert gateway.root("1", at=Endpoint("10.0.2.2", 80)) == "http://10.0.2.2:80/t/1"
        _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
        writer.close()
        await gateway.close()
        await gateway.close()
        return endpoint

    endpoint = asyncio.run(live())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((endpoint.host, endpoint.port), timeout=1)


def test_closing_ends_what_is_open() -> None:
    """A run that is cancelled must not wait for a model that thinks for ten minutes."""
    with serving("turns: [{text: hi}]\nfaults: [{kind: hang}]") as server:
        rig = Rig()
        trials = [rig.admit(server.base) for _ in range(3)]
        with ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(trial.ask, "chat", timeout=20) for trial in trials]
            rig.until(lambda: all(trial.channel.open for trial in trials))
            rig.close()
            for each in asked:
                assert isinstance(each.exception(10), ConnectionError)
    assert [answer.ended for trial in trials for answer in trial.answers] == ["disconnected"] * 3


def test_a_token_is_used_once(rig: Rig) -> None:
    """Two trials with one token could not be told apart."""
    one = rig.admit("http://127.0.0.1:1")
    for token in (one.token, ""):
        spec = ChannelSpec(
            trial="0009", token=token, upstream=None, model=None, limits=Limits(), sampling=SamplingWish(),
            emit=one.events.append,
        )  # fmt: skip
        with pytest.raises(ValueError, match="token"):
            rig.gateway.admit(spec)


def test_trials_at_the_same_time_are_told_apart(rig: Rig) -> None:
    """A message in another trial's record makes both worthless."""
    with serving(TURNS) as server:
        trials = [rig.admit(server.base) for _ in range(12)]
        with ThreadPoolExecutor(12) as pool:
            for each in [
                pool.submit(two_turns, trial, NAMES[number % 3]) for number, trial in enumerate(trials)
            ]:
                each.result()
    for number, trial in enumerate(trials):
        trial.settled(2)
        assert [event.dialect for event in trial.asked] == [NAMES[number % 3]] * 2
        assert [e.role for e in trial.of(MessageRecorded)] == ["user", "assistant", "assistant"]
        assert trial.channel.usage is not None
        assert trial.channel.usage.input_tokens == 200


def test_a_second_try_begins_anew(rig: Rig) -> None:
    """A trial that is run again must not find the budget of its first try spent."""
    with serving("turns: [{text: hi}]") as server:
        first = rig.admit(server.base, trial="0007", token="one", limits=Limits(calls=1))
        again = rig.admit(server.base, trial="0007", token="two", limits=Limits(calls=1))
        root = rig.gateway.root("0007")
        one, two = (Trial(rig, t.channel, root, t.token, t.events) for t in (first, again))
        assert [one.ask("chat").status, two.ask("chat").status, two.ask("chat", text="x").status] == [
            200,
            200,
            400,
        ]
    assert (len(first.answers), len(again.answers)) == (1, 2)
    assert (first.channel.fired, again.channel.fired is None) == (None, False)


def test_a_connection_is_kept_for_the_next_call(rig: Rig) -> None:
    """A handshake before every call would be most of what the gateway adds."""
    with serving("turns: [{text: hi}]") as server:
        trial = rig.admit(server.base)
        host, body = urlsplit(trial.root), json.dumps(request("chat")).encode()
        head = (
            f"POST {host.path}/v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: {trial.token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection((host.hostname, host.port), timeout=10) as connection:
            for _ in range(3):
                connection.sendall(head.encode() + body)
                got = b""
                while not got.endswith(b"}"):
                    got += connection.recv(65536)
                assert got.startswith(b"HTTP/1.1 200 ")
    assert len(trial.settled(3)) == 3


def test_a_body_that_never_comes_is_nobody_s_call(rig: Rig) -> None:
    """A harness that dies while it sends has asked nothing."""
    with saying(answering(reply(b"{}"))) as endpoint:
        trial = rig.admit(endpoint.base)
        host = urlsplit(trial.root)
        with socket.create_connection((host.hostname, host.port), timeout=10) as connection:
            head = f"POST {host.path}/v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: {trial.token}\r\n"
            connection.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        assert trial.ask("chat").status == 200
    assert len(trial.asked) == 1
    assert len(endpoint.heard) == 1


@dataclass
class Given:
    """An answer of a cassette."""

    body: bytes = b'{"id": "1", "model": "test-model", "choices": [{"index": 0, "message": {"role": "assistant",' \
                  b' "content": "Recorded."}, "finish_reason": "stop"}]}'  # fmt: skip
    status: int = 200
    ended: str = "complete"
    replayed: str = "run-1/0001/m1"
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


@dataclass
class Tape:
    """A cassette that holds one answer, and notes what it was asked."""

    given: Given | None
    upstream: bool = False
    asked: list[object] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)

    def answer(
        self, dialect: str, stream: bool, context: str | None, request: Request | None = None
    ) -> Given | None:
        """The answer; in a thread, one at a time."""
        assert threading.current_thread().name != "gateway"
        self.asked.append((dialect, stream, context))
        if self.given is None:
            self.misses.append("message 1 (user) was 'A' and is 'B'")
        return self.given

    def other(self, method: str, path: str) -> Given | None:
        """Only one of them was recorded."""
        return Given(body=b'{"input_tokens": 7}') if path.endswith("count_tokens") else None


def test_a_cassette_answers_in_the_model_s_place(rig: Rig) -> None:
    """A replay that asks a model costs money and is another run."""
    tape = Tape(Given())
    trial = rig.admit(None, cassette=tape, limits=Limits(calls=1))
    assert trial.ask("chat").json["choices"][0]["message"]["content"] == "Recorded."
    assert trial.send("/v1/messages/count_tokens", {}).json == {"input_tokens": 7}
    assert trial.send("/v1/models", method="GET").status == 404
    (answer, *_) = trial.settled(3)
    assert (answer.ended, answer.replayed, answer.message is None) == ("complete", "run-1/0001/m1", False)
    assert tape.asked == [("chat", False, trial.asked[0].context)]
    assert trial.ask("chat", text="More").status == 400  # budgets hold for replays too
    assert trial.channel.flags == []


def test_what_a_cassette_does_not_have_is_refused_and_says_why(rig: Rig) -> None:
    """A harness that waits for an answer which nobody has would wait for ever."""
    trial = rig.admit(None, cassette=Tape(None))
    got = trial.ask("messages")
    assert (got.status, got.json["error"]["message"]) == (400, "message 1 (user) was 'A' and is 'B'")
    assert trial.settled()[0].ended == "refused"
    assert trial.channel.flags == ["cassette_miss"]


def test_what_a_cassette_does_not_have_goes_to_the_model_as_asked(rig: Rig) -> None:
    """The beginning replayed and the end live is how a change is tried out."""
    with serving("turns: [{text: Live.}]") as server:
        trial = rig.admit(server.base, cassette=Tape(None, upstream=True))
        assert trial.ask("chat").json["choices"][0]["message"]["content"] == "Live."
        assert trial.send("/v1/models", method="GET").status == 200
    assert trial.settled(2)[0].replayed is None


def test_a_replay_breaks_off_where_the_answer_did(rig: Rig) -> None:
    """Ended in order, the replayed harness would take half an answer for a whole one, as the first did not."""
    half = Given(body=b"data: {}\n\n", ended="cut", headers={"Content-Type": "text/event-stream"})
    trial = rig.admit(None, cassette=Tape(half))
    got = trial.ask("chat", stream=True)
    assert (got.status, got.body, got.whole) == (200, half.body, False)
    assert trial.settled()[0].ended == "cut"
    failed = Given(body=b'{"error": {"message": "overloaded"}}', status=529, ended="error")
    other = rig.admit(None, cassette=Tape(failed))
    assert (other.ask("messages").status, other.settled()[0].ended) == (529, "error")
