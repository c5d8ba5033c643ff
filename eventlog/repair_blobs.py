"""The payloads of a repaired copy: brought over where they are what their digest says, and named where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from eventlog.blobs import BlobNotFound, BlobStore
from eventlog.errors import BadEvent, DamageError
from eventlog.payloads import Need, needs_of_payload
from eventlog.repair_report import LostBlob

#: At most this many of the events that name a lost payload are listed with it.
MAX_NAMED = 100


@dataclass
class Payloads:
    """Takes what events need from `source` to `target` (None: only looks)."""

    source: BlobStore
    target: BlobStore | None
    kept: int = 0
    _seen: dict[Need, str | None] = field(default_factory=dict)
    _events: dict[str, list[int]] = field(default_factory=dict)

    def bring(self, seq: int, named: Sequence[Need]) -> None:
        """Bring what event `seq` names, and what that names in turn. OSError of writing passes through."""
        pending = list(named)
        while pending:
            need = pending.pop()
            if need not in self._seen:
                cause, inner = self._one(need)
                self._seen[need] = cause
                self.kept += cause is None
                pending += inner
            if self._seen[need] is not None:
                events = self._events.setdefault(need.digest, [])
                if len(events) < MAX_NAMED and seq not in events:
                    events.append(seq)

    def _one(self, need: Need) -> tuple[str | None, list[Need]]:
        """Why the payload is lost (None: it is not), and what it names."""
        try:
            self.source.check(need.digest)
            inner = needs_of_payload(self.source, need.digest) if need.json else []
            if self.target is not None:
                self._copy(need.digest)
        except (BlobNotFound, BadEvent) as error:
            return str(error), []
        except DamageError as error:
            return error.cause, []
        return None, inner

    def _copy(self, digest: str) -> None:
        assert self.target is not None
        path = self.source.path(digest)
        if self.target.put_file(path).digest != digest:
            raise DamageError(path, 0, f"content does not match {digest}")

    def lost(self) -> list[LostBlob]:
        """What could not be brought, in the order of the events that name it."""
        causes: dict[str, str] = {}
        for need, cause in self._seen.items():
            if cause is not None:
                causes.setdefault(need.digest, cause)
        return [
            LostBlob(digest=d, file=_place(d), cause=cause, events=self._events[d])
            for d, cause in causes.items()
        ]


def _place(digest: str) -> str:
    """Where a blob stands (or would) below the store."""
    hexes = digest.partition(":")[2]
    return f"blobs/sha256/{hexes[:2]}/{hexes[2:]}"
