"""What requests and answers may take of the engine's memory: who sends too much waits, and nobody else does."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from eventlog.schemas.runs import Limits
from hemra.gateway import arrival, exchange, memory
from hemra.gateway.conversation import Conversation
from hemra.gateway.dialects import by_name, reading
from hemra.gateway.memory import MIB, Held, Memory, Pool, weigh
from hemra.gateway.normal import Answer
from hemra.gateway.turns import Turns
from tests.gateway.conftest import Heard, Rig, Trial, answering, reply, saying
from tests.gateway.test_gateway_life import Given, Tape
from tests.tools.wire import request

CHAT = "/v1/chat/completions"
DONE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]}
OK = answering(reply(json.dumps(DONE).encode()))
KIB = 1 << 10


def pool(own: int = 10, most: int = 50, common: int = 60) -> Pool:
    """A small one."""
    return Pool(own=own, most=most, common=common)


def test_every_trial_has_something_of_its_own() -> None:
    """One trial that takes all there is would stop all others."""
    made = pool()
    assert made.move("greedy", 50)
    assert not made.move("greedy", 1)
    assert made.move("second", 30)
    assert not made.move("third", 11)
    assert made.move("third", 10)
    assert made.held == 90
    made.move("greedy", -50)
    assert made.move("third", 40)


def test_whoever_waits_gets_room_in_order_and_holds_up_its_own_trial_only() -> None:
    """A large request would wait for ever behind small ones, or all trials behind one large request."""

    async def work() -> list[str]:
        made, order = pool(), []  # type: Pool, list[str]

        async def ask(name: str, trial: str, size: int) -> None:
            waited = await made.wait(trial, size)
            order.append(f"{name} {'later' if waited else 'at once'}")

        made.move("a", 45)
        tasks = [
            asyncio.create_task(ask(*each))
            for each in (("large", "a", 40), ("small", "a", 5), ("other", "b", 10))
        ]
        await asyncio.sleep(0)
        made.move("a", -40)
        await asyncio.gather(*tasks)
        return order

    assert asyncio.run(work()) == ["other at once", "large later", "small later"]


def test_who_goes_while_waiting_takes_nothing() -> None:
    """A harness that hangs up would hold room for ever, and those behind it would wait for ever."""

    async def work() -> int:
        made = pool()
        made.move("a", 50)
        gone, late = Held(made, "a"), Held(made, "a")
        first, second = asyncio.create_task(gone.take(40)), asyncio.create_task(late.take(20))
        await asyncio.sleep(0)
        first.cancel()
        made.move("a", -30)
        with suppress(asyncio.CancelledError):
            await first
        await asyncio.wait_for(second, 5)
        made.move("a", -20)
        served = asyncio.create_task(gone.take(30))
        await asyncio.sleep(0)
        late.free()
        assert served.cancel() or served.done()
        with suppress(asyncio.CancelledError):
            await served
        gone.free()
        return made.held

    assert asyncio.run(work()) == 0


@pytest.mark.parametrize(
    "value", [[[]] * 1000, [{}] * 1000, [{"a": 1.5}] * 1000, ["ab"] * 1000, [12345] * 1000]
)
def test_a_text_weighs_about_what_its_values_take(value: Any) -> None:
    """A megabyte of brackets is fifty when it is read: counted by its length it would be let in."""
    text = json.dumps(value, separators=(",", ":")).encode()
    tracemalloc.start()
    try:
        read = json.loads(text)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(read) == 1000
    assert taken / 2 < weigh(text)


@contextmanager
def upload(trial: Trial, head: str, body: bytes = b"") -> Iterator[socket.socket]:
    """A connection on which the head of a request and the beginning of its body were sent."""
    host, port = trial.root.partition("://")[2].split("/")[0].split(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        path = trial.root.partition(port)[2]
        lines = (
            f"POST {path}{CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {trial.token}\r\n{head}\r\n\r\n"
        )
        connection.sendall(lines.encode() + body)
        yield connection


def question(number: int, size: int) -> bytes:
    """A request of so many bytes."""
    body = json.dumps(request("chat", text=f"Question {number}")).encode()
    return body + b" " * (size - len(body))


def small_pools(rig: Rig, **pools: Pool) -> Memory:
    """The gateway's memory with these in the place of its own."""
    assert rig.gateway._shared is not None
    found = rig.gateway._shared.memory = Memory(**pools)
    return found


