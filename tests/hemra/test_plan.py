"""Everything is checked before the first sandbox starts, and everything that is wrong is told at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.runs import Limits
from eventlog.store import Store
from hemra.engine.begin import begin
from hemra.engine.plan import Plan, make_plan
from hemra.engine.request import RunRequest
from hemra.errors import DatasetChanged, HemraError, NotFound, UsageError
from hemra.installing import version
from tests.hemra.engine_driver import events, make_harness, make_task


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two tasks and a harness."""
    make_task(tmp_path / "set", "one")
    make_task(tmp_path / "set", "group/two")
    make_harness(tmp_path, "good", "true")
    return tmp_path


def store_of(place: Path) -> Store:
    """The place's store."""
    return Store.open(place / "store", create=True)


def plan(place: Path, **more: Any) -> Plan:
    """A plan of everything, with changes."""
    asked: dict[str, Any] = {"dataset": str(place / "set"), "harnesses": [str(place / "good.yaml")]}
    return make_plan(store_of(place), RunRequest(**(asked | more)))


def refused(place: Path, kind: type[HemraError] = UsageError, **more: Any) -> str:
    """The message that such a plan is refused with."""
    with pytest.raises(kind) as caught:
        plan(place, **more)
    assert type(caught.value) is kind
    return str(caught.value)


def test_everything_that_is_wrong_is_told_at_once(place: Path) -> None:
    """A user would mend one thing, start again, and meet the next."""
    broken = make_harness(
        place, "broken", "true", env={"KEY": "$NOT_SET_ANYWHERE"}, command=["no-such-program"]
    )
    text = refused(
        place, attempts=0, jobs=0, tasks=["nothing*"], harnesses=[broken, str(place / "absent.yaml")],
        sandbox="moon", limits=Limits(wall_seconds=-1), retries=-1,
    )  # fmt: skip
    for part in (
        "--attempts 0", "--jobs 0", "--retries -1", "nothing*", "no-such-program", "NOT_SET_ANYWHERE",
        "absent.yaml", "no sandbox 'moon'", "limit wall_seconds is -1", "9 problems",
    ):  # fmt: skip
        assert part in text
    assert text.count("\n  - ") == 9


def test_a_single_problem_keeps_its_own_error(place: Path) -> None:
    """Scripts could not tell an absent dataset (5) from a bad flag (2)."""
    assert "nope" in refused(place, NotFound, dataset="nope")
    assert "absent.yaml" in refused(place, NotFound, harnesses=[str(place / "absent.yaml")])
    assert "'x*'" in refused(place, tasks=["one", "x*"])
    assert "no harness" in refused(place, harnesses=[])
    assert refused(place, limits=Limits(memory_bytes=1000)).count("memory_bytes") == 1


def test_two_harnesses_of_one_name_are_refused(place: Path) -> None:
    """Their results could not be told apart."""
    other = make_harness(place / "other", "good", "false")
    assert "2 harnesses are named good" in refused(place, harnesses=[str(place / "good.yaml"), other])


def test_oracle_needs_solutions(place: Path) -> None:
    """Every trial of the oracle would fail in its set-up."""
    assert "one" in refused(place, harnesses=["oracle"])
    assert "these tasks have none: group/two, one" in refused(place, harnesses=["oracle", "nop"])


def test_a_task_that_changed_since_it_was_pinned_is_refused(place: Path) -> None:
    """The same task id would mean another task from one run to the next."""
    begin(store_of(place), plan(place))
    verifier = place / "set" / "one" / "verifier.py"
    verifier.write_text(verifier.read_text() + "# edited")
    assert "verifier.py" in refused(place, DatasetChanged)
    assert plan(place, tasks=["group/*"]).trials == 1


def test_a_plan_writes_nothing(place: Path) -> None:
    """`hemra run --dry-run` would pin a dataset or leave an empty run behind."""
    store = store_of(place)
    before = sorted(store.path.rglob("*"))
    described = plan(place, attempts=3, jobs=2).describe()
    assert sorted(store.path.rglob("*")) == before
    assert json.loads(json.dumps(described)) == described
    assert (described["schema"], described["trials"], described["tasks"]) == (
        "hemra.plan/1", 6, ["group/two", "one"],
    )  # fmt: skip
    assert described["longest_seconds"] == 6 * 30 / 2


