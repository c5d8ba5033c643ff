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
LARGEST = 256 << 20


class Undecodable(ValueError):
    """The bytes are not in the encoding that they claim, or in one that cannot be read here."""


class Decoder(Protocol):
    """Unpacks bytes as they come."""

    def feed(self, chunk: bytes) -> bytes:
        """What these bytes add. Raises Undecodable."""


class _Plain:
    def feed(self, chunk: bytes) -> bytes:
        return chunk


class _Zlib:
    """gzip, also of several members, and deflate with or without the header that it should have."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._unpack = zlib.decompressobj(bits)
        self._head: bytes | None = b""  # what came before it is clear which of the two it is
        self._size = 0

    def feed(self, chunk: bytes) -> bytes:
        out = []
        while chunk:
            out.append(self._some(chunk))
            chunk = self._unpack.unused_data
            if self._unpack.eof and self._bits > zlib.MAX_WBITS:
                self._unpack = zlib.decompressobj(self._bits)
            elif self._unpack.eof:
                break
        found = b"".join(out)
        self._size += len(found)
        if self._size > LARGEST:
            raise Undecodable(f"more than {LARGEST >> 20} MiB when unpacked")
        return found

    def _some(self, chunk: bytes) -> bytes:
        try:
            found = self._unpack.decompress(chunk, LARGEST + 1)
        except zlib.error as error:
            if self._head is None or self._bits != zlib.MAX_WBITS:
                raise Undecodable(str(error)) from error
            head, self._head = self._head, None
            self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._some(head + chunk)
        if self._head is not None:
            self._head = self._head + chunk if len(self._head) + len(chunk) < 2 else None
        return found


class _Foreign:
    """An unpacker of a library, with that library's errors."""

    def __init__(self, unpack: Callable[[bytes], bytes], errors: type[Exception]) -> None:
        self._unpack, self._errors = unpack, errors
        self._size = 0

    def feed(self, chunk: bytes) -> bytes:
        try:
            found = self._unpack(chunk)
        except self._errors as error:
            raise Undecodable(str(error)) from error
        self._size += len(found)
        if self._size > LARGEST:
            raise Undecodable(f"more than {LARGEST >> 20} MiB when unpacked")
        return found


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


def decoder(encoding: str | None) -> Decoder:
    """A decoder for the value of a Content-Encoding header. Raises Undecodable for one that cannot be read here."""
    names = [name.strip().lower() for name in (encoding or "").split(",") if name.strip()]
    chain = [_one(name) for name in reversed(names) if name != "identity"]
    if not chain:
        return _Plain()
    return chain[0] if len(chain) == 1 else _Chain(chain)


def decoded(body: bytes, encoding: str | None) -> bytes:
    """A whole body, unpacked. Raises Undecodable."""
    return decoder(encoding).feed(body)


def _one(name: str) -> Decoder:
    if name not in readable():
        raise Undecodable(f"content encoding {name!r} cannot be read here")
    if name in ("gzip", "x-gzip"):
        return _Zlib(zlib.MAX_WBITS | 16)
    if name == "deflate":
        return _Zlib(zlib.MAX_WBITS)
    if name == "zstd":
        import zstandard

        unpack = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)
        return _Foreign(unpack.decompress, zstandard.ZstdError)
    brotli = importlib.import_module("brotli")
    return _Foreign(brotli.Decompressor().process, brotli.error)


def offered(accept_encoding: str) -> str:
    """An Accept-Encoding header without what cannot be read here; `identity` where nothing is left."""
    kept = [
        part.strip()
        for part in accept_encoding.split(",")
        if part.partition(";")[0].strip().lower() in readable()
    ]
    return ", ".join(kept) or "identity"
