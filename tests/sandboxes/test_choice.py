"""Which sandbox a trial runs in: the run's, else the task's own, else the strongest that works here."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventlog.reader import read
from eventlog.store import Store
from hemra.engine import check
from hemra.engine.plan import Plan, make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import start
from hemra.errors import HemraError, UsageError
from hemra.sandboxes import bwrap_check
from tests.hemra.engine_driver import make_harness, make_task


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store.open(tmp_path / "log", create=True)


def planned(store: Store, tmp_path: Path, sandbox: str, *own: str | None) -> Plan:
    """A plan of tasks with these sandboxes of their own."""
    for number, wish in enumerate(own):
        folder = make_task(tmp_path / "set", f"t{number}")
        if wish is not None:
            spec = (folder / "task.yaml").read_text(encoding="utf-8")
            (folder / "task.yaml").write_text(f"{spec}sandbox: {wish}\n", encoding="utf-8")
    harness = make_harness(tmp_path, "h", "touch done", network="none")
    return make_plan(store, RunRequest(dataset=str(tmp_path / "set"), harnesses=[harness], sandbox=sandbox))


@pytest.mark.needs("bwrap")
def test_a_task_runs_in_its_own_sandbox(store: Store, tmp_path: Path) -> None:
    """A task that needs an image, or this machine itself, would be run where it cannot be done."""
    plan = planned(store, tmp_path, "auto", None, "host")
    assert (plan.request.sandbox, plan.sandboxes) == ("bwrap", {"t1": "host"})
    result = start(store, plan, Quiet())
    assert result.outcomes == {"completed": 2}
    created = {e.trial: e.data["kind"] for e in read(store, result.run, types=("sandbox.created",))}
    tasks = {e.trial: e.data["task"] for e in read(store, result.run, types=("trial.queued",))}
    assert {tasks[trial]: kind for trial, kind in created.items()} == {"t0": "bwrap", "t1": "host"}
    recorded = next(iter(read(store, result.run, types=("run.planned",)))).data
    assert recorded["sandbox"] == "bwrap"
    assert [task.get("sandbox") for task in recorded["tasks"]] == [None, "host"]


@pytest.mark.needs("bwrap")
def test_a_sandbox_that_the_run_names_is_every_tasks(store: Store, tmp_path: Path) -> None:
    """Somebody who asks for isolation must not get a task without it."""
    plan = planned(store, tmp_path, "bwrap", None, "host")
    assert plan.sandboxes == {}


@pytest.mark.parametrize("wish", ["nowhere", "host:option", "bwrap:x"])
def test_a_sandbox_that_cannot_be_had_keeps_the_run_from_starting(
    store: Store, tmp_path: Path, wish: str
) -> None:
    """Found out at the hundredth trial, it would cost the ninety-nine before it."""
    with pytest.raises(HemraError, match=r"no sandbox 'nowhere'|takes no option|or none, so not 'x'"):
        planned(store, tmp_path, "auto", wish)
    with pytest.raises(UsageError):
        planned(store, tmp_path, wish)


def test_a_weaker_sandbox_is_chosen_with_a_word(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever believes to be isolated and is not, runs what should not be run."""
    monkeypatch.setattr(bwrap_check, "why_not", lambda: "bubblewrap is not installed: install it")
    plan = planned(store, tmp_path, "auto", None)
    assert plan.request.sandbox == "host"
    assert any("trials run in the host sandbox: no bwrap sandbox" in text for text in plan.warnings)
    with pytest.raises(HemraError, match="sandbox bwrap: bubblewrap is not installed"):
        planned(store, tmp_path, "bwrap")


def test_the_check_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning a run must not cost a process or a folder."""
    monkeypatch.setattr(check, "scratch_parent", lambda: tmp_path)
    assert check.sandbox_kind("host") == []
    assert list(tmp_path.rglob("*.owner")) == []
