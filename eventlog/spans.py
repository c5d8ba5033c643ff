"""Checking sealed spans: the digests over the uncompressed bytes of each range that was sealed once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from eventlog.segments import Span


class SpanDigests:
    """Fed a sealed segment's contents in order, it says which spans differ from their digest or number of events."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._pending = list(spans)
        self._begin()

    def _begin(self) -> None:
        self._running, self._lines = hashlib.sha256(), 0
        self._left = self._pending[0].bytes if self._pending else 0

    def feed(self, content: bytes) -> Iterator[Span]:
        """Take the next bytes; yields each span that ends in them and does not match."""
        while content and self._pending:
            part, content = content[: self._left], content[self._left :]
            self._running.update(part)
            self._lines += part.count(b"\n")
            self._left -= len(part)
            if self._left == 0:
                span = self._pending.pop(0)
                if self._running.hexdigest() != span.sha256 or self._lines != span.events:
                    yield span
                self._begin()

    @property
    def complete(self) -> bool:
        """Whether every span has been fed to its end."""
        return not self._pending
