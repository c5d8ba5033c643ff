"""What the product asks of the read side. Every answer is plain data with a `schema` or a list of rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from eventlog.errors import DamageError, LogError
from eventlog.escape import unescape
from eventlog.reader import read
from eventlog.store import CATALOG, Store
from projections import cache, source, sql
from projections.errors import ProjectionError, RunNotFound
from projections.spending import paid_for

Row = dict[str, Any]


def resolve_run(store: Store, reference: str) -> str:
    """The run that `reference` means: a run id, the beginning of one id only, or the name of one run only.

    Raises RunNotFound for none or several.
    """
    runs = _runs(store)
    if reference in runs:
        return reference
    found = [run for run in runs if reference and run.startswith(reference)]
    if not found:
        found = runs_named(store, reference)
    if len(found) == 1:
        return found[0]
    if found:
        raise RunNotFound(f"{reference!r} fits several runs: {', '.join(sorted(found))}")
    nameless = [run for run in runs if _plan(store, run) is None]
    doubt = (
        f"; the plan, and so the name, of {', '.join(nameless[:5])} cannot be read: "
        "name it by its id (`hemra log verify` says what is damaged)"
        if nameless
        else ""
    )
    raise RunNotFound(f"no run {reference!r} in {store.path}; `hemra runs` lists them{doubt}")


def runs_named(store: Store, name: str) -> list[str]:
    """The runs that were planned under `name`, oldest first."""
    return [run for run in _runs(store) if name_of(store, run) == name]


def name_of(store: Store, run: str) -> str | None:
    """The name that the run was planned under; None for none. What is damaged is passed over.

    Only the beginning of the log is read: a run is found by its name whatever became of the rest.
    """
    plan = _plan(store, run)
    if plan is None:
        # What was reported of it before it was damaged may still be there.
        built = cache.remembered(store, run)
        plan = None if built is None else built.report
    name = None if plan is None else plan.get("name")
    return name if isinstance(name, str) else None


def _plan(store: Store, run: str) -> Row | None:
    """What `run.planned` says; {} where no plan was recorded, None where damage may have taken it."""
    damage: list[DamageError] = []
    try:
        planned = next(read(store, run, types=("run.planned",), on_damage=damage.append), None)
    except (LogError, OSError):
        return None
    if planned is None:
        return None if damage else {}
    return planned.data


def _runs(store: Store) -> list[str]:
    return [name for name in store.streams() if name != CATALOG]


def list_runs(
    store: Store, *, limit: int | None = None, on_missing: Callable[[int], object] | None = None
) -> list[Row]:
    """One row a run, newest first, the newest `limit`. A run that cannot be read is listed with its `error`.

    `on_missing` is told, before they are read, how many runs have to be: nothing is cached of them as they stand.
    """
    runs = sorted(_runs(store), reverse=True)[:limit]
    rows: dict[str, Row] = {}
    missing: dict[str, cache.Looked] = {}
    for run in runs:
        try:
            looked = cache.look(store, run)
        except _UNREADABLE as error:
            rows[run] = _unreadable(store, run, error)
            continue
        if looked.built is not None:
            rows[run] = _summary(run, looked.built)
        else:
            missing[run] = looked
    if missing and on_missing is not None:
        on_missing(len(missing))
    rows |= _projected(store, missing)
    return [rows[run] for run in runs]


def _projected(store: Store, missing: dict[str, cache.Looked]) -> dict[str, Row]:
    """The rows of runs that are not cached. Small ones are projected side by side: each takes one thread, and not so
    long that Ctrl-C waits for it."""

    def one(run: str) -> Row:
        try:
            return _summary(run, cache.project(store, missing[run]))
        except _UNREADABLE as error:
            return _unreadable(store, run, error)

    small = [run for run, looked in missing.items() if looked.at.last <= cache.SMALL]
    pool = ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1), "projection")
    try:
        rows = dict(zip(small, pool.map(one, small), strict=True))
    finally:
        pool.shutdown(cancel_futures=True)
    return rows | {run: one(run) for run in missing if run not in rows}


def _unreadable(store: Store, run: str, error: Exception) -> Row:
    found = {"run": run, "name": name_of(store, run), "status": "unreadable", "error": str(error)}
    return dict.fromkeys(_SUMMARY) | found


def _summary(run: str, built: cache.Built) -> Row:
    full = built.report
    row: Row = dict.fromkeys(_SUMMARY) | {key: full[key] for key in _SUMMARY if key in full}
    row["run"] = run
    row["dataset"] = full["dataset"]["name"]
    row["tasks"] = full["dataset"]["tasks"]
    row["harnesses"] = [h["name"] for h in full["harnesses"]]
    row["finished"] = sum(h["finished"] for h in full["harnesses"])
    return row


#: What a run that cannot be read is told by.
_UNREADABLE = (ProjectionError, LogError, OSError)
#: So many small runs are projected at the same time.
_AT_ONCE = 4
_SUMMARY = (
    "run", "name", "status", "started", "duration_ns", "dataset", "tasks", "harnesses", "attempts", "sandbox",
    "planned", "finished", "scored", "passed", "events", "error",
)  # fmt: skip


def report(store: Store, run: str) -> Row:
    """The report of `run` (`hemra.report/1`)."""
    return cache.load(store, run).report


def trials(store: Store, run: str) -> list[Row]:
    """The trial table of `run`: one row a planned trial, in plan order (columns: tables/trials.sql)."""
    return cache.load(store, run).trials


def show(store: Store, run: str) -> Row:
    """One run with its trials: the report's header and counts, and the trial table."""
    built = cache.load(store, run)
    report = built.report
    left_out = {"schema", "categories", "grid", "not_scored", "harnesses"}
    header = {key: value for key, value in report.items() if key not in left_out}
    harnesses = [
        {k: h[k] for k in ("name", "kind", "version", "digest", "model", "planned", "scored", "passed")}
        for h in report["harnesses"]
    ]
    return {"schema": "hemra.run/1", **header, "harnesses": harnesses, "trials": built.trials}


