"""Saying in the catalog where a run came from, once it is here whole."""

from __future__ import annotations

from eventlog import manifest
from eventlog.errors import LogError
from eventlog.mirror.errors import MirrorError
from eventlog.mirror.landing import Landing
from eventlog.reader import read
from eventlog.schemas.runs import ImportRecorded
from eventlog.store import CATALOG
from eventlog.stream import StreamWriter

_WAIT_S = 10.0


def record(landing: Landing, origin: str, blobs: int) -> None:
    """Record `import.recorded`, unless the catalog says the same already. Raises MirrorError."""
    store = landing.store
    digest = f"sha256:{manifest.load(landing.path).head}"
    event = ImportRecorded(
        origin=origin, digest=digest, streams=[landing.name], events=landing.last, blobs=blobs
    )
    create = not store.stream_path(CATALOG).exists()
    try:
        with StreamWriter.open(store, CATALOG, create=create, lock_wait_s=_WAIT_S) as catalog:
            known = () if create else read(store, CATALOG, types=(ImportRecorded.type,))
            if not any(e.data["digest"] == digest and e.data["origin"] == origin for e in known):
                catalog.append(event, source="mirror")
    except LogError as error:
        raise MirrorError(f"{landing.name} is here, but the catalog cannot say so: {error}") from error
