"""What was asked and what was served, request by request: for `GET /_served` and a file of JSON lines.

No key is kept: the journal holds a fingerprint of it, enough to see whether two requests came with the same one.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from .exchange import compact


def fingerprint(secret: str) -> str:
    """The first 12 hexadecimal digits of a SHA-256."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass
class Entry:
    """One request. Times are seconds since the server started; unknown is None.

    `kind`: `model`, `auxiliary`, `models`, `count_tokens`, `probe` or `unknown`. `ended`: `open` while it goes on,
    then `complete`, `cut` (the server broke it off, as the script says or because it was stopped), `disconnected` (the
    client went), or `failed` (a bug of this server).
    `usage` is the normal form of what the answer cost, `usage_raw` what was really sent of it: a stream that was
    cut, or a chat stream whose client did not ask for usage, has the first and not the second.
    """

    number: int
    method: str
    path: str
    started_s: float
    prefix: str = ""
    key: str | None = None
    kind: str = "unknown"
    dialect: str | None = None
    session: str | None = None
    model: str | None = None
    stream: bool | None = None
    tools: list[str] = field(default_factory=list)
    messages: int | None = None
    turn: int | None = None
    attempt: int | None = None
    task: str | None = None
    request_encoding: str | None = None
    request_bytes: int = 0
    request_sha256: str | None = None
    request_headers: dict[str, str] = field(default_factory=dict)
    request_body: Any = None
    fault: str | None = None
    problem: str | None = None
    status: int | None = None
    answer: dict[str, Any] | None = None
    usage: dict[str, int] | None = None
    usage_raw: dict[str, Any] | None = None
    tokens_sent: int = 0
    response_bytes: int = 0
    response_sha256: str | None = None
    first_byte_s: float | None = None
    first_token_s: float | None = None
    last_byte_s: float | None = None
    ended: str = "open"


class Journal:
    """All entries of one server, in the order in which the requests came."""

    def __init__(self, file: Path | None = None) -> None:
        self._began = time.monotonic()
        self.entries: list[Entry] = []
        self._file: IO[str] | None = None
        if file is not None:
            self._file = file.open("a", encoding="utf-8", buffering=1)

    def now(self) -> float:
        """Seconds since the server started."""
        return round(time.monotonic() - self._began, 6)

    def begin(self, method: str, path: str) -> Entry:
        """Open the entry of a request."""
        entry = Entry(len(self.entries) + 1, method, path, self.now())
        self.entries.append(entry)
        return entry

    def finish(self, entry: Entry, ended: str) -> None:
        """Close an entry, once; the file gets its line."""
        if entry.ended != "open":
            return
        entry.ended = ended
        if self._file is not None:
            self._file.write(compact(asdict(entry)).encode("utf-8", "replace").decode() + "\n")

    def served(self, since: int = 0) -> list[dict[str, Any]]:
        """The entries after number `since`, as plain data."""
        return [asdict(entry) for entry in self.entries[since:]]

    def clear(self) -> None:
        """Forget all entries; the file keeps its lines. Numbers start again from 1."""
        self.entries = []

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def totals(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Sums over finished answers: apart for those that were told in full, and for those that were not."""
    sums: dict[str, Any] = {
        "requests": len(entries),
        "by_kind": {},
        "by_status": {},
        "told": {},
        "not_told": {},
    }
    for entry in entries:
        for group, name in (("by_kind", entry["kind"]), ("by_status", str(entry["status"]))):
            sums[group][name] = sums[group].get(name, 0) + 1
        if entry["usage"] is None:
            continue
        group = sums["told" if entry["usage_raw"] is not None else "not_told"]
        group["answers"] = group.get("answers", 0) + 1
        for name, value in entry["usage"].items():
            group[name] = group.get(name, 0) + value
    return sums
