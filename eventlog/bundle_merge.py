"""Two versions of one stream: whether one is the beginning of the other, and where they part if not.

What counts are the events' lines. Where segments were sealed may differ between machines that hold the same
events, so spans that are equal only save comparing what they stand for.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from eventlog import manifest
from eventlog.reader import read_lines
from eventlog.store import Store


class Parting(NamedTuple):
    """The first event in which two versions differ, with SHA-256 of its line on either side (hex)."""

    seq: int
    ours: str
    theirs: str

    def __str__(self) -> str:
        shared = {1: "share no event", 2: "share event 1"}.get(
            self.seq, f"share the events 1 to {self.seq - 1}"
        )
        return (
            f"they {shared} and part at event {self.seq}, which is sha256:{self.ours} here and "
            f"sha256:{self.theirs} in the bundle"
        )


def parting(store: Store, staged: Store, name: str) -> Parting | None:
    """Where the two sealed versions of a stream part; None where one is the beginning of the other."""
    ours, theirs = (manifest.load(s.stream_path(name)).spans for s in (store, staged))
    start = 1 + next((a.last for a, b in reversed(list(zip(ours, theirs, strict=False))) if a == b), 0)
    both = zip(read_lines(store, name, start=start), read_lines(staged, name, start=start), strict=False)
    for seq, (a, b) in enumerate(both, start):
        if a != b:
            return Parting(seq, hashlib.sha256(a).hexdigest(), hashlib.sha256(b).hexdigest())
    return None