def test_the_longest_time_is_unknown_without_limits(place: Path) -> None:
    """A bound would be printed that does not hold."""
    spec = place / "set" / "one" / "task.yaml"
    spec.write_text(spec.read_text().replace("wall_seconds: 30", "turns: 3"))
    assert plan(place).longest_seconds() is None
    assert plan(place, limits=Limits(wall_seconds=10), jobs=9).longest_seconds() == 10


def test_the_version_is_asked_for_and_recorded(place: Path) -> None:
    """Numbers of two versions of a harness would be compared as if they were one."""
    told = make_harness(place, "told", "true", version_command=[sys.executable, "-c", "print('told 1.2')"])
    silent = make_harness(
        place, "silent", "true", version_command=[sys.executable, "-c", "raise SystemExit(4)"]
    )
    made = plan(place, harnesses=[told, silent, "nop"])
    assert [chosen.version for chosen in made.harnesses] == ["told 1.2", None, None]
    [warning] = made.warnings
    assert "harness silent" in warning
    assert "exit code 4" in warning


def test_what_is_recorded_is_enough_to_resume_from_anywhere(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run begun with a relative path could not be resumed from another folder."""
    monkeypatch.chdir(place)
    made = make_plan(
        store_of(place), RunRequest(dataset="./set", harnesses=["good.yaml", "nop"], name="night", seed=9)
    )
    run = begin(store_of(place), made)
    [(_, planned)] = events(store_of(place), run, "run.planned")
    assert planned["hemra"]["harness_files"] == {"good": str(place / "good.yaml"), "nop": "nop"}
    assert planned["dataset"]["source"] == str(place / "set")
    assert (planned["run"], planned["name"], planned["seed"], planned["trials"]) == (run, "night", 9, 4)
    assert planned["host"]["cpus"] >= 1
    registered = events(store_of(place), "catalog", "harness.registered")
    assert sorted(data["name"] for _, data in registered) == ["good", "nop"]
    begin(store_of(place), made)
    assert len(events(store_of(place), "catalog", "harness.registered")) == 2


def test_numbers_that_no_machine_can_carry_are_refused(place: Path) -> None:
    """A slip of a zero would start thousands of processes, or end in a traceback of the system's limits."""
    assert "--jobs 257: at most 256 trials" in refused(place, jobs=257)
    assert plan(place, jobs=256).trials == 2
    assert "--attempts 500001: 1000002 trials are more" in refused(place, attempts=500_001)
    for name in Limits.__struct_fields__:
        assert refused(place, limits=Limits(**{name: 1 << 62})).count(f"limit {name} is") == 1
    assert plan(place, limits=Limits(memory_bytes=1 << 50, output_bytes=1 << 50)).trials == 2


def test_what_can_never_be_filled_in_is_told_before_the_first_trial(place: Path) -> None:
    """Every trial would fail in its set-up, or the harness be asked to greet {{name}}."""
    make_task(place / "set", "three", instruction_md="Greet {{name}} and {{ name }}.")
    make_task(place / "set", "four", instruction_md="{{x}}", prepare_py="def prepare(w, s): return {'x': 1}")
    text = refused(place)
    assert text == "task three: instruction.md: placeholder {{name}} has no value: no prepare.py draws one"
    assert plan(place, tasks=["four"]).trials == 1


def test_a_command_with_a_nul_is_refused(place: Path) -> None:
    """No system starts it: every trial would end in a setup_error."""
    bad = make_harness(place, "bad", "true", command=["echo", "a\0b"])
    assert "harness bad: command: a word cannot hold a NUL" in refused(place, harnesses=[bad])
    worse = make_harness(place, "worse", "true", version_command=["echo", "\0"])
    assert "harness worse: version_command: a word" in refused(place, harnesses=[worse])


def test_a_version_command_that_hangs_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user would wait at a silent prompt, and never learn why."""
    monkeypatch.setattr(version, "SECONDS", 0.5)
    slow = make_harness(place, "slow", "true", version_command=["sleep", "60"])
    [warning] = plan(place, harnesses=[slow]).warnings
    assert warning == (
        "harness slow: its version is not known: `sleep 60` did not end within 0.5 s and was ended"
    )