def show_trial(store: Store, run: str, trial: str) -> Row | None:
    """One trial with every call of its try that counts (columns: tables/model_calls.sql), and its tries that were run
    again; None without such a trial."""
    built = cache.load(store, run)
    row = next((t for t in built.trials if t["trial"] == trial), None)
    if row is None:
        return None
    again = [one for one in built.report["run_again"] if one["trial"] == trial]
    calls = table(store, run, "model_calls", trial=trial) if row["first_seq"] is not None else []
    return {
        "schema": "hemra.trial/1",
        "run": run,
        "trial": row,
        "run_again": again,
        "paid": paid_for([*([row] if row["tries"] else []), *again]),
        "calls": [call for call in calls if call["first_seq"] == row["first_seq"]],
    }


def table(store: Store, run: str, name: str, *, trial: str | None = None) -> list[Row]:
    """Rows of one projected table (`messages`, `tool_calls`, `timeline`, …; see tables/*.sql), built afresh.

    JSON columns hold values as the log's reader gives them: `eventlog.reader.resolve` brings back what was
    moved out to a blob.
    Raises KeyError for an unknown table.
    """
    if name not in sql.projections():
        raise KeyError(f"no table {name!r}; there are {', '.join(sorted(sql.projections()))}")
    at = source.snapshot(store, run)
    with source.opened(store, at, sql.types_read([name])) as connection:

        def work() -> list[Row]:
            sql.build(connection, [name])
            found = sql.rows(connection, f'SELECT * FROM "{name}"')
            wanted = found if trial is None else [row for row in found if row.get("trial") == trial]
            return [{key: unescape(value) for key, value in row.items()} for row in wanted]

        return source.interruptible(connection, work)
