"""Making a task from the template, preparing trials again, and what shows that a task was changed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eventlog.store import Store
from hemra.datasets.integrity import differing
from hemra.datasets.load import load_dataset, load_folder, load_suite, load_task, select
from hemra.datasets.model import TaskSpec
from hemra.datasets.pins import pin
from hemra.datasets.schema import ENGINE, GATEWAY, HARNESS, MEANINGS, PEOPLE, SANDBOX, task_schema
from hemra.datasets.template import new_task
from hemra.errors import DatasetChanged, HemraError, NotFound, UsageError
from hemra.gates.again import prepare_again, prepare_task, recorded_trial
from hemra.gates.suite import check_folder
from tests.hemra.engine_driver import Quiet
from tests.hemra.task_folders import make_task

YAML = "id: demo/one\nversion: 1\ntitle: T\ndifficulty: 1\n"
PREPARE = "def prepare(workspace, seed):\n    (workspace / 'a').write_text(str(seed))\n    return {'n': seed % 97}\n"


def test_a_new_task_passes_every_gate(tmp_path: Path) -> None:
    """The first thing that an author sees would be an error."""
    folder = new_task("shell/count lines", tmp_path)
    assert folder == tmp_path / "shell/count lines"
    [result] = check_folder(tmp_path, seeds=(1, 2))
    assert (result.task, result.ok) == ("shell/count lines", True), result.failures()
    assert {row.gate for row in result.rows} == {
        "oracle",
        "right",
        "wrong",
        "nop",
        "saboteur",
        "parrot",
        "odd",
    }


@pytest.mark.parametrize("task_id", ["", "/x", "a//b", "../x", "_x", ".x", "a/*", "x ", "a\nb", "x" * 201])
def test_a_malformed_id_makes_nothing(tmp_path: Path, task_id: str) -> None:
    """A folder would be made where no dataset finds it, or outside."""
    with pytest.raises(UsageError):
        new_task(task_id, tmp_path / "set")
    assert list(tmp_path.iterdir()) == []


def test_a_new_task_overwrites_nothing(tmp_path: Path) -> None:
    """An author's work would be gone."""
    new_task("a/b", tmp_path)
    with pytest.raises(UsageError, match="is there already"):
        new_task("a/b", tmp_path)
    with pytest.raises(UsageError, match="cannot hold another"):
        new_task("a/b/c", tmp_path)


def run_of(tmp_path: Path, tasks: Path) -> tuple[Store, str]:
    """A store with a run of nop on these tasks."""
    from hemra.engine.plan import make_plan
    from hemra.engine.request import RunRequest
    from hemra.engine.run import start

    store = Store.open(tmp_path / "store", create=True)
    plan = make_plan(store, RunRequest(dataset=str(tasks), harnesses=["nop"], seed=5))
    return store, start(store, plan, Quiet()).run


def test_a_trial_is_prepared_again_byte_for_byte(tmp_path: Path) -> None:
    """What a harness faced could not be looked at afterwards."""
    make_task(tmp_path / "set", yaml=YAML, prepare=PREPARE, instruction="Say {{n}}.", **{"fixture/b": "b"})
    store, run = run_of(tmp_path, tmp_path / "set")
    recorded = recorded_trial(store, run, "0001")
    made = prepare_again(store, recorded, tmp_path / "again")
    assert (made.values, made.instruction) == (recorded.values, recorded.instruction)
    other = prepare_task(made.task, recorded.seed, tmp_path / "other")
    for name in ("workspace/a", "workspace/b", "values.json", "instruction.md"):
        assert (made.folder / name).read_bytes() == (other.folder / name).read_bytes()
    assert (made.folder / "workspace/a").read_text("utf-8") == str(recorded.seed)
    with pytest.raises(NotFound, match="0009"):
        recorded_trial(store, run, "0009")
    with pytest.raises(UsageError, match="not an empty folder"):
        prepare_task(made.task, 1, made.folder)
    (tmp_path / "set/demo/one/fixture/b").write_text("c", "utf-8")
    with pytest.raises(DatasetChanged, match="not what was run"):
        prepare_again(store, recorded, tmp_path / "more")


