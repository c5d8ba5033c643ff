"""Keeps the values of the user's secrets out of everything that is recorded.

A harness gets `$NAME` values from the user's environment. Whatever it prints or writes may repeat
them: plainly, as JSON, percent-encoded, as base64, or split over two writes. A `Redactor` knows the
values and puts `[redacted:NAME]` in their place before anything reaches the log or the blobs.

Values shorter than `SHORTEST` characters are not looked for: they would be found everywhere.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

import msgspec

SHORTEST = 8

S = TypeVar("S", bound=msgspec.Struct)


def _base64_forms(value: bytes) -> set[bytes]:
    """What of `value`'s base64 is the same wherever it stands: one form for each alignment."""
    forms = set()
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + value).rstrip(b"=")
        first = -(-shift * 8 // 6)  # characters that also hold bits of what stands before
        last = (shift + len(value)) * 8 // 6  # from here on, bits of what follows
        form = whole[first:last]
        forms |= {form, form.replace(b"+", b"-").replace(b"/", b"_")}
    return {form for form in forms if len(form) >= SHORTEST}


def _forms(value: str) -> set[bytes]:
    """Every spelling of a secret that is looked for."""
    raw = value.encode("utf-8", "surrogateescape")
    spellings = {
        raw,
        json.dumps(value)[1:-1].encode("utf-8", "surrogatepass"),
        json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape"),
        quote(raw, safe="").encode(),
        quote_plus(raw).encode(),
    }
    return spellings | _base64_forms(raw)


class Redactor:
    """Replaces known secrets. Without secrets every method gives back what it got."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._labels: dict[bytes, bytes] = {}
        for name, value in sorted(secrets.items()):
            if len(value) >= SHORTEST:
                for form in _forms(value):
                    self._labels.setdefault(form, f"[redacted:{name}]".encode())
        # The longest first, so that a secret that contains another one is replaced whole.
        needles = sorted(self._labels, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, needles))) if needles else None
        self._longest = max(map(len, needles), default=0)
        self._needles = needles
        self.replaced = 0

    def __bool__(self) -> bool:
        return self._pattern is not None

    def _label(self, match: re.Match[bytes]) -> bytes:
        self.replaced += 1
        return self._labels[match.group()]

    def clean_bytes(self, data: bytes) -> bytes:
        """`data` with every secret replaced."""
        return data if self._pattern is None else self._pattern.sub(self._label, data)

    def clean_text(self, text: str) -> str:
        """`text` with every secret replaced; lone surrogates survive."""
        if self._pattern is None:
            return text
        raw = text.encode("utf-8", "surrogatepass")
        cleaned = self.clean_bytes(raw)
        return text if cleaned is raw or cleaned == raw else cleaned.decode("utf-8", "surrogatepass")

    def clean(self, value: Any) -> Any:
        """A JSON-like value, keys too, with every secret replaced; a number that is one becomes text."""
        if self._pattern is None or value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, dict):
            return {self.clean(key): self.clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
        return self._clean_scalar(value)

    def _clean_scalar(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.clean_text(value)
        if isinstance(value, bytes):
            return self.clean_bytes(value)
        # No secret has thousands of digits, and Python refuses to print integers that long.
        if isinstance(value, int) and abs(value) < 10**300:
            cleaned = self.clean_text(str(value))
            return cleaned if "redacted" in cleaned else value
        return value

    def clean_struct(self, struct: S) -> S:
        """A struct of the same type whose fields are cleaned (nested structs stay as they are)."""
        if self._pattern is None:
            return struct
        changed = {}
        for field in struct.__struct_fields__:
            before = getattr(struct, field)
            after = self.clean(before)
            if after is not before and after != before:
                changed[field] = after
        return msgspec.structs.replace(struct, **changed) if changed else struct

    def stream(self) -> StreamRedactor:
        """A redactor for bytes that come in pieces."""
        return StreamRedactor(self)

    def held_from(self, data: bytes, start: int) -> int:
        """Where in `data` the longest tail begins that may grow into a secret; `len(data)` if none."""
        first = max(start, len(data) - self._longest + 1)
        tail = data[first:]
        best = len(tail)
        for needle in self._needles:
            at = tail.find(needle[:1])
            while 0 <= at < best:
                if len(tail) - at < len(needle) and needle.startswith(tail[at:]):
                    best = at
                    break
                at = tail.find(needle[:1], at + 1)
        return first + best

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """(what can be written now, cleaned; what must wait for the next piece)."""
        assert self._pattern is not None
        out: list[bytes] = []
        at = 0
        while True:
            held = self.held_from(data, at)
            match = self._pattern.search(data, at)
            if match is None or match.start() >= held:
                out.append(data[at:held])
                return b"".join(out), data[held:]
            out += [data[at : match.start()], self._label(match)]
            at = match.end()


class StreamRedactor:
    """Redacts one stream of bytes. It keeps back only a tail that may be the beginning of a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """The bytes that are safe to write now (maybe none)."""
        if not self._redactor:
            return chunk
        ready, self._held = self._redactor.split(self._held + chunk)
        return ready

    def flush(self) -> bytes:
        """What was kept back, when the stream is over."""
        held, self._held = self._held, b""
        return self._redactor.clean_bytes(held)
