"""One request and what came back for it: everything that is measured on its way."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hemra.gateway.decoding import Decoder, Undecodable, decoder
from hemra.gateway.normal import Answer, AnswerReader

if TYPE_CHECKING:
    from hemra.gateway.asked import Asked
    from hemra.gateway.memory import Holding
    from hemra.gateway.seen import Seen

#: Bytes of a failure's body that are kept where it is no JSON.
_MOST_SAID = 8 << 10
#: A failure's body that is longer than this is not read to its end.
_MOST_READ = 256 << 10
#: No answer of a model is as large; what is larger is not kept for cassettes.
_MOST_KEPT = 64 << 20
#: Bytes of an answer that may wait to be read.
_MOST_UNREAD = 256 << 10

#: Headers that belong to an answer and not to its way here.
_TELLING = ("content-type", "retry-after", "x-should-retry")

#: What ends an answer in each dialect, at the beginning of a line: no JSON text holds a bare newline.
_LAST = {
    "chat": (b"data: [DONE]", b"data:[DONE]"),
    "messages": (b"event: message_stop", b"event:message_stop"),
    "responses": tuple(
        b"event:%s response.%s" % (blank, end)
        for end in (b"completed", b"incomplete", b"failed")
        for blank in (b"", b" ")
    ),
}


class Exchange:
    """One call. Times are nanoseconds since its request came; null = not so far.

    `ended` and `error` are as in `model.responded`; `status` null where nothing was answered. `turn`: it counts as a
    turn of the conversation. `requested`: its request is in the record. `counted`: it was sent on and counts for the
    budgets; `main`: it is no side call. `passing`: a piece
    is on its way to the harness. `spoken`: the answer's last word has come, though its connection may still be open.
    `holding`: what it takes of the memory.
    """

    def __init__(self, call: str, asked: Asked, arrived_ns: int, *, keep: bool, holding: Holding) -> None:
        self.call = call
        self.holding = holding
        self.asked = asked
        self.task = asyncio.current_task()
        self.seen: Seen | None = None
        self.turn = False
        self.main = False
        self.passing = False
        self.counted = False
        self.delayed_ms: int | None = None
        self.status: int | None = None
        self.ended: str | None = None
        self.error: Any = None
        self.replayed: str | None = None
        self.headers: dict[str, str] = {}
        self.answer: Answer | None = None
        self.reading_failed: str | None = None
        self.first_byte_ns: int | None = None
        self.first_token_ns: int | None = None
        self.last_token_ns: int | None = None
        self.bytes = 0
        self.kept: list[bytes] | None = [] if keep else None
        self.spoken = False
        self.requested = False
        self.settled = False
        self._arrived = arrived_ns
        self._heard_ns = 0
        self._digest = hashlib.sha256()
        self._reader: AnswerReader | None = None
        self._decoder: Decoder | None = None
        self._tokens = 0
        self._failure: list[bytes] | None = None
        self._last: tuple[bytes, ...] = ()
        self._closing = False
        self._unread: deque[tuple[int, bytes]] = deque()
        self._unread_bytes = 0
        self._kept_bytes = 0

    def now(self) -> int:
        """Nanoseconds since the request came."""
        return time.monotonic_ns() - self._arrived

    @property
    def silent_s(self) -> float:
        """Seconds since anything was heard of the answer. Nothing can be heard while the harness does not read."""
        return 0.0 if self.passing else (self.now() - self._heard_ns) / 1e9

    @property
    def pieces(self) -> int:
        """Pieces of text, reasoning or arguments so far: it used no fewer tokens."""
        return self._tokens

    @property
    def digest(self) -> str | None:
        """`sha256:<hex>` over the body so far; null where there was no answer."""
        return None if self.status is None else "sha256:" + self._digest.hexdigest()

    def sent(self) -> None:
        """The request goes out: silence counts from now on."""
        self._heard_ns = self.now()

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer has come; names of `headers` in any case."""
        low = {name.lower(): value for name, value in headers.items()}
        self.headers = {name: low[name] for name in _TELLING if name in low}
        content_type, encoding = low.get("content-type", "").lower(), low.get("content-encoding")
        self.status = status
        self.first_byte_ns = self._heard_ns = self.now()
        dialect, request = self.asked.dialect, self.asked.request
        try:
            self._decoder = decoder(encoding)
        except Undecodable as error:
            self._cannot_read(str(error))
        if status >= 400:
            self._failure = []
        elif dialect is not None:
            asked_stream = request is not None and request.stream
            stream = "event-stream" in content_type or (asked_stream and "json" not in content_type)
            self._reader = dialect.reader(stream=stream)
            self._last = _LAST.get(dialect.name, ()) if stream else ()

    def take(self, chunk: bytes) -> None:
        """More of the body, as it came. It has been passed on already, and is read later."""
        heard = self._heard_ns = self.now()
        self.passing = False
        self.bytes += len(chunk)
        self._unread.append((heard, chunk))
        self._unread_bytes += len(chunk)
        if self._unread_bytes > _MOST_UNREAD:
            self.catch_up()

    def catch_up(self) -> None:
        """Read all that was taken."""
        while self._unread:
            self.read_one()

    def read_one(self) -> None:
        """Read one piece of what was taken, if there is one."""
        if not self._unread:
            return
        heard, chunk = self._unread.popleft()
        self._unread_bytes -= len(chunk)
        self._digest.update(chunk)
        if self._decoder is None:
            return
        try:
            plain = self._decoder.feed(chunk)
            self._keep(plain)
            self._read(plain, heard)
        except Undecodable as error:
            self._cannot_read(str(error))
        except Exception as error:  # noqa: BLE001 - whatever a reader does, bytes are passed on
            self._cannot_read(repr(error))

    def _cannot_read(self, why: str) -> None:
        self._decoder, self.reading_failed = None, f"the answer could not be read: {why}"
        self._forget_copy()  # a part of it would be played as if it were the whole

    def _keep(self, plain: bytes) -> None:
        """Take the room that a piece needs. Where there is too little the copy goes first: it is of use to a later run
        only."""
        if self._reader is not None and not self.holding.answer.more(len(plain)):
            self._forget_copy()
            if not self.holding.answer.more(len(plain)):
                raise Undecodable("there is too much of the answers that are under way")
        if self.kept is not None:
            self._kept_bytes += len(plain)
            if self._kept_bytes <= _MOST_KEPT and self.holding.copy.more(len(plain)):
                self.kept.append(plain)
            else:
                self._forget_copy()

    def _forget_copy(self) -> None:
        self.kept = None
        self.holding.copy.free()

    def _read(self, plain: bytes, heard: int) -> None:
        if self._failure is not None:
            if sum(map(len, self._failure)) < _MOST_READ:
                self._failure.append(plain)
            return
        if self._reader is None:
            return
        self._reader.feed(plain)
        if self._reader.tokens != self._tokens:
            self._tokens = self._reader.tokens
            self.last_token_ns = heard
            if self.first_token_ns is None:
                self.first_token_ns = heard
        self._closing = self._closing or any(
            last in plain and (plain.startswith(last) or b"\n" + last in plain) for last in self._last
        )
        self.spoken = self._closing and plain.endswith((b"\n\n", b"\r\n\r\n"))

    def finish(self, ended: str) -> None:
        """The call is over; `ended` is what its connections say, and what was read may say it better."""
        self.catch_up()
        if self._reader is not None and self._decoder is not None:
            try:
                self.answer = self._reader.finish()
            except Exception as error:  # noqa: BLE001 - as in `read_one`
                self.reading_failed = f"the answer could not be read: {error!r}"
        self.ended = self._how(ended)
        if self._failure is not None and self.error is None:
            self.error = _parsed(b"".join(self._failure))
        if self.error is None and self.answer is not None:
            self.error = self.answer.error
        if self.error is None:
            self.error = self.reading_failed or self.asked.problem

    def _how(self, ended: str) -> str:
        if ended == "refused" or self.status is None:
            return ended
        if self.status >= 400:
            return ended if ended == "timeout" else "error"
        answer = self.answer
        if answer is None:
            return ended
        if answer.complete:
            return "complete"  # whatever the connection did after that
        if ended != "complete":
            return ended
        if answer.junk:
            return "junk"
        return "error" if answer.error is not None else "cut"

    @property
    def served(self) -> bool:
        """Whether the endpoint began to answer the question."""
        return self.status is not None and self.status < 400 and self.ended != "refused"

    @property
    def whole(self) -> bool:
        """Whether an answer came in order."""
        return self.ended == "complete"

    @property
    def empty(self) -> bool:
        """Whether an answer in order has nothing in it."""
        answer = self.answer
        return (
            answer is not None and answer.complete and not (answer.text or answer.calls or answer.reasoning)
        )

    def let_go(self) -> None:
        """What was asked is in the record: it is not kept for as long as the answer takes."""
        asked = self.asked
        asked.plain = b""
        if asked.request is not None:
            asked.request = msgspec.structs.replace(asked.request, messages=())
        self.holding.reading.free()

    def has_gone(self) -> None:
        """The endpoint has got the request: its body is not kept for as long as the answer takes."""
        self.asked.sent = b""
        self.holding.body.free()

    def stop(self) -> None:
        """Break it off."""
        if self.task is not None:
            self.task.cancel()


def _parsed(body: bytes) -> Any:
    """What a failure's body says: its JSON, else its text, at its beginning."""
    if len(body) < _MOST_READ:
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            pass
    return body[:_MOST_SAID].decode("utf-8", "replace") or None
