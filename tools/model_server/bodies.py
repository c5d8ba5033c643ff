"""Bodies of requests as they come: compressed or not, within a limit."""

from __future__ import annotations

import zlib

from .exchange import BadRequest

#: Bytes of a request, compressed and not.
LIMIT = 64 * 2**20


class Unreadable(BadRequest):
    """The body cannot be read; `status` is what HTTP says to that."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def decoded(body: bytes, encodings: str) -> bytes:
    """The body without its content encodings (a header's value; the last one was applied last).

    Raises Unreadable: 415 for an encoding that is not known, 413 beyond LIMIT, 400 for bytes that are not in it.
    """
    for encoding in reversed([each.strip().lower() for each in encodings.split(",") if each.strip()]):
        if encoding == "identity":
            continue
        if encoding not in ("gzip", "x-gzip", "deflate", "zstd"):
            raise Unreadable(415, f"content encoding {encoding!r} is not known; gzip, deflate and zstd are")
        try:
            body = _zstd(body) if encoding == "zstd" else _zlib(body)
        except (zlib.error, EOFError) as error:
            raise Unreadable(400, f"the body is not {encoding}: {error}") from error
    return body


def _zlib(body: bytes) -> bytes:
    """Gzip and zlib, told apart by their heads; a bare deflate stream too."""
    bare = len(body) >= 2 and body[:2] != b"\x1f\x8b" and (body[0] & 15 != 8 or int.from_bytes(body[:2]) % 31)
    decompressor = zlib.decompressobj(-zlib.MAX_WBITS if bare else 47)
    content = decompressor.decompress(body, LIMIT + 1)
    if len(content) > LIMIT:
        raise Unreadable(413, f"the body is larger than {LIMIT} bytes")
    if not decompressor.eof:
        raise EOFError("it ends early")
    return content


def _zstd(body: bytes) -> bytes:
    import zstandard

    content = b""
    try:
        for chunk in zstandard.ZstdDecompressor().read_to_iter(body):
            content += chunk
            if len(content) > LIMIT:
                raise Unreadable(413, f"the body is larger than {LIMIT} bytes")
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from error
    return content
