"""The source at the other end of a connection, and the loop that answers for one.

Where there is more to ask than one thing (the pieces of a file, blobs of a few bytes each by the thousand)
several questions go out before the first answer is in, so that a long way costs its time once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from eventlog.blobs import BlobNotFound
from eventlog.errors import DamageError, LogError, StreamBusy, StreamNotFound
from eventlog.mirror import messages
from eventlog.mirror.channel import Channel
from eventlog.mirror.errors import BadPeer, Changed, Parted, Refused
from eventlog.mirror.messages import Answer, Ask, Digested, Failed, Head, Listed, SealedFile, Units
from eventlog.mirror.source import PieceOf, StoreSource

A = TypeVar("A", bound=Answer)
#: Questions that may be out at once; small enough never to fill the way to the other side.
_AHEAD = 16


class RemoteSource:
    """See `source.Source`. `name` is how the user calls the other side, `store` the id that it gave."""

    def __init__(self, channel: Channel, name: str, store: str) -> None:
        self._channel = channel
        self._name = name
        self._store = store

    @property
    def name(self) -> str:
        """The address."""
        return self._name

    @property
    def store(self) -> str:
        """The id of the store there."""
        return self._store

    @property
    def received(self) -> int:
        """Bytes that came over this connection."""
        return self._channel.received

    def keepalive(self) -> None:
        """Tell the other side that this one is at work."""
        self._channel.keepalive()

    def streams(self) -> list[Listed]:
        """See `Source`."""
        return self._asked(messages.Streams(), messages.StreamList)[0].streams

    def head(self, stream: str) -> Head:
        """See `Source`."""
        return self._asked(messages.GetHead(stream=stream), Head)[0]

    def link(self, stream: str, seq: int) -> bytes | None:
        """See `Source`."""
        link = self._asked(messages.GetLink(stream=stream, seq=seq), messages.LinkAt)[0].link
        return bytes.fromhex(link) if link is not None else None

    def digest(self, stream: str, first: int, last: int) -> Digested:
        """See `Source`."""
        answer, _ = self._asked(messages.GetDigest(stream=stream, first=first, last=last), Digested)
        if not first <= answer.last <= last:
            raise BadPeer(f"{self._name} answered for other events than it was asked")
        return answer

    def units(self, stream: str, after: int, link: bytes, *, wait: bool) -> tuple[Units, bytes]:
        """See `Source`."""
        question = messages.GetUnits(stream=stream, after=after, link=link.hex(), wait=wait)
        return self._asked(question, Units)

    def sealed_pieces(self, stream: str, file: SealedFile, offset: int, most: int) -> Iterator[bytes]:
        """See `Source`."""
        questions = [
            messages.GetSealed(stream=stream, first=file.first, tag=file.tag, offset=at)
            for at in range(offset, min(file.size, offset + most), messages.PIECE_BYTES)
        ]
        for _, data in self._several(questions, messages.Piece):
            yield data

    def manifest(self, stream: str) -> bytes:
        """See `Source`."""
        return self._asked(messages.GetManifest(stream=stream), messages.Piece)[1]

    def blob_pieces(self, wanted: Sequence[tuple[str, int]]) -> Iterator[PieceOf]:
        """See `Source`."""
        questions = [messages.GetBlob(digest=digest, offset=offset) for digest, offset in wanted]
        for answer, data in self._several(questions, messages.Piece):
            yield PieceOf(answer.size, data)

    def _several(self, questions: Sequence[Ask], form: type[A]) -> Iterator[tuple[A, bytes]]:
        """Answers to all questions in their order, of which some are out before the first answer is in."""
        out = 0
        for index in range(len(questions)):
            while out < len(questions) and out < index + _AHEAD:
                self._channel.ask(questions[out])
                out += 1
            try:
                yield self._answer(form)
            except (Changed, Refused):
                for _ in range(out - index - 1):
                    self._channel.answered()  # what was asked for comes, wanted or not
                raise

    def _asked(self, question: Ask, form: type[A]) -> tuple[A, bytes]:
        self._channel.ask(question)
        return self._answer(form)

    def _answer(self, form: type[A]) -> tuple[A, bytes]:
        answer, data = self._channel.answered()
        if isinstance(answer, Failed):
            raise _as_error(answer, self._name)
        if not isinstance(answer, form):
            raise BadPeer(f"{self._name} gave another answer than was asked for")
        return answer, data


def _as_error(failed: Failed, name: str) -> LogError:
    if failed.code == "changed":
        return Changed(failed.text)
    if failed.code == "parted":
        return Parted(failed.text, 0)
    return Refused(f"{name}: {failed.text}", failed.code)


def failed(error: LogError) -> Failed:
    """How an error is told to the other side."""
    code = "other"
    for kind, word in _CODES.items():
        if isinstance(error, kind):
            code = word
    return Failed(code=code, text=str(error)[:2000])


_CODES: dict[type[LogError], str] = {
    StreamNotFound: "not_found",
    BlobNotFound: "not_found",
    Changed: "changed",
    Parted: "parted",
    DamageError: "damaged",
    StreamBusy: "busy",
}


def answer(channel: Channel, source: StoreSource, question: messages.Asked) -> bool:
    """Answer one question from `source`; False for one that is not about a source. Raises Unreachable."""
    try:
        reply = _reply(source, question)
        if reply is None:
            return False
        said, data = reply
    except LogError as error:
        said, data = failed(error), b""
    except OSError as error:
        said, data = Failed(code="other", text=f"it cannot be read: {error.strerror or error}"), b""
    channel.answer(said, data)
    return True


def _reply(source: StoreSource, question: messages.Asked) -> tuple[Answer, bytes] | None:
    match question:
        case messages.Streams():
            return messages.StreamList(streams=source.streams()), b""
        case messages.GetHead(stream=stream):
            return source.head(stream), b""
        case messages.GetLink(stream=stream, seq=seq):
            link = source.link(stream, seq)
            return messages.LinkAt(link=link.hex() if link is not None else None), b""
        case messages.GetDigest(stream=stream, first=first, last=last):
            return source.digest(stream, first, last), b""
        case messages.GetUnits(stream=stream, after=after, link=named, wait=wait):
            return source.units(stream, after, bytes.fromhex(named), wait=wait)
        case messages.GetSealed(stream=stream, first=first, tag=tag, offset=offset):
            piece = source.sealed_piece(stream, first, tag, offset)
            return messages.Piece(size=piece.size, bytes=len(piece.data)), piece.data
        case messages.GetManifest(stream=stream):
            data = source.manifest(stream)
            # Whoever copies can make the same from the sealed files where it is too large to be sent.
            data = data if len(data) <= messages.ANSWER_BYTES else b""
            return messages.Piece(size=len(data), bytes=len(data)), data
        case messages.GetBlob(digest=digest, offset=offset):
            (piece,) = source.blob_pieces([(digest, offset)])
            return messages.Piece(size=piece.size, bytes=len(piece.data)), piece.data
        case _:
            return None
