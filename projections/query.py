"""What the product asks of the read side. Every answer is plain data with a `schema` or a list of rows."""

from __future__ import annotations

import contextlib
from typing import Any

from eventlog.errors import DamageError, LogError
from eventlog.escape import unescape
from eventlog.reader import read
from eventlog.store import CATALOG, Store
from projections import cache, source, sql
from projections.errors import ProjectionError, RunNotFound

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
    doubt = f"; the plan, and so the name, of {', '.join(nameless[:5])} cannot be read" if nameless else ""
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
        with contextlib.suppress(ProjectionError, LogError, OSError):
            plan = cache.load(store, run).report
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


def list_runs(store: Store) -> list[Row]:
    """One row a run, newest first. A run that cannot be read is listed with its `error`."""
    return [_summary(store, run) for run in sorted(_runs(store), reverse=True)]


def _summary(store: Store, run: str) -> Row:
    row: Row = dict.fromkeys(_SUMMARY)
    row["run"] = run
    row["error"] = None
    try:
        full = cache.load(store, run).report
    except (ProjectionError, LogError, OSError) as error:
        row["name"] = name_of(store, run)
        row["status"] = "unreadable"
        row["error"] = str(error)
        return row
    row.update({key: full[key] for key in _SUMMARY if key in full})
    row["dataset"] = full["dataset"]["name"]
    row["tasks"] = full["dataset"]["tasks"]
    row["harnesses"] = [h["name"] for h in full["harnesses"]]
    row["finished"] = sum(h["finished"] for h in full["harnesses"])
    return row


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
    left_out = {"schema", "grid", "not_scored", "harnesses"}
    header = {key: value for key, value in report.items() if key not in left_out}
    harnesses = [
        {k: h[k] for k in ("name", "kind", "version", "digest", "model", "planned", "scored", "passed")}
        for h in report["harnesses"]
    ]
    return {"schema": "hemra.run/1", **header, "harnesses": harnesses, "trials": built.trials}


def show_trial(store: Store, run: str, trial: str) -> Row | None:
    """One trial with every call of its try that counts (columns: tables/model_calls.sql); None without such a trial."""
    row = next((t for t in trials(store, run) if t["trial"] == trial), None)
    if row is None:
        return None
    calls = table(store, run, "model_calls", trial=trial) if row["first_seq"] is not None else []
    return {
        "schema": "hemra.trial/1",
        "run": run,
        "trial": row,
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
