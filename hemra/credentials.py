"""Takes credentials out of bytes by their shape, whether or not anybody knows their values.

A credential is replaced by `[redacted:KIND]` as soon as enough of it was seen to be sure; what follows of it
is then dropped as it comes, however long it is. So never more than `MOST_BEGUN` bytes are kept back.
The result is the same for every way in which the bytes are cut into pieces.
"""

from __future__ import annotations

import re
from collections import Counter

from harnesses.credentials import (
    CONTEXT_BYTES,
    CUT_STARTS,
    KEY_BEGUN,
    KEY_BETWEEN,
    KEY_END,
    KEY_MORE,
    KEY_REST,
    KEY_RUN,
    LONGEST_CUT,
    SHAPES,
    Shape,
    possible,
)


def label(kind: str) -> bytes:
    """What is written in place of a credential of that kind, or of the variable of that name."""
    return f"[redacted:{kind}]".encode()


class CredentialFilter:
    """Cleans one stream of bytes and counts in `counts` what it replaced, by kind."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._seen = b""  # the last bytes that were dealt with: they decide what may begin behind them
        self._held = b""
        self._inside: Shape | None = None  # the credential whose rest is being dropped
        self._in_run = False  # within the base64 of a private key

    def feed(self, chunk: bytes, *, last: bool = False) -> bytes:
        """What can be written now: `chunk` itself where nothing was found; with `last`, all that is left."""
        data = self._seen + self._held + chunk
        plain = not self._held and self._inside is None
        out, wait = self._clean(data, len(self._seen), last)
        self._seen = data[max(0, wait - CONTEXT_BYTES) : wait]
        self._held = data[wait:]
        return chunk if plain and len(out) == 1 and wait == len(data) else b"".join(out)

    def _clean(self, data: bytes, at: int, last: bool) -> tuple[list[bytes], int]:
        """The pieces to write, and where what must wait begins. One piece: nothing was replaced."""
        out: list[bytes] = []
        search: _Search | None = None
        begun = -1
        while True:
            if self._inside is not None:
                at = self._drop(data, at, last)
                if self._inside is not None:
                    return out, at
            search = search or _Search(data, at)
            if begun < at:
                begun = len(data) if last else _begun(data, at)
            found = search.first(at)
            if found is None or not _decided(found, begun, last):
                out.append(data[at:begun])
                return out, begun
            shape, match = found
            start, end = match.span("value")
            out += [data[at : match.start()], self._before(data[match.start() : start]), label(shape.kind)]
            self._counts[shape.kind] += 1
            at = end
            if shape.open:
                self._inside, self._in_run = shape, False

    def _before(self, text: bytes) -> bytes:
        """What stands in a match before its credential, such as the user of a URL; it may hold another one."""
        return CredentialFilter(self._counts).feed(text, last=True) if text else text

    def _drop(self, data: bytes, at: int, last: bool) -> int:
        """Where the credential that we are inside of ends, or what is known of it so far."""
        assert self._inside is not None
        if self._inside.rest is None:
            return self._drop_key(data, at, last)
        at = _end(self._inside.rest, data, at)
        if at < len(data) or last:
            self._inside = None
        return at

    def _drop_key(self, data: bytes, at: int, last: bool) -> int:
        """The same for a private key, which has lines, and ends with its END or where nothing is like one."""
        if self._in_run:
            at = _end(KEY_MORE, data, at)
        while at < len(data):
            after = _end(KEY_BETWEEN, data, at)
            end = _end(KEY_RUN, data, after)
            if end == at:
                break
            at, self._in_run = end, end > after
        closing = KEY_END.match(data, at)
        if closing is not None:
            self._inside = None
            return closing.end()
        if last:
            at = _end(KEY_REST, data, at)
        if last or KEY_BEGUN.match(data, at) is None:
            self._inside = None
        return at


class _Search:
    """The credentials in `data`, asked for with a place that only grows."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._next: list[tuple[Shape, re.Match[bytes]]] = []
        self._look(possible(data, at), at)

    def _look(self, shapes: list[Shape], at: int) -> None:
        for shape in shapes:
            match = shape.whole.search(self._data, at)
            if match is not None:
                self._next.append((shape, match))

    def first(self, at: int) -> tuple[Shape, re.Match[bytes]] | None:
        """The one that begins first at `at` or behind it."""
        passed = [shape for shape, match in self._next if match.start() < at]
        if passed:
            self._next = [pair for pair in self._next if pair[1].start() >= at]
            self._look(passed, at)
        return min(self._next, key=lambda pair: pair[1].start(), default=None)


def _decided(found: tuple[Shape, re.Match[bytes]], begun: int, last: bool) -> bool:
    """Whether no byte that is still to come can change that this is the next credential."""
    shape, match = found
    return last or match.start() < begun or (match.start() == begun and shape.open)


def _begun(data: bytes, at: int) -> int:
    """Where in `data` the longest tail begins that may grow into a credential; `len(data)` if none."""
    first = len(data)
    for shape in SHAPES:
        match = shape.begun.search(data, max(at, len(data) - shape.most))
        if match is not None:
            first = min(first, match.start())
    for place in range(max(at, len(data) - LONGEST_CUT), first):
        for shape in CUT_STARTS.get(data[place:], ()):
            if shape.clear.match(data, place):
                return place
    return first


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    match = pattern.match(data, at)
    return at if match is None else match.end()