def test_a_draw_that_is_not_the_seeds_is_found_out(tmp_path: Path) -> None:
    """A trial would be called the same although it is another."""
    make_task(tmp_path / "set", yaml=YAML, instruction="{{n}}",
              prepare="import os\ndef prepare(workspace, seed):\n    return {'n': os.urandom(8).hex()}\n")  # fmt: skip
    store, run = run_of(tmp_path, tmp_path / "set")
    with pytest.raises(HemraError, match="gave another n than was recorded"):
        prepare_again(store, recorded_trial(store, run, "0001"), tmp_path / "again")


def test_what_only_a_world_tells_comes_from_the_record(tmp_path: Path) -> None:
    """A trial with a world could not be prepared again, or its world would be made up."""
    world = "import signal\nprint('ready {\"port\": 77}', flush=True)\nsignal.pause()\n"
    make_task(tmp_path / "set", yaml=YAML + "world: world.py\nnetwork: mock\nservices: {web: {corpus: w}}\n",
              instruction="{{port}} {{web}}", **{"world.py": world, "w/x.txt": "x"})  # fmt: skip
    store, run = run_of(tmp_path, tmp_path / "set")
    made = prepare_again(store, recorded_trial(store, run, "0001"), tmp_path / "again")
    assert made.instruction == f"77 {made.values['web']}"
    assert (made.folder / "web/x.txt").read_text("utf-8") == "x"
    alone = prepare_task(made.task, 1, tmp_path / "alone")
    assert alone.instruction == "{{port}} {{web}}"


def problems(store: Store | None, ref: Path) -> list[str]:
    """What integrity says of a dataset."""
    [found] = differing(store, str(ref))
    return found.problems


def test_a_changed_task_is_shown(tmp_path: Path) -> None:
    """A run that wrote into a fixture would go unnoticed."""
    root = tmp_path / "set"
    make_task(root, "demo/one", **{"fixture/a": "a"})
    make_task(root, "demo/two")
    store = Store.open(tmp_path / "store", create=True)
    pin(store, load_folder(root))
    assert problems(store, root) == []
    (root / "demo/one/fixture/a").write_text("b", "utf-8")
    (root / "demo/two/task.yaml").unlink()
    assert problems(store, root) == [
        "not as pinned: task 'demo/one': changed fixture/a",
        "not as pinned: task 'demo/two' is gone",
    ]
    assert "not as pinned: task 'demo/one': changed fixture/a" in [
        text for each in differing(store, None) for text in each.problems
    ]


@pytest.mark.needs("git")
def test_a_task_that_is_not_as_git_has_it_is_shown(tmp_path: Path) -> None:
    """Without a pin nothing would be seen."""
    folder = make_task(tmp_path, **{"fixture/a": "a"})
    assert differing(None, str(tmp_path))[0].tracked is False
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)
    assert problems(None, tmp_path) == []
    (folder / "fixture/a").write_text("b", "utf-8")
    (folder / "fixture/new").write_text("b", "utf-8")
    (folder / "README.md").write_text("b", "utf-8")
    assert sorted(problems(None, tmp_path)) == [
        "not as in git: added demo/one/README.md",
        "not as in git: added demo/one/fixture/new",
        "not as in git: changed demo/one/fixture/a",
    ]


def test_a_hostile_solution_cannot_change_a_fixture(tmp_path: Path) -> None:
    """A trial would change what the next one starts from: fixtures would be linked or used in place."""
    from hemra.engine.plan import make_plan
    from hemra.engine.request import RunRequest
    from hemra.engine.run import start

    hostile = (
        "import os, pathlib\nfrom hemra_protocol import Trial\ntrial = Trial('x', '1')\n"
        "for path in pathlib.Path(trial.workspace).rglob('*'):\n"
        "    if path.is_file():\n"
        "        assert path.stat().st_nlink == 1 and not path.is_symlink()\n"
        "        os.chmod(path, 0o666); path.write_text('spoilt')\n"
        "trial.final('done')\n"
    )
    root = tmp_path / "set"
    make_task(root, **{"fixture/a": "a", "fixture/sub/b": "b", "solution/solve.py": hostile})
    store = Store.open(tmp_path / "store", create=True)
    plan = make_plan(store, RunRequest(dataset=str(root), harnesses=["oracle"], attempts=2))
    assert start(store, plan, Quiet()).outcomes == {"completed": 2}
    assert problems(store, root) == []
    assert (root / "demo/one/fixture/a").read_text("utf-8") == "a"


