"""`--network`: what a run asks for in the place of its harnesses and tasks, and what that cannot go together with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventlog.reader import read
from eventlog.store import Store
from hemra.cli.main import main
from hemra.engine.plan import Plan, make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import start
from hemra.errors import UsageError
from tests.hemra.engine_driver import make_harness, make_task

#: Tells whether there is any way out.
_ROUTES = "test $(wc -l < /proc/net/route) -gt 1 && echo way > found; touch done"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store.open(tmp_path / "log", create=True)


def planned(store: Store, tmp_path: Path, asked: str | None, task: str = "", **harness: Any) -> Plan:
    """A plan of one task, `task` added to its description, and one harness."""
    folder = make_task(tmp_path / "set", "t0")
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write(task)
    (folder / "web").mkdir()
    (folder / "web" / "index.html").write_text("page", encoding="utf-8")
    ref = make_harness(tmp_path, "h", _ROUTES, **harness)
    request = RunRequest(dataset=str(tmp_path / "set"), harnesses=[ref], sandbox="bwrap", network=asked)
    return make_plan(store, request)


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    ("asked", "got"), [(None, "full"), ("none", "none"), ("gateway", "none"), ("full", "full")]
)
def test_the_run_decides_for_every_trial(store: Store, tmp_path: Path, asked: str | None, got: str) -> None:
    """A run that was to have no network would have all of it, and nobody would see it in the record."""
    plan = planned(store, tmp_path, asked)
    result = start(store, plan, Quiet())
    events = {event.type: event.data for event in read(store, result.run)}
    assert events["run.planned"]["network"] == asked
    # Without a gateway and without services there is nothing that `gateway` lets through.
    assert events["sandbox.created"]["network"] == got
    assert plan.describe()["network"] == asked


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    ("asked", "task", "harness", "said"),
    [
        ("none", "network: full\n", {}, "need all of the network (network: full): t0"),
        ("gateway", "network: full\n", {}, "need all of the network (network: full): t0"),
        ("none", "network: mock\nservices: {web: {corpus: web}}\n", {}, "or a url of mcp_servers): t0"),
        ("none", "", {"network": "full"}, "its file says network: full, and this run --network none"),
        ("full", "", {"network": "none"}, "its file says network: none, and this run --network full"),
        ("none", "", {"upstream": {"base_url": "http://127.0.0.1:9"}}, "use --network gateway"),
        ("all", "", {}, "there are none, gateway, full"),
    ],
)
def test_what_cannot_go_together_is_told_before_the_run(
    store: Store, tmp_path: Path, asked: str, task: str, harness: dict[str, Any], said: str
) -> None:
    """Every trial would fail for want of what it was not given, or have more than its harness file allows."""
    with pytest.raises(UsageError) as told:
        planned(store, tmp_path, asked, task, **harness)
    assert said in str(told.value)


@pytest.mark.needs("bwrap")
def test_what_goes_together_is_not_refused(store: Store, tmp_path: Path) -> None:
    """The same wish twice is no conflict."""
    plan = planned(store, tmp_path, "none", network="none")
    assert plan.warnings == []


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    ("asked", "said"),
    [("full", "1 tasks ask for less"), ("none", "names no upstream"), ("gateway", "names no upstream")],
)
def test_what_the_run_changes_is_told(store: Store, tmp_path: Path, asked: str, said: str) -> None:
    """A task that asks for no network and gets all of it is another task; a model may be out of reach."""
    assert any(said in warning for warning in planned(store, tmp_path, asked).warnings)


def test_the_command_line_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A flag that is not passed on does nothing."""
    make_task(tmp_path / "set", "t0")
    command = ["run", "--dataset", str(tmp_path / "set"), "--harness", "nop", "--sandbox", "host",
               "--store", str(tmp_path / "log"), "--dry-run", "--json"]  # fmt: skip
    assert main([*command, "--network", "none"]) == 0
    assert json.loads(capsys.readouterr().out)["network"] == "none"
    assert main([*command, "--network", "some"]) == 2
    assert "'none', 'gateway', 'full'" in capsys.readouterr().err
