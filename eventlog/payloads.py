"""Which blobs an event needs: payloads moved out of it, artifacts, bodies of model calls, and what JSON payloads name
in turn."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, NamedTuple

import orjson

from eventlog.blobs import BlobStore
from eventlog.envelope import Event
from eventlog.errors import BadEvent
from eventlog.escape import Blob, unescape

#: Events that name the body of a request or of an answer where it was kept.
_WITH_BODY = frozenset({"model.requested", "model.responded"})

#: What stands in the line of every event that names a blob.
_SIGNS = (b'"$blob"', b'"artifact.stored"', b'"body":"')


class Need(NamedTuple):
    """A blob that is named somewhere; a `json` one may name others."""

    digest: str
    json: bool


def may_need(lines: bytes) -> bool:
    """Whether events in these lines may name blobs; False only where none does. Spares reading them."""
    return any(sign in lines for sign in _SIGNS)


def needs(event: Event) -> list[Need]:
    """The blobs that an event names itself. Raises BadEvent where something else than a digest names one."""
    try:
        found = list(_named(event.data))
        if event.type == "artifact.stored":
            found.append(_need(event.data.get("blob"), None))
        elif event.type in _WITH_BODY and event.data.get("body") is not None:
            found.append(_need(event.data["body"], None))
    except ValueError as error:
        raise BadEvent(f"event {event.seq} {error}") from None
    return found


def needs_of_payload(blobs: BlobStore, digest: str) -> list[Need]:
    """The blobs that a stored JSON payload names. Raises BlobNotFound, DamageError; BadEvent when it is no JSON."""
    try:
        return list(_named(unescape(orjson.loads(blobs.get(digest)))))
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise BadEvent(
            f"blob {digest} does not read as the JSON payload that it is named as: {error}"
        ) from None


def all_blobs(blobs: BlobStore, event: Event, *, but: Container[str] = ()) -> set[str]:
    """Digests of all blobs that an event needs, at any depth, `but` those that nobody has any more.

    Raises as `needs` and `needs_of_payload` do.
    """
    found: set[Need] = set()
    pending = needs(event)
    while pending:
        need = pending.pop()
        if need not in found and need.digest not in but:
            found.add(need)
            if need.json:
                pending += needs_of_payload(blobs, need.digest)
    return {need.digest for need in found}


def _named(value: Any) -> Iterator[Need]:
    """Every payload of a decoded value that was moved to a blob. Raises ValueError."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Blob):
            yield _need(item.get("$blob"), item.get("kind"))
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def _need(digest: Any, kind: Any) -> Need:
    if not isinstance(digest, str):
        raise ValueError(f"names a blob by {str(digest)[:80]!r}, which is no digest")
    return Need(digest, kind == "json")