def suite(root: Path, name: str, text: str) -> Path:
    """A suite file of a dataset."""
    (root / "_suites").mkdir(exist_ok=True)
    path = root / "_suites" / f"{name}.yaml"
    path.write_text(f"name: {name}\n{text}", "utf-8")
    return path


@pytest.fixture
def traits(tmp_path: Path) -> Path:
    """A dataset of tasks with tags and difficulties."""
    for number, (task, tags) in enumerate(
        {"a/one": "[x]", "a/two": "[x, y]", "b/one": "[y]", "c/three": "[]"}.items()
    ):
        make_task(
            tmp_path / "set",
            task,
            yaml=f"id: {task}\nversion: 1\ntitle: T\ndifficulty: {number % 3 + 1}\ntags: {tags}\n",
        )
    return tmp_path / "set"


@pytest.mark.parametrize(
    ("selectors", "found"),
    [
        ([], ["a/one", "a/two", "b/one", "c/three"]), (["tag:x"], ["a/one", "a/two"]),
        (["tag:x", "tag:y"], ["a/one", "a/two", "b/one"]),
        (["a", "tag:y"], ["a/two"]), (["difficulty:1"], ["a/one", "c/three"]), (["one", "difficulty:3"], ["b/one"]),
        (["a*", "c*", "difficulty:1"], ["a/one", "c/three"]),
    ],
)  # fmt: skip
def test_tasks_are_chosen_by_glob_tag_and_difficulty(
    traits: Path, selectors: list[str], found: list[str]
) -> None:
    """Another part of the suite would be run than was asked for."""
    assert [task.id for task in select(load_folder(traits), selectors)] == found


@pytest.mark.parametrize("selectors", [["tag:z"], ["difficulty:4"], ["b", "tag:x"], ["nope"]])
def test_a_selection_of_nothing_is_refused(traits: Path, selectors: list[str]) -> None:
    """A run of no task would look like one that went well."""
    with pytest.raises(UsageError, match="no task of dataset 'set' matches"):
        select(load_folder(traits), selectors)


def test_a_suite_is_a_dataset_of_its_own(traits: Path, tmp_path: Path) -> None:
    """A suite could be neither pinned nor resumed, or a new task would have to be put on a list."""
    file = suite(traits, "some", "tasks: [a, b]\ntags: [y]\nwithout: [b/*]\n")
    found = load_dataset(str(file))
    assert (found.name, found.source, [task.id for task in found.tasks]) == ("some", str(file), ["a/two"])
    make_task(traits, "a/new", yaml="id: a/new\nversion: 1\ntitle: T\ndifficulty: 1\ntags: [y]\n")
    assert [task.id for task in load_suite(file).tasks] == ["a/new", "a/two"]
    store = Store.open(tmp_path / "store", create=True)
    pin(store, load_suite(file))
    assert load_dataset("some", store).digest == load_suite(file).digest


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tasks: [zz]\n", "no task matches 'zz'"),
        ("without: ['*']\n", "chooses no task"),
        ("tagz: []\n", "unknown field"),
    ],
)
def test_a_wrong_suite_is_named(traits: Path, text: str, told: str) -> None:
    """A mistyped task would silently not be run."""
    with pytest.raises(UsageError, match=told):
        load_suite(suite(traits, "some", text))


def test_a_suite_is_called_as_its_file(traits: Path) -> None:
    """It could not be found by its name."""
    path = suite(traits, "some", "")
    with pytest.raises(UsageError, match="must be that of the file"):
        load_suite(path.rename(path.with_name("other.yaml")))
    with pytest.raises(UsageError, match="in the folder _suites"):
        load_suite(path.with_name("other.yaml").rename(traits / "other.yaml"))


