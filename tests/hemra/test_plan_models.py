"""What a plan says of models: which prices, which recorded answers, and what is wrong with them, before it starts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eventlog.reader import read
from eventlog.schemas.runs import PlannedCassette, RunPlanned
from eventlog.store import Store
from hemra.engine.begin import begin
from hemra.engine.plan import Plan, make_plan
from hemra.engine.request import RunRequest
from hemra.engine.served import cassette_for
from hemra.engine.state import load
from hemra.errors import HemraError, NotFound, UsageError
from hemra.gateway import prices
from hemra.gateway.prices import PriceTable
from tests.gateway.recordings import Recording, answered, chat
from tests.hemra.engine_driver import make_harness, make_task

UPSTREAM = {"base_url": "http://127.0.0.1:9/v1", "dialect": "chat"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tasks, a harness with an endpoint and one without, and no price table of the user's."""
    make_task(tmp_path / "set", "one")
    make_task(tmp_path / "set", "two")
    make_harness(tmp_path, "served", "true", upstream=UPSTREAM, model="m")
    make_harness(tmp_path, "plain", "true")
    monkeypatch.setattr(prices, "user_file", lambda: tmp_path / "prices.yaml")
    return tmp_path


def store_of(place: Path) -> Store:
    """The place's store."""
    return Store.open(place / "store", create=True)


def plan(place: Path, *harnesses: str, **more: Any) -> Plan:
    """A plan of everything."""
    files = [str(place / f"{name}.yaml") for name in harnesses or ("served",)]
    return make_plan(
        store_of(place),
        RunRequest(**({"dataset": str(place / "set"), "harnesses": files, "sandbox": "host"} | more)),
    )


def refused(place: Path, kind: type[HemraError] = UsageError, *harnesses: str, **more: Any) -> str:
    """The message that such a plan is refused with."""
    with pytest.raises(kind) as caught:
        plan(place, *harnesses, **more)
    return str(caught.value)


def recorded(place: Path, *tasks: str, seed: int = 0, **more: Any) -> str:
    """The id of a recorded run of the tasks, with the digests and seeds that a plan of today has."""
    today = plan(place, "served", tasks=list(tasks), seed=seed, record_cassette=True, **more)
    store = store_of(place)
    run = begin(store, today)
    recording = Recording.going_on(store, run)
    for trial in load(store, run).trials:
        recording.record(trial, "m1", chat("go"), answered(trial), context="sha256:c")
    recording.leave()
    return run


def test_prices_are_part_of_the_plan(place: Path) -> None:
    """A resumed run would be priced by whatever table the user has by then."""
    made = plan(place)
    run = begin(store_of(place), made)
    (place / "prices.yaml").write_text("name: other\ndate: 2027-01-01\nprices: []\n", encoding="utf-8")
    again = load(store_of(place), run).plan
    assert again.prices is not None
    table = PriceTable.of_record(again.prices)
    assert (table.name, table.entry("gpt-5") is not None) == ("hemra list prices", True)
    assert plan(place).models.prices == PriceTable("other", "2027-01-01", ())
    assert made.describe()["prices"] == "hemra list prices (2026-10-24)"


def test_a_run_without_models_has_no_prices(place: Path) -> None:
    """A broken price table would keep runs from starting that need none."""
    (place / "prices.yaml").write_text("nonsense", encoding="utf-8")
    assert plan(place, "plain").models.prices is None
    assert "prices.yaml" in refused(place)
    assert refused(place, NotFound, prices=str(place / "absent.yaml")).endswith("shows the one in use")


def test_what_needs_the_gateway_says_so(place: Path) -> None:
    """A run would be recorded without a single answer in it, or replayed without being asked."""
    for flags in ({"record_cassette": True}, {"cassette": "x"}):
        assert "no harness of this run calls its model through the gateway" in refused(
            place, UsageError, "plain", **flags
        )
    assert plan(place, "plain", "served", record_cassette=True).recorded("r").record_cassette
    assert "--cassette-miss" in refused(place, cassette_miss="upstream")
    assert "no run nowhere" in refused(place, NotFound, cassette="nowhere")


def test_a_cassette_is_part_of_the_plan(place: Path) -> None:
    """A resumed run would ask the model where the first half of it was replayed."""
    run = recorded(place, "one", "two")
    made = plan(place, cassette=run, cassette_miss="upstream")
    again = begin(store_of(place), made)
    planned = load(store_of(place), again).plan
    assert planned.cassette == PlannedCassette(run=run, trial=None, miss="upstream")
    assert made.warnings == []
    assert made.describe()["cassette"] == {"run": run, "trial": None, "miss": "upstream"}
    raw = next(read(store_of(place), again, types=("run.planned",))).data
    assert raw["cassette"]["run"] == run


def test_a_job_finds_its_recorded_trial(place: Path) -> None:
    """A try would be answered with another trial's words, or without the answers that an earlier try was given."""
    run = recorded(place, "one", "two")
    made = plan(place, tasks=["two"], cassette=f"{run}/0002")
    job = SimpleNamespace(harness=made.harnesses[0].harness, task=made.tasks[0], attempt=5)
    for _ in range(2):
        playing = cassette_for(store_of(place), made.recorded("new"), job)  # type: ignore[arg-type]
        assert playing is not None
        found = playing.answer("chat", False, "sha256:c")
        assert found is not None
        assert found.replayed == f"{run}/0002/m1"
    assert cassette_for(store_of(place), plan(place).recorded("new"), job) is None  # type: ignore[arg-type]


def test_trials_without_a_recording_are_named(place: Path) -> None:
    """A replay would find out half-way that it has no answers, or ask a model that it was to do without."""
    run = recorded(place, "one")
    text = refused(place, cassette=run)
    assert f"1 of 2 trials have no recorded answers in {run}: two by served, attempt 1" in text
    assert "--cassette-miss upstream" in text
    warned = plan(place, cassette=run, cassette_miss="upstream").warnings
    assert any("they ask their model" in line for line in warned)
    assert "attempt 2" in refused(place, cassette=run, tasks=["one"], attempts=2)
    assert plan(place, cassette=run, tasks=["one"]).warnings == []


def test_other_seeds_and_changed_tasks_are_warned_of(place: Path) -> None:
    """Every call would miss, and nothing would say that the drawn values are others."""
    run = recorded(place, "one", seed=7)
    assert any("other seeds" in line for line in plan(place, cassette=run, tasks=["one"]).warnings)
    assert plan(place, cassette=run, tasks=["one"], seed=7).warnings == []
    make_task(place / "other", "one", instruction_md="Make `done`, please.")
    other = plan(place, dataset=str(place / "other"), cassette=run, seed=7)
    assert other.warnings == [f"changed since {run} was recorded: one"]


def test_the_fields_are_new_and_may_be_missing() -> None:
    """A plan of an older hemra could not be read any more."""
    fields = dict.fromkeys(("record_cassette", "cassette", "prices"))
    assert set(fields) <= set(RunPlanned.__struct_fields__)
    defaults = dict(
        zip(RunPlanned.__struct_fields__[::-1], RunPlanned.__struct_defaults__[::-1], strict=False)
    )
    assert {name: defaults[name] for name in fields} == {
        "record_cassette": False,
        "cassette": None,
        "prices": None,
    }