def test_too_many_uploads_wait_and_all_are_answered(rig: Rig) -> None:
    """Many bodies at once would take all memory of the run; if they were refused the harness would be judged by it."""
    used = small_pools(rig, bodies=Pool(own=100 * KIB, most=400 * KIB, common=500 * KIB))
    statuses: list[int] = []
    highest: list[int] = []
    with saying(OK) as endpoint:
        trial, other = rig.admit(endpoint.base), rig.admit(endpoint.base)

        def send(number: int) -> None:
            statuses.append(trial.send(CHAT, question(number, 150 * KIB)).status)

        first = question(99, 390 * KIB)
        with upload(trial, f"Content-Length: {len(first)}", first[:-1]) as open_one:
            rig.until(lambda: used.bodies.held > 300 * KIB)
            threads = [threading.Thread(target=send, args=(number,)) for number in range(6)]
            for thread in threads:
                thread.start()
            rig.until(lambda: len(used.bodies._waiting) == 6)
            assert other.send(CHAT, question(7, 90 * KIB)).status == 200
            highest.append(used.bodies.held)
            open_one.sendall(first[-1:])
            assert open_one.recv(12) == b"HTTP/1.1 200"
        for thread in threads:
            thread.join(10)
    assert statuses == [200] * 6
    assert max(highest) <= 500 * KIB
    assert "request_waited" in trial.channel.flags
    assert other.channel.flags == []
    rig.until(lambda: used.bodies.held == 0)