def test_the_schema_says_of_every_field_who_holds_it() -> None:
    """A field would be decoration, and nobody could tell."""
    schema = task_schema()
    parts = {"TaskSpec": schema, **schema["$defs"]}
    for name, part in parts.items():
        assert part["additionalProperties"] is False
        assert set(part["properties"]) == set(MEANINGS[name]), name
        for field, told in part["properties"].items():
            assert told["x-held-by"] in (ENGINE, SANDBOX, GATEWAY, HARNESS, PEOPLE), field
            assert told["description"].endswith("."), field
    assert sorted(schema["required"]) == ["difficulty", "id", "title", "version"]
    assert set(schema["properties"]) == set(TaskSpec.__struct_fields__)
    json.dumps(schema)


def unheld_of(**spec: Any) -> dict[str, str]:
    """What a task with these fields has that nobody holds, on the host with the oracle."""
    from eventlog.schemas.runs import Limits
    from harnesses.registry import load_harness
    from hemra.datasets.model import Task
    from hemra.engine.unheld import unheld
    from hemra.sandboxes.host import host_enforcement

    content = {"id": "a", "version": 1, "title": "T", "difficulty": 1, **spec}
    task = Task("a", Path(), msgspec.convert(content, TaskSpec), "", "", {})
    limits: Limits = task.spec.limits.as_limits()
    return unheld(task, load_harness("oracle"), limits, host_enforcement(linux=True, root=False))


#: Limits that only the gateway can hold: the oracle calls no model.
BUDGET = {"tokens": 3, "calls": 3, "input_tokens": 3, "output_tokens": 3, "cost_usd": 3}


def test_every_field_is_held_or_named() -> None:
    """A limit or a wish of a task would silently be skipped."""
    assert unheld_of(network="full") == {}
    whole = unheld_of(
        network="none", allowed_tools=["a"], forbidden_tools=["b"], latency_ms={"a": 5},
        sampling={"temperature": 0.0, "seed": 42},
        limits={"wall_seconds": 1, "turns": 2, "memory_mb": 4, "processes": 5, "output_mb": 6} | BUDGET,
    )  # fmt: skip
    assert set(whole) == {"network", "allowed_tools", "forbidden_tools", "latency_ms.a", "sampling.temperature",
                          "sampling.seed", *BUDGET}  # fmt: skip
    assert all(whole.values())
    by_harness = {
        name
        for fields in MEANINGS.values()
        for name, (holder, _) in fields.items()
        if holder in (HARNESS, GATEWAY)
    }
    named = {name.partition(".")[0] for name in whole} | {name.partition(".")[2] for name in whole}
    assert by_harness - {"top_p", "top_k", "sampling"} <= named


def test_checks_are_no_part_of_a_task(tmp_path: Path) -> None:
    """Adding a check would make every result of the task another task's, or hand the checks to the harness."""
    folder = make_task(tmp_path)
    before = load_task(folder, tmp_path)
    (folder / "checks/right_x.py").write_text("x", "utf-8")
    after = load_task(folder, tmp_path)
    assert (before.digest, before.files) == (after.digest, after.files)
    assert not any(path.startswith("checks") for path in after.files)


def test_the_kit_is_part_of_the_scorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials scored by another version of the kit would be compared as if one scorer had judged them."""
    from hemra.datasets import beside

    uses = make_task(tmp_path, "a", verifier="import hemra_verifier\ndef verify(w, t): return 1\n")
    plain = make_task(tmp_path, "b")
    before = [load_task(folder, tmp_path).scorer_digest for folder in (uses, plain)]
    changed = {name: content + b"#" for name, content in beside.kit().items()}
    monkeypatch.setattr(beside, "kit", lambda: changed)
    after = [load_task(folder, tmp_path).scorer_digest for folder in (uses, plain)]
    assert before[0] != after[0]
    assert before[1] == after[1]
