"""Runs that a comparison is made of: each of one harness, all trials passed, but for what a test is about."""

from __future__ import annotations

import itertools
from typing import Any

from eventlog.schemas import conversation as c
from eventlog.schemas import runs as r
from eventlog.store import Store
from hemra.reports.render import render_compare
from tests.projections.synthetic_runs import SyntheticRun

TASKS = ("t/0", "t/1")
_RUNS = itertools.count(1)


def begun(store: Store, **plan: Any) -> SyntheticRun:
    """A run of the harness alpha (or `harnesses`) that was started."""
    fields = {"tasks": TASKS, "harnesses": ("alpha",)} | plan
    return SyntheticRun(store, f"20261130-194512-aa{next(_RUNS):04d}", **fields).begin()


def plain(run: SyntheticRun, trial: str, sandbox: dict[str, Any] | None = None) -> None:
    """An ordinary trial that passed."""
    run.start(trial, sandbox=sandbox)
    run.score(trial, "PASS", 1.0)
    run.finish(trial, reward=1.0)


def ran(store: Store, *calls: dict[str, Any], **plan: Any) -> str:
    """A finished run whose every trial made such calls through the gateway (`answered`: the model that did)."""
    run = begun(store, **({"served": ("alpha",)} | plan))
    for trial in run.trials.values():
        run.start(trial)
        for number, call in enumerate(calls, 1):
            asked = {k: v for k, v in call.items() if k != "answered"}
            run.call(trial, f"m{number}", asked=asked, model=call.get("answered", call["model"]))
        run.score(trial, "PASS", 1.0)
        run.finish(trial, reward=1.0)
    return run.end()


def placed(store: Store, sandbox: dict[str, Any], **plan: Any) -> str:
    """A finished run whose every trial had such a sandbox."""
    run = begun(store, **plan)
    for trial in run.trials.values():
        plain(run, trial, sandbox)
    return run.end()


def resumed(store: Store, versions: str = "", **fields: Any) -> str:
    """A finished run that was stopped after its first trial and resumed; `versions`: what the engine then said."""
    run = begun(store)
    plain(run, "0001")
    run.event(r.RunCancelled(reason="ctrl-c", finished=1, remaining=1))
    more = {"pid": 2, "boot": "boot-1", "jobs": 2, "finished": 1, "remaining": 1, "interrupted": []}
    run.event(r.RunResumed(**(more | fields)))
    if versions:
        run.event(c.NoteRecorded(level="warning", code="harness_version_changed", text=versions))
    plain(run, "0002")
    return run.end()


def carried(store: Store, **fields: Any) -> str:
    """A finished run whose second trial an engine ran that says such things of itself."""
    run = begun(store)
    plain(run, "0001")
    event = r.RunResumed(pid=1, boot="boot-2", jobs=2, finished=1, remaining=1, interrupted=[], **fields)
    run.event(event)
    plain(run, "0002")
    return run.end()


def differing(comparison: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The conditions that differ, by name."""
    return {each["name"]: (each["a"], each["b"]) for each in comparison["conditions"]}


def spoken(comparison: dict[str, Any], format_: str) -> str:
    """The comparison in a format, in one line."""
    return " ".join(render_compare(comparison, format_, width=100, colour=False).split())  # type: ignore[arg-type]
