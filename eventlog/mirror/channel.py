"""Frames over one TLS connection: bounded in size, and in time by what moves, not by how much there is to do."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from types import TracebackType
from typing import TypeVar

import msgspec

from eventlog.mirror.errors import BadPeer, Refused, Unreachable
from eventlog.mirror.messages import (
    ANSWER,
    ASK,
    DATA_BYTES,
    LIMITS,
    SILENCE_S,
    Answer,
    Answered,
    Ask,
    Asked,
    Kind,
    Refusal,
)

T = TypeVar("T")

_HEAD = struct.Struct(">BI")
#: How often a side that works for long says so.
_KEEPALIVE_S = 2.0
#: How long a refused peer has to read why.
_LINGER_S = 1.0


class Channel:
    """One connection, used by one thread. `peer` names the other side in messages."""

    def __init__(self, connection: ssl.SSLSocket, peer: str) -> None:
        self._socket = connection
        self.peer = peer
        self._last_sent = time.monotonic()
        #: Bytes of payload received so far.
        self.received = 0

    def send(self, kind: Kind, payload: bytes = b"") -> None:
        """Send one frame. Raises Unreachable."""
        try:
            self._socket.settimeout(SILENCE_S)
            self._socket.sendall(_HEAD.pack(kind, len(payload)) + payload)
        except (OSError, ValueError) as error:
            raise Unreachable(f"the connection to {self.peer} broke: {_why(error)}") from error
        self._last_sent = time.monotonic()

    def keepalive(self) -> None:
        """Say that this side is at work, if nothing else was said lately."""
        if time.monotonic() - self._last_sent > _KEEPALIVE_S:
            self.send(Kind.KEEPALIVE)

    def receive(
        self, *expected: Kind, silence_s: float = SILENCE_S, deadline: float | None = None
    ) -> tuple[Kind, bytes]:
        """The next frame, which must be one of `expected`. Raises Unreachable, BadPeer, Refused.

        It waits while something comes at least every `silence_s` seconds. With `deadline` (monotonic seconds), as in
        the greeting, no longer than that, however much comes, and no KEEPALIVE belongs there.
        """
        while True:
            kind, payload = self._frame(expected, silence_s, deadline)
            if kind is Kind.REFUSED:
                refusal = self._decoded(msgspec.json.Decoder(Refusal), payload)
                raise Refused(f"{self.peer} refused: {refusal.text}", refusal.code)
            if kind is not Kind.KEEPALIVE:
                return kind, payload

    def _frame(
        self, expected: tuple[Kind, ...], silence_s: float, deadline: float | None
    ) -> tuple[Kind, bytes]:
        code, length = _HEAD.unpack(self._exactly(_HEAD.size, silence_s, deadline))
        allowed = (
            (*expected, Kind.REFUSED) if deadline is not None else (*expected, Kind.REFUSED, Kind.KEEPALIVE)
        )
        if code not in allowed:
            raise BadPeer(f"{self.peer} sent a frame of kind {code} where none belongs")
        kind = Kind(code)
        # Before a byte of it is read or room for it made: this is what bounds memory.
        if length > LIMITS[kind]:
            raise BadPeer(
                f"{self.peer} announced a frame of {length} bytes, more than the {LIMITS[kind]} allowed"
            )
        return kind, bytes(self._exactly(length, silence_s, deadline))

    def _exactly(self, count: int, silence_s: float, deadline: float | None) -> bytearray:
        buffer = bytearray(count)
        view, got = memoryview(buffer), 0
        while got < count:
            wait = silence_s if deadline is None else min(silence_s, deadline - time.monotonic())
            if wait <= 0:
                raise Unreachable(f"{self.peer} did not end its greeting in time")
            try:
                self._socket.settimeout(wait)
                size = self._socket.recv_into(view[got:])
            except TimeoutError as error:
                raise Unreachable(f"{self.peer} said nothing for {silence_s:g} s") from error
            except (OSError, ValueError) as error:
                raise Unreachable(f"the connection to {self.peer} broke: {_why(error)}") from error
            if not size:
                raise Unreachable(f"{self.peer} closed the connection")
            got += size
        self.received += count
        return buffer

    def _decoded(self, decoder: msgspec.json.Decoder[T], payload: bytes) -> T:
        try:
            return decoder.decode(payload)
        except (ValueError, RecursionError) as error:
            raise BadPeer(f"{self.peer} sent what does not read as a message: {error}") from None

    def say(self, kind: Kind, message: msgspec.Struct) -> None:
        """Send one message as JSON."""
        self.send(kind, msgspec.json.encode(message))

    def hear(self, kind: Kind, form: type[T], deadline: float) -> T:
        """The next message of the greeting. Raises as `receive` does."""
        return self._decoded(msgspec.json.Decoder(form), self.receive(kind, deadline=deadline)[1])

    def ask(self, question: Ask) -> None:
        """Send a question."""
        self.say(Kind.ASK, question)

    def asked(self, silence_s: float) -> Asked:
        """The next question of the other side."""
        return self._decoded(ASK, self.receive(Kind.ASK, silence_s=silence_s)[1])

    def answer(self, answer: Answer, data: bytes | memoryview = b"") -> None:
        """Send an answer, whose `bytes` is the length of `data`, and the data."""
        self.say(Kind.ANSWER, answer)
        for offset in range(0, len(data), DATA_BYTES):
            self.send(Kind.DATA, bytes(data[offset : offset + DATA_BYTES]))

    def answered(self) -> tuple[Answered, bytes]:
        """The next answer, and the data that it brings."""
        answer = self._decoded(ANSWER, self.receive(Kind.ANSWER)[1])
        data = bytearray()
        while len(data) < answer.bytes:
            _, payload = self.receive(Kind.DATA)
            if not payload or len(data) + len(payload) > answer.bytes:
                raise BadPeer(f"{self.peer} sent another amount of data than it announced")
            data += payload
        return answer, bytes(data)

    def refuse(self, code: str, text: str) -> None:
        """Say why not; the connection is to be closed next. Errors are not told: the other side is gone then."""
        try:
            self.say(Kind.REFUSED, Refusal(code=code, text=text[:2000]))
        except Unreachable:
            return
        linger(self._socket)

    def shut(self) -> None:
        """Wake whoever waits in this channel, from another thread: its wait ends with Unreachable."""
        try:
            # Not SSLSocket.shutdown, which takes the TLS object away from under the other thread.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            return  # it is closed already

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._socket.close()

    def __enter__(self) -> Channel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def linger(connection: socket.socket) -> None:
    """Let the last words arrive before a connection is closed, for a moment.

    A socket that is closed while something unread waits in it is reset, and what was sent last is lost with it.
    """
    deadline = time.monotonic() + _LINGER_S
    try:
        # Below TLS, if there is any: nobody is interested in what this throws away.
        socket.socket.shutdown(connection, socket.SHUT_WR)
        while (left := deadline - time.monotonic()) > 0:
            connection.settimeout(left)
            if not socket.socket.recv(connection, 65536):
                return
    except OSError:
        return


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it takes nothing any more"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    return str(getattr(error, "strerror", None) or error)