def test_a_body_whose_length_is_not_told_takes_room_as_it_grows(rig: Rig) -> None:
    """Whoever leaves the length out would be counted as nothing."""
    used = small_pools(rig)
    body = question(1, memory.FIRST + 64 * KIB)
    with saying(OK) as endpoint:
        trial = rig.admit(endpoint.base)
        with upload(trial, "Transfer-Encoding: chunked") as connection:
            rig.until(lambda: used.bodies.held == memory.FIRST)
            half = memory.FIRST // 2
            connection.sendall(b"%x\r\n%s\r\n" % (half, body[:half]))
            connection.sendall(b"%x\r\n%s\r\n" % (len(body) - half, body[half:]))
            rig.until(lambda: used.bodies.held == memory.LARGEST_REQUEST)
            connection.sendall(b"0\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"
    assert endpoint.heard[0].body == body
    rig.until(lambda: used.bodies.held == 0)


def test_a_body_that_does_not_come_is_given_up(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A harness could hold room for which others wait without ever sending what it announced."""
    monkeypatch.setattr(arrival, "BODY_S", 0.2)
    used = small_pools(rig)
    with saying(OK) as endpoint:
        trial = rig.admit(endpoint.base)
        with upload(trial, "Content-Length: 1000", b"{") as connection:
            said = connection.recv(4000)
    assert said.startswith(b"HTTP/1.1 408")
    assert b"request_too_slow" in said
    assert trial.channel.flags == ["request_too_slow"]
    rig.until(lambda: used.bodies.held == 0)


@pytest.mark.parametrize("chunked", [True, False])
def test_a_body_that_is_too_large_is_refused(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, chunked: bool
) -> None:
    """It would be held as a whole before anybody looks at its size."""
    monkeypatch.setattr(arrival, "LARGEST_REQUEST", 300 * KIB)
    with saying(OK) as endpoint:
        trial = rig.admit(endpoint.base)
        head = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {301 * KIB}"
        body = b"%x\r\n%s\r\n" % (301 * KIB, bytes(301 * KIB)) if chunked else b""
        with upload(trial, head, body) as connection:
            assert connection.recv(12) == b"HTTP/1.1 413"
    assert trial.channel.flags == ["request_too_large"]
    assert endpoint.heard == []


@pytest.mark.parametrize("packed", [True, False])
def test_a_request_of_very_many_values_is_not_read(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """A few kilobytes of brackets would be hundreds of megabytes once they are read."""
    monkeypatch.setattr(arrival, "HEAVIEST", 64 * KIB)
    body = json.dumps(request("chat") | {"more": [[]] * 2000}).encode()
    body = gzip.compress(body) if packed else body
    headers = {"Content-Encoding": "gzip"} if packed else {}
    with saying(OK) as endpoint:
        trial, held = rig.admit(endpoint.base), rig.admit(endpoint.base, limits=Limits(tokens=9))
        monkeypatch.setattr(arrival, "LIGHT", 32 * KIB)
        assert trial.send(CHAT, body, headers=headers).status == 200
        assert held.send(CHAT, body, headers=headers).status == 400
    assert endpoint.heard[0].body == body
    assert "request_unread" in trial.channel.flags
    assert "more values" in held.settled()[0].error["message"]


def test_a_packed_request_is_read_in_more_room_when_it_needs_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long conversations of harnesses that pack them would count as unread."""
    monkeypatch.setattr(arrival, "LIGHT", 4 * KIB)
    body = gzip.compress(question(1, 100 * KIB))
    with saying(OK) as endpoint:
        trial = rig.admit(endpoint.base, limits=Limits(tokens=10_000))
        assert trial.send(CHAT, body, headers={"Content-Encoding": "gzip"}).status == 200
    assert trial.asked[0].messages == 1
    assert "request_unread" not in trial.channel.flags


def test_what_was_sent_on_is_not_held_while_the_answer_comes(rig: Rig) -> None:
    """Long answers to long conversations would take the room of those that are asked meanwhile."""
    go = threading.Event()

    def slowly(connection: socket.socket, heard: Heard) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        connection.sendall(b"data: {}\n\n")
        go.wait(10)

    used = small_pools(rig)
    with saying(slowly) as endpoint:
        trial = rig.admit(endpoint.base)
        body = question(1, 50 * KIB)
        with upload(trial, f"Content-Length: {len(body)}", body) as connection:
            assert connection.recv(12) == b"HTTP/1.1 200"
            assert (used.bodies.held, used.readings.held) == (0, 0)
            go.set()


def _streaming(size: int) -> Callable[[socket.socket, Heard], None]:
    piece = {"choices": [{"index": 0, "delta": {"content": "a" * 1000}}]}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    pieces = [b"data: %s\n\n" % json.dumps(piece).encode()] * (size // 1000)
    body = b"".join([*pieces, b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(last).encode()])
    return answering(reply(body, Content_Type="text/event-stream"))


@pytest.mark.parametrize("room", [400, 100])
def test_what_does_not_fit_in_of_an_answer_is_passed_on_and_not_kept(rig: Rig, room: int) -> None:
    """Answers that are kept for a cassette would be held without bound, or be lost to the harness."""
    used = small_pools(rig, answers=Pool(own=room * KIB, most=room * KIB, common=0))
    kept: list[bytes] = []
    with saying(_streaming(300 * KIB)) as endpoint:
        trial = rig.admit(endpoint.base, blob=lambda body: kept.append(body) or "digest")
        got = trial.send(CHAT, request("chat") | {"stream": True})
    assert (got.status, got.whole, len(got.body) > 300 * KIB) == (200, True, True)
    (answer,) = trial.settled()
    assert answer.body is None
    assert trial.channel.flags == ["record_full" if room == 400 else "answer_not_read"]
    assert (answer.finish_reason == "stop") is (room == 400)
    rig.until(lambda: used.answers.held == 0)
    assert len(kept) == 1, "the request was kept"


def test_what_an_answer_kept_is_given_back(rig: Rig) -> None:
    """After some hundred answers nothing more would be kept of a trial."""
    used = small_pools(rig)
    with saying(_streaming(100 * KIB)) as endpoint:
        trial = rig.admit(endpoint.base, blob=lambda body: str(len(body)))
        trial.send(CHAT, request("chat") | {"stream": True})
    assert trial.settled()[0].body is not None
    rig.until(lambda: used.answers.held == 0)


def test_a_reader_that_does_not_keep_up_is_bounded() -> None:
    """Pieces that nobody has read yet would be held without bound, in every one of a trial's calls."""
    assert exchange._MOST_UNREAD <= 256 * KIB


def test_answers_of_a_cassette_are_given_as_there_is_room(rig: Rig) -> None:
    """A harness that reads none of its answers would have the engine hold all of them."""
    body = json.dumps(DONE).encode() + b" " * (8 << 20)
    used = small_pools(rig, answers=Pool(own=len(body) + MIB, most=2 * len(body), common=0))
    trial = rig.admit(None, cassette=Tape(Given(body=body)))
    question_of = [question(number, 300) for number in range(3)]
    with ExitStack() as stack:
        ways = [stack.enter_context(upload(trial, f"Content-Length: {len(q)}", q)) for q in question_of]
        rig.until(lambda: bool(used.answers._waiting))
        assert used.answers.held <= 2 * len(body)
        for way in ways:
            got = b""
            while len(got) < len(body):
                got += way.recv(MIB)
            assert got.startswith(b"HTTP/1.1 200")
    rig.until(lambda: used.answers.held == 0)


def test_what_was_said_is_not_kept_in_the_engine() -> None:
    """All answers and system messages of a trial would be held until it ends, however long they are."""
    conversation, read = Conversation("m"), by_name("chat").read
    said = [{"role": "user", "content": "go"}]
    tracemalloc.start()
    try:
        for number in range(20):
            system = {"role": "system", "content": f"{number} {'s' * 100_000}"}
            conversation.request(f"m{number}", read({"model": "m", "messages": [system, *said]}))
            text = f"{number} {'a' * 100_000}"
            told = conversation.answer(f"m{number}", Answer(text=text, finish_reason="stop", complete=True))
            assert told.message is not None
            said += [{"role": "assistant", "content": text[:10]}, {"role": "user", "content": "on"}]
        del told, text, system
        assert tracemalloc.get_traced_memory()[0] < 500_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_of_very_many_values_is_not_read(monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    """An endpoint's brackets would take the memory of the whole run, as a harness's would."""
    monkeypatch.setattr(reading, "HEAVIEST", 64 * KIB)
    for more, junk in ((10, False), (3000, True)):
        body = json.dumps(DONE | {"more": [[]] * more}).encode()
        reader = by_name("chat").reader(stream=stream)
        reader.feed(b"data: %s\n\n" % body if stream else body)
        assert reader.finish().junk is junk


def test_garbage_is_not_looked_for_in_what_stays(rig: Rig) -> None:
    """Every token of every stream would wait while all that was ever loaded is gone through."""
    assert gc.get_freeze_count() > 0
    rig.run(rig.gateway.close())
    assert gc.get_freeze_count() == 0


def test_pieces_of_work_let_others_in_between() -> None:
    """Calls that begin or end in the same instant would be one piece of work, and tokens late by all of it."""

    async def work() -> tuple[int, list[int]]:
        turns, rounds, done = Turns(), 0, []  # type: Turns, int, list[int]
        going = True

        def tick() -> None:
            nonlocal rounds
            rounds += 1
            if going:
                asyncio.get_running_loop().call_soon(tick)

        async def one() -> None:
            await turns.next()
            done.append(rounds)

        tick()
        tasks = [asyncio.create_task(one()) for _ in range(20)]
        tasks[5].cancel()
        await asyncio.wait(tasks)
        going = False
        return rounds, done

    _, done = asyncio.run(work())
    assert len(done) == 19
    assert done == sorted(set(done)), "two had their turn in one round"
