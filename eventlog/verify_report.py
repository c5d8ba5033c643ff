"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from eventlog import manifest

ERROR, NOTE, INFO = "error", "note", "info"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be. Only `error` makes a store unsound.

    A `note` is what a crash may leave and the next writer makes good; `info` is what the log says of itself.
    """

    stream: str
    path: Path
    offset: int
    cause: str
    severity: str = ERROR

    def __str__(self) -> str:
        return f"{self.stream}: {self.path}: byte {self.offset}: {self.cause}"


@dataclass
class StreamReport:
    """What was checked of one stream. `bytes` are uncompressed NDJSON."""

    stream: str
    events: int = 0
    bytes: int = 0
    segments: int = 0
    blobs: int = 0
    chain: str = manifest.CHAIN_START
    live: bool = False


@dataclass
class VerifyReport:
    """All streams checked and every problem found."""

    streams: list[StreamReport] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True when nothing is unsound."""
        return not any(p.severity == ERROR for p in self.problems)
