"""Keeps credentials out of everything that is recorded.

A harness gets `$NAME` values from the user's environment. Whatever it prints or writes may repeat
them: plainly, as JSON, as HTML, percent-encoded, in hexadecimal, as base64, as UTF-16, or split over two writes.
A `Redactor` knows the values and puts `[redacted:NAME]` in their place before anything reaches the log
or the blobs. Then it puts `[redacted:KIND]` in the place of whatever has the shape of a known kind of
credential, so that those are found which nobody told it of.

Values shorter than `SHORTEST` characters are not looked for: they would be found everywhere.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

import msgspec

from hemra.credentials import CredentialFilter, label

SHORTEST = 8
_PROBE = 8  # bytes by which a place is recognised where a value may begin

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


def _wide_forms(value: str) -> set[bytes]:
    """UTF-16 in both orders. The zero byte outside is left out: ASCII then has one form for both."""
    little, big = (value.encode(order, "surrogatepass") for order in ("utf-16-le", "utf-16-be"))
    return {little.removesuffix(b"\0"), big.removeprefix(b"\0")}


def _forms(value: str) -> set[bytes]:
    """Every spelling of a secret that is looked for."""
    raw = value.encode("utf-8", "surrogateescape")
    spellings = {
        raw,
        value.upper().encode("utf-8", "surrogateescape"),
        html.escape(value).encode("utf-8", "surrogateescape"),
        raw.hex().encode(),
        raw.hex().upper().encode(),
    }
    return spellings | _json_forms(value) | _percent_forms(raw) | _base64_forms(raw) | _wide_forms(value)


def _json_forms(value: str) -> set[bytes]:
    """As JSON: with and without other scripts escaped, slashes escaped as some writers do, and JSON within JSON."""
    forms = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    forms |= {json.dumps(form, ensure_ascii=False)[1:-1] for form in forms}
    forms |= {form.replace("/", "\\/") for form in forms}
    forms |= {re.sub(r"\\u[0-9a-f]{4}", lambda found: "\\u" + found[0][2:].upper(), form) for form in forms}
    return {form.encode("utf-8", "surrogatepass") for form in forms}


def _percent_forms(raw: bytes) -> set[bytes]:
    """As a part of a URL or of a form, hexadecimal digits in either case, slashes escaped or not."""
    forms = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    forms |= {re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), form) for form in forms}
    return {form.encode() for form in forms}


def _same(one: Any, other: Any) -> bool:
    return one is other


class Redactor:
    """Replaces known secrets, and what looks like a credential. `counts`: how often, by name or kind."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._labels: dict[bytes, tuple[str, bytes]] = {}
        for name, value in sorted(secrets.items()):
            if len(value) >= SHORTEST:
                for form in _forms(value):
                    self._labels.setdefault(form, (name, label(name)))
        # The longest first, so that a secret that contains another one is replaced whole.
        self._needles = sorted(self._labels, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, self._needles)))
        self._heads = {needle[:size] for needle in self._needles for size in range(1, _PROBE)}
        # In lower case there are fewer of them; those with zero bytes are wide, which hardly any output is.
        probes = sorted({needle.lower() for needle in self._needles})
        self._narrow = [probe for probe in probes if b"\0" not in probe]
        self._wide = [probe for probe in probes if b"\0" in probe]
        self.counts: Counter[str] = Counter()

    @property
    def replaced(self) -> int:
        """How much it replaced so far, known values and credentials together."""
        return self.counts.total()

    def clean_bytes(self, data: bytes) -> bytes:
        """`data` with every secret replaced; `data` itself where there is none."""
        return self.stream().feed(data, last=True)

    def clean_text(self, text: str) -> str:
        """`text` with every secret replaced; lone surrogates survive."""
        if len(text) < SHORTEST:
            return text
        raw = text.encode("utf-8", "surrogatepass")
        cleaned = self.clean_bytes(raw)
        return text if cleaned is raw else cleaned.decode("utf-8", "surrogatepass")

    def clean(self, value: Any) -> Any:
        """A JSON-like value, keys too, with every secret replaced; a number that is one becomes text.

        What holds no secret is given back as it is.
        """
        if isinstance(value, dict):
            return self._clean_object(value)
        if isinstance(value, list | tuple):
            items = [self.clean(item) for item in value]
            return value if all(map(_same, items, value)) else items
        if isinstance(value, str):
            return self.clean_text(value)
        if isinstance(value, bytes):
            return self.clean_bytes(value)
        # No secret has thousands of digits, and Python refuses to print integers that long.
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**300 and self._needles:
            text = str(value)
            cleaned = self.clean_text(text)
            return value if cleaned is text else cleaned
        return value

    def _clean_object(self, value: dict[Any, Any]) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for key, item in value.items():
            name = clean_key = self.clean(key)
            number = 2
            while name in out:  # two keys that were two secrets stay two keys
                name, number = f"{clean_key}#{number}", number + 1
            out[name] = self.clean(item)
        same = all(map(_same, out, value)) and all(map(_same, out.values(), value.values()))
        return value if same else out

    def clean_struct(self, struct: S) -> S:
        """A struct of the same type whose fields are cleaned (nested structs stay as they are)."""
        changed = {}
        for field in struct.__struct_fields__:
            before = getattr(struct, field)
            after = self.clean(before)
            if after is not before:
                changed[field] = after
        return msgspec.structs.replace(struct, **changed) if changed else struct

    def stream(self) -> StreamRedactor:
        """A redactor for bytes that come in pieces."""
        return StreamRedactor(self)

    def held_from(self, data: bytes, start: int) -> int:
        """Where in `data` the longest tail begins that may grow into a known value; `len(data)` if none."""
        size = len(data)
        best = size
        for needle in self._needles:
            at = data.find(needle[:_PROBE], max(start, size - len(needle) + 1), best + _PROBE - 1)
            while 0 <= at < best:
                if needle.startswith(data[at:]):
                    best = at
                at = data.find(needle[:_PROBE], at + 1, best + _PROBE - 1)
        for at in range(max(start, size - _PROBE + 1), best):
            if data[at:] in self._heads:
                return at
        return best

    def _possible(self, data: bytes) -> bool:
        """Whether a known value may be in `data`: a search much faster than the one for all spellings."""
        if not self._needles:
            return False
        lower = data.lower()
        if any(probe in lower for probe in self._narrow):
            return True
        return b"\0" in data and any(probe in lower for probe in self._wide)

    def split(self, data: bytes, counts: Counter[str], last: bool) -> tuple[bytes, bytes]:
        """(what can be passed on, known values replaced; what must wait for the next piece)."""
        held = len(data) if last else self.held_from(data, 0)
        if not self._possible(data):
            return data[:held], data[held:]
        out: list[bytes] = []
        at = 0
        while (match := self._pattern.search(data, at)) is not None and match.start() < held:
            name, written = self._labels[match.group()]
            counts[name] += 1
            out += [data[at : match.start()], written]
            at = match.end()
            if held < at:
                held = self.held_from(data, at)
        out.append(data[at:held])
        return b"".join(out), data[held:]


class StreamRedactor:
    """Redacts one stream of bytes. It keeps back only a tail that may be the beginning of a secret.

    That is less than the longest spelling of a known value, and besides at most `MOST_BEGUN` bytes.
    `counts`: how often it replaced something, by name or kind.
    """

    def __init__(self, redactor: Redactor) -> None:
        self.counts: Counter[str] = Counter()
        self._redactor = redactor
        self._held = b""
        self._now: Counter[str] = Counter()
        self._credentials = CredentialFilter(self._now)

    def feed(self, chunk: bytes, *, last: bool = False) -> bytes:
        """The bytes that are safe to write now (maybe none)."""
        ready, self._held = self._redactor.split(self._held + chunk, self._now, last)
        cleaned = self._credentials.feed(ready, last=last)
        if self._now:
            self.counts.update(self._now)
            self._redactor.counts.update(self._now)
            self._now.clear()
        return cleaned

    def flush(self) -> bytes:
        """What was kept back, when the stream is over."""
        return self.feed(b"", last=True)
