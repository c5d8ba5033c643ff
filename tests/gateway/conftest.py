"""A gateway in a thread of its own, trials at it, and endpoints that say byte for byte what a test wants."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import ModelRequested, ModelResponded
from eventlog.schemas.runs import Limits
from hemra.gateway.channel import Channel, ChannelSpec, ResolvedUpstream
from hemra.gateway.normal import SamplingWish
from hemra.gateway.server import Gateway
from tests.tools.wire import PATHS, Reply, exchange, request

KEY = "dummy-upstream-key-0123456789"


@dataclass
class Trial:
    """One trial at the gateway, and what was recorded of it."""

    rig: Rig
    channel: Channel
    root: str
    token: str
    events: list[EventData]

    def of(self, kind: type[Any]) -> list[Any]:
        """The recorded events of a type."""
        return [event for event in list(self.events) if isinstance(event, kind)]

    @property
    def asked(self) -> list[ModelRequested]:
        """What was asked, in order."""
        return self.of(ModelRequested)

    @property
    def answers(self) -> list[ModelResponded]:
        """What was answered, in order."""
        return self.of(ModelResponded)

    def send(
        self,
        path: str,
        body: Any = None,
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
    ) -> Reply:
        """One request on a connection of its own."""
        given = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        return exchange(self.root, path, body, method=method, headers=given, timeout=timeout)

    def ask(self, dialect: str, *, headers: Mapping[str, str] | None = None, **options: Any) -> Reply:
        """The first request of a conversation in a dialect."""
        timeout = options.pop("timeout", 10.0)
        return self.send(PATHS[dialect], request(dialect, **options), headers=headers, timeout=timeout)

    def close(self) -> None:
        """Dismiss it."""
        self.rig.run(self.rig.gateway.dismiss(self.channel))

    def settled(self, calls: int = 1, within: float = 5.0) -> list[ModelResponded]:
        """The answers once there are so many: a client that goes is noticed a moment later."""
        self.rig.until(lambda: len(self.answers) >= calls, within)
        return self.answers


class Rig:
    """A gateway in its own loop and thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="gateway", daemon=True)
        self._thread.start()
        self._trials = 0
        self.gateway: Gateway = self.run(Gateway.start())

    def run(self, work: Any) -> Any:
        """The result of a coroutine in the gateway's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def until(self, true: Callable[[], bool], within: float = 5.0) -> None:
        """Return once a condition holds. Raises TimeoutError."""

        async def wait() -> None:
            async with asyncio.timeout(within):
                while not true():
                    await asyncio.sleep(0.005)

        self.run(wait())

    def admit(self, base: str | None, **options: Any) -> Trial:
        """A trial whose model is at `base`. Options are fields of ChannelSpec, and of its upstream by name."""
        self._trials += 1
        trial, events = f"{self._trials:04}", []  # type: tuple[str, list[EventData]]
        upstream = None
        if base is not None:
            names = ("dialect", "headers", "connect_s", "idle_s")
            given = {name: options.pop(name) for name in names if name in options}
            upstream = ResolvedUpstream(base_url=base, key=options.pop("key", KEY), **given)
        spec = ChannelSpec(
            **{
                "trial": trial, "token": f"token-of-{trial}", "upstream": upstream, "model": "test-model",
                "limits": Limits(), "sampling": SamplingWish(), "emit": events.append, **options,
            }
        )  # fmt: skip

        async def admit() -> Channel:
            return self.gateway.admit(spec)

        channel = self.run(admit())
        return Trial(self, channel, self.gateway.root(trial), spec.token, events)

    def close(self) -> None:
        """Stop it, with everything that is open."""
        self.run(self.gateway.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(30)
        self.loop.close()


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A gateway."""
    made = Rig()
    yield made
    made.close()


@dataclass
class Heard:
    """One request that an endpoint got: its head as text, its body as bytes."""

    head: str
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        """Header names in lower case."""
        lines = [line.partition(":") for line in self.head.split("\r\n")[1:] if line]
        return {name.lower(): value.strip() for name, _, value in lines}

    @property
    def line(self) -> str:
        """The request line."""
        return self.head.split("\r\n", 1)[0]


@dataclass
class Endpoint:
    """An endpoint that answers each request with the bytes that a test gave, and then does as it is told."""

    base: str
    heard: list[Heard] = field(default_factory=list)


@contextmanager
def saying(
    speak: Callable[[socket.socket, Heard], None],
    *,
    secure: Callable[[socket.socket], socket.socket] | None = None,
) -> Iterator[Endpoint]:
    """An endpoint that hands every request to `speak`, with its connection; closed when that returns."""
    listener = socket.create_server(("127.0.0.1", 0))
    endpoint = Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}")
    threads: list[threading.Thread] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=talk, args=(connection,), daemon=True)
            threads.append(thread)
            thread.start()

    def talk(connection: socket.socket) -> None:
        try:
            connection = secure(connection) if secure is not None else connection
        except OSError:
            return  # it did not like our certificate
        with connection:
            heard = _heard(connection)
            if heard is not None:
                endpoint.heard.append(heard)
                speak(connection, heard)

    accepting = threading.Thread(target=serve, daemon=True)
    accepting.start()
    try:
        yield endpoint
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in [accepting, *threads]:
            thread.join(10)


def _heard(connection: socket.socket) -> Heard | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    heard = Heard(head.decode("latin-1"), body)
    length = int(heard.headers.get("content-length", "0"))
    while len(heard.body) < length:
        piece = connection.recv(65536)
        if not piece:
            break
        heard.body += piece
    return heard


def reply(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole HTTP response with a length."""
    given = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def answering(whole: bytes) -> Callable[[socket.socket, Heard], None]:
    """Says the same to everybody."""

    def speak(connection: socket.socket, _: Heard) -> None:
        connection.sendall(whole)

    return speak
