"""Writes a plan down: what it draws from into the catalog, the plan itself at the head of a new run's log."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from eventlog.envelope import encode
from eventlog.errors import LogError, StoreError
from eventlog.schemas.runs import HarnessRegistered, RunPlanned
from eventlog.stream import Incoming, StreamWriter
from hemra.engine import check
from hemra.engine.ids import new_run_id
from hemra.engine.state import queue
from hemra.errors import HemraError

if TYPE_CHECKING:
    from eventlog.store import Store
    from hemra.engine.plan import Plan

SOURCE = "hemra.engine"
CATALOG = "catalog"
_CATALOG_WAIT_S = 10.0
#: Ids are drawn again when another run has the same one; that so many are taken is a broken clock or disk.
_DRAWS = 50


def begin(store: Store, plan: Plan) -> str:
    """Create a run of `plan` and write the whole plan into its log; returns the run's id.

    On return the plan is on disk. Raises HemraError; DatasetChanged when a pinned task changed meanwhile.
    """
    from hemra.datasets.pins import ensure_pinned

    problems = check.disk_space([store.path])
    if problems:
        raise HemraError("; ".join(problems))
    try:
        ensure_pinned(store, plan.dataset, plan.tasks, plan.request.tasks)
        register(store, plan)
        run, writer = _create(store)
        with writer:
            _write(store, writer, plan.recorded(run))
    except LogError as error:
        raise HemraError(f"the run cannot be recorded: {error}") from error
    return run


def _create(store: Store) -> tuple[str, StreamWriter]:
    """A stream of its own for a new run. Whoever makes the folder has the id; everybody else draws again."""
    for _ in range(_DRAWS):
        run = new_run_id()
        taken = store.stream_path(run).exists()
        try:
            return run, StreamWriter.open(store, run, create=True)
        except StoreError:
            if not taken and not store.stream_path(run).exists():
                raise
    raise HemraError(f"no free run id in {store.log}: {_DRAWS} ids in a row were taken")


def _write(store: Store, writer: StreamWriter, planned: RunPlanned) -> None:
    events = [(None, planned), *queue(planned)]
    lines = [encode(data, source=SOURCE, trial=trial, blobs=store.blobs) for trial, data in events]
    # One commit: a run has its whole plan or none.
    writer.commit([Incoming(os.urandom(16), 1, lines)])


def register(store: Store, plan: Plan) -> None:
    """Record in the catalog every harness of the plan that it does not know with this digest."""
    from eventlog.reader import read

    harnesses = {chosen.harness.digest: chosen.harness for chosen in plan.harnesses}
    known = {event.data["digest"] for event in read(store, CATALOG, types=("harness.registered",))}
    new = [harness for digest, harness in harnesses.items() if digest not in known]
    if not new:
        return
    with StreamWriter.open(store, CATALOG, lock_wait_s=_CATALOG_WAIT_S) as catalog:
        for harness in new:
            catalog.append(
                HarnessRegistered(
                    name=harness.name, kind=harness.kind, digest=harness.digest, definition=harness.definition
                ),
                source=SOURCE,
            )  # fmt: skip
