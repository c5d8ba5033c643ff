"""Keeps the user's key out of what an endpoint says: some repeat it, in an error or on paths for debugging."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from multidict import CIMultiDict

from hemra.gateway.decoding import Undecodable, decoded

#: A body up to this size is searched as a whole.
SEARCHED = 1 << 20
#: Shorter ones are the words that local endpoints take for a key (`ollama`, `not-needed`): no secrets, and a model may
#: use them.
_SECRET = 12
_INSTEAD = "[redacted]"
_STREAMS = ("event-stream", "ndjson", "octet-stream")


class KeyGuard:
    """For one answer. `key`: null where there is none to guard."""

    def __init__(self, key: str | None) -> None:
        self._given = key
        self._secret = key is not None and len(key) >= _SECRET
        self._key = (key or "").encode()
        # In a body of known length the key is covered by as many bytes.
        self._cover = _INSTEAD.encode().ljust(len(self._key), b"*")[: len(self._key)]
        self._held = b""

    def text(self, text: str | None) -> str | None:
        """A text without the key."""
        if text is None or not self._secret or self._given is None:
            return text
        return text.replace(self._given, _INSTEAD)

    def headers(self, headers: CIMultiDict[str]) -> CIMultiDict[str]:
        """Headers without the key."""
        if not self._secret or self._given is None or all(self._given not in v for v in headers.values()):
            return headers
        return CIMultiDict((name, value.replace(self._given, _INSTEAD)) for name, value in headers.items())

    def reads_whole(self, status: int, headers: Mapping[str, str], *, asked_stream: bool) -> bool:
        """Whether the body must have come before it is passed on: errors, and what is packed and no stream."""
        if self._given is None:
            return False
        if status >= 400:
            return True
        kind = headers.get("Content-Type", "").lower()
        streams = asked_stream or any(name in kind for name in _STREAMS)
        length = headers.get("Content-Length", "")
        small = not length.isdecimal() or int(length) <= SEARCHED
        return self._secret and "Content-Encoding" in headers and small and not streams

    def whole(self, body: bytes, encoding: str | None) -> bytes:
        """The body itself where it does not hold the key; else unpacked, with the key replaced."""
        plain = body
        if encoding:
            with contextlib.suppress(Undecodable):
                plain = decoded(body, encoding)
        return plain.replace(self._key, _INSTEAD.encode()) if self._key in plain else body

    def feed(self, chunk: bytes, *, last: bool) -> bytes:
        """What may be passed on of a body that comes in pieces. Held back is only what may be a key's beginning."""
        if not self._secret:
            return chunk
        body = self._held + chunk if self._held else chunk
        if self._key in body:
            body = body.replace(self._key, self._cover)
        self._held = b"" if last else self._beginning(body)
        return body[: len(body) - len(self._held)] if self._held else body

    def _beginning(self, body: bytes) -> bytes:
        """The end of a piece that a key may begin with."""
        for size in range(min(len(self._key) - 1, len(body)), 0, -1):
            if body.endswith(self._key[:size]):
                return self._key[:size]
        return b""
