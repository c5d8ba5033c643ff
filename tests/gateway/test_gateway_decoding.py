"""What is packed is read in whatever pieces it comes, and what cannot be read is not asked for."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
import zstandard

from hemra.gateway import decoding
from hemra.gateway.decoding import Undecodable, decoded, decoder, offered

TEXT = b'data: {"text": "one two three"}\n\n' * 300


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED: dict[str, tuple[str | None, Callable[[bytes], bytes]]] = {
    "plain": (None, bytes),
    "identity": ("identity", bytes),
    "gzip": ("gzip", gzip.compress),
    "gzip of two members": ("x-gzip", lambda data: gzip.compress(data[:500]) + gzip.compress(data[500:])),
    "deflate": ("deflate", zlib.compress),
    "deflate as some write it": ("deflate", _raw_deflate),
    "zstd": ("zstd", zstandard.ZstdCompressor().compress),
    "zstd of two frames": (
        "zstd",
        lambda data: b"".join(zstandard.ZstdCompressor().compress(part) for part in (data[:500], data[500:])),
    ),
    "two after each other": (
        "gzip, zstd",
        lambda data: zstandard.ZstdCompressor().compress(gzip.compress(data)),
    ),
}


@pytest.mark.parametrize("how", PACKED)
def test_packed_bytes_are_read_in_any_pieces(how: str) -> None:
    """A stream is cut anywhere, and what has come must be read then and not at its end."""
    encoding, pack = PACKED[how]
    packed = pack(TEXT)
    assert decoded(packed, encoding) == TEXT
    for size in (1, 7, 4096):
        reader = decoder(encoding)
        assert b"".join(reader.feed(packed[at : at + size]) for at in range(0, len(packed), size)) == TEXT


def test_what_was_flushed_is_read_at_once() -> None:
    """The first token of a packed stream is told when it comes."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    first = packer.compress(b"data: 1\n\n") + packer.flush(zlib.Z_SYNC_FLUSH)
    assert decoder("gzip").feed(first) == b"data: 1\n\n"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_what_is_not_packed_as_it_says_is_refused(encoding: str) -> None:
    """Taken as it is, garbage would be read for an answer."""
    with pytest.raises(Undecodable):
        decoded(b"this is no packed text at all, is it", encoding)


def test_an_encoding_that_nobody_knows_is_refused() -> None:
    """A model's answer in it would count as empty."""
    with pytest.raises(Undecodable, match="compress"):
        decoder("compress")


def test_a_small_body_that_unpacks_to_gigabytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kilobyte of zeros would take the run's memory."""
    monkeypatch.setattr(decoding, "LARGEST", 1 << 20)
    zeros = bytes(4 << 20)
    for encoding, packed in (
        ("gzip", gzip.compress(zeros)),
        ("zstd", zstandard.ZstdCompressor().compress(zeros)),
    ):
        with pytest.raises(Undecodable, match="more than 1 MiB"):
            decoded(packed, encoding)


def test_only_what_can_be_read_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real endpoints answer in brotli where a client offers it; every answer would be unreadable."""
    monkeypatch.setattr(decoding, "readable", lambda: frozenset({"identity", "gzip", "deflate", "zstd"}))
    assert offered("gzip, deflate, br, zstd") == "gzip, deflate, zstd"
    assert offered("br;q=1.0, GZIP;q=0.8, *;q=0.1") == "GZIP;q=0.8"
    assert offered("br") == "identity"
    monkeypatch.setattr(decoding, "readable", lambda: frozenset({"br", "gzip"}))
    assert offered("gzip, br") == "gzip, br"
