"""Reads bodies that are compressed. What is forwarded stays as it came; this is for the copy that is read.

Brotli can be read where the package `brotli` is installed. What cannot be read here is not offered to the
endpoint: an answer that nobody could read would count as nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import zlib
from collections.abc import Callable
from functools import cache
from typing import Protocol

#: No body that is read is larger than this when unpacked: a few kilobytes can stand for gigabytes.
LARGEST = 64 << 20
#: The window that RFC 9659 allows a zstd frame on the web: it is memory that the frame's head asks for.
_WINDOW = 8 << 20
#: Members of a gzip body, each of which costs time even where it is empty.
_MEMBERS = 10_000
#: Encodings around one another.
_DEPTH = 3
#: What is unpacked in one go: what is behind a member is copied, and must not be copied again for every member.
_PIECE = 64 << 10
#: The same for an unpacker that takes no limit.
_SMALL_PIECE = 32


class Undecodable(ValueError):
    """The bytes are not in the encoding that they claim, or in one that cannot be read here."""


class Overlong(Undecodable):
    """The bytes are more than may be unpacked."""


class Decoder(Protocol):
    """Unpacks bytes as they come."""

    def feed(self, chunk: bytes) -> bytes:
        """What these bytes add. Raises Undecodable."""


class _Plain:
    def feed(self, chunk: bytes) -> bytes:
        return chunk


class _Room:
    """Holds what one feed unpacks, and knows what may still come. A file to write to, for libraries."""

    def __init__(self, most: int) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._most = most

    @property
    def left(self) -> int:
        """Bytes that may still come."""
        return self._most - self._size

    def write(self, part: bytes) -> int:
        """Take more. Raises Overlong where there is no room for it."""
        self._size += len(part)
        if self._size > self._most:
            self._parts.clear()
            raise Overlong(f"more than {self._most >> 20} MiB when unpacked")
        if part:
            self._parts.append(bytes(part))
        return len(part)

    def taken(self) -> bytes:
        """What has come since it was asked last."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


class _Zlib:
    """gzip, also of several members, and deflate with or without the header that it should have."""

    def __init__(self, bits: int, most: int) -> None:
        self._bits = bits
        self._unpack = zlib.decompressobj(bits)
        self._head: bytes | None = b""  # what came before it is clear which of the two it is
        self._room = _Room(most)
        self._members = 1

    def feed(self, chunk: bytes) -> bytes:
        for at in range(0, len(chunk), _PIECE):
            if not self._piece(chunk[at : at + _PIECE]):
                break
        return self._room.taken()

    def _piece(self, chunk: bytes) -> bool:
        """Unpack a piece; whether more may follow."""
        while chunk:
            self._room.write(self._some(chunk))
            chunk = self._unpack.unused_data
            if not self._unpack.eof:
                continue
            if self._bits <= zlib.MAX_WBITS:
                return False
            self._members += 1
            if self._members > _MEMBERS:
                raise Undecodable(f"more than {_MEMBERS} members")
            self._unpack = zlib.decompressobj(self._bits)
        return True

    def _some(self, chunk: bytes) -> bytes:
        try:
            found = self._unpack.decompress(chunk, self._room.left + 1)
        except zlib.error as error:
            if self._head is None or self._bits != zlib.MAX_WBITS:
                raise Undecodable(str(error)) from error
            head, self._head = self._head, None
            self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._some(head + chunk)
        if self._head is not None:
            self._head = self._head + chunk if len(self._head) + len(chunk) < 2 else None
        return found


class _Zstd:
    """zstd, also of several frames."""

    def __init__(self, most: int) -> None:
        import zstandard

        self._room, self._error = _Room(most), zstandard.ZstdError
        unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        self._writer = unpacker.stream_writer(self._room, closefd=False)  # type: ignore[arg-type]

    def feed(self, chunk: bytes) -> bytes:
        try:
            self._writer.write(chunk)
        except self._error as error:
            raise Undecodable(str(error)) from error
        return self._room.taken()


class _Brotli:
    """brotli, with the package's own limit where its version has one."""

    def __init__(self, most: int) -> None:
        brotli = importlib.import_module("brotli")
        self._room, self._error = _Room(most), brotli.error
        self._unpack: Callable[..., bytes] = brotli.Decompressor().process
        self._limits = hasattr(brotli.Decompressor, "can_accept_more_data")

    def feed(self, chunk: bytes) -> bytes:
        size = _PIECE if self._limits else _SMALL_PIECE
        try:
            for at in range(0, len(chunk), size):
                limit = {"output_buffer_limit": self._room.left + 1} if self._limits else {}
                self._room.write(self._unpack(chunk[at : at + size], **limit))
        except self._error as error:
            raise Undecodable(str(error)) from error
        return self._room.taken()


class _Chain:
    def __init__(self, decoders: list[Decoder]) -> None:
        self._decoders = decoders

    def feed(self, chunk: bytes) -> bytes:
        for decoder in self._decoders:
            chunk = decoder.feed(chunk)
        return chunk


@cache
def readable() -> frozenset[str]:
    """The encodings that can be read here, `identity` among them."""
    brotli = {"br"} if importlib.util.find_spec("brotli") is not None else set()
    return frozenset({"identity", "gzip", "x-gzip", "deflate", "zstd"} | brotli)


def decoder(encoding: str | None, *, most: int | None = None) -> Decoder:
    """A decoder for the value of a Content-Encoding header, of up to `most` bytes (null: LARGEST, which is the most
    anyway). Raises Undecodable for an encoding that cannot be read here."""
    room = LARGEST if most is None else min(most, LARGEST)
    names = [name.strip().lower() for name in (encoding or "").split(",") if name.strip()]
    if len(names) > _DEPTH:
        raise Undecodable(f"more than {_DEPTH} encodings around one another")
    chain = [_one(name, room) for name in reversed(names) if name != "identity"]
    if not chain:
        return _Plain()
    return chain[0] if len(chain) == 1 else _Chain(chain)


def decoded(body: bytes, encoding: str | None, *, most: int | None = None) -> bytes:
    """A whole body, unpacked. Raises Undecodable, for more than `most` bytes (null: LARGEST) Overlong."""
    found = decoder(encoding, most=most).feed(body)
    room = LARGEST if most is None else min(most, LARGEST)
    if len(found) > room:
        raise Overlong(f"more than {room >> 20} MiB")
    return found


def _one(name: str, most: int) -> Decoder:
    if name not in readable():
        raise Undecodable(f"content encoding {name!r} cannot be read here")
    if name in ("gzip", "x-gzip"):
        return _Zlib(zlib.MAX_WBITS | 16, most)
    if name == "deflate":
        return _Zlib(zlib.MAX_WBITS, most)
    return _Zstd(most) if name == "zstd" else _Brotli(most)


def offered(accept_encoding: str) -> str:
    """An Accept-Encoding header without what cannot be read here; `identity` where nothing is left."""
    kept = [
        part.strip()
        for part in accept_encoding.split(",")
        if part.partition(";")[0].strip().lower() in readable()
    ]
    return ", ".join(kept) or "identity"
