"""Pins: the first use fixes a dataset, later differences are refused by name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eventlog.reader import read
from eventlog.store import Store
from hemra.datasets.load import load_dataset, load_folder, select
from hemra.datasets.pins import check_pinned, ensure_pinned, newest_pins, pin, pins_named
from hemra.errors import DatasetChanged, NotFound, UsageError
from tests.hemra.task_folders import make_task


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store in a path with a space."""
    return Store.open(tmp_path / "a store", create=True)


def pins(store: Store) -> list[str]:
    """Digests of all pins in the catalog."""
    return [event.data["digest"] for event in read(store, "catalog", types=("dataset.pinned",))]


def test_first_use_pins_the_whole_dataset(tmp_path: Path, store: Store) -> None:
    """Only what happened to be selected first would be pinned."""
    make_task(tmp_path / "set", "a/one")
    make_task(tmp_path / "set", "a/two")
    dataset = load_folder(tmp_path / "set")
    pinned = ensure_pinned(store, dataset, select(dataset, ["one"]))
    assert [task.id for task in pinned.tasks] == ["a/one", "a/two"]
    assert pinned.tasks[0].files == dataset.tasks[0].files
    assert newest_pins(store) == {("set", str(tmp_path / "set")): pinned}
    assert ensure_pinned(store, load_folder(tmp_path / "set"), dataset.tasks) == pinned
    assert pins(store) == [dataset.digest]


def test_change_names_files_and_remedy(tmp_path: Path, store: Store) -> None:
    """A person would be told that something changed, not what, and not what to do."""
    folder = make_task(tmp_path / "my set", "a/one", **{"fixture/x": "1", "fixture/y": "1"})
    dataset = load_folder(tmp_path / "my set")
    ensure_pinned(store, dataset, dataset.tasks)
    (folder / "fixture/x").unlink()
    (folder / "fixture/z").write_text("new")
    (folder / "verifier.py").write_text("def verify(workspace, trace): return {'status': 'PASS'}\n")
    changed = load_folder(tmp_path / "my set")
    with pytest.raises(DatasetChanged) as caught:
        ensure_pinned(store, changed, changed.tasks)
    text = str(caught.value)
    assert "'a/one': changed verifier.py, added fixture/z, missing fixture/x" in text
    assert f"hemra dataset pin '{tmp_path / 'my set'}'" in text
    assert len(text.splitlines()) == 1


def test_only_selected_tasks_are_checked(tmp_path: Path, store: Store) -> None:
    """Work on one task would block runs of every other."""
    make_task(tmp_path / "set", "a/one")
    two = make_task(tmp_path / "set", "a/two")
    dataset = load_folder(tmp_path / "set")
    first = ensure_pinned(store, dataset, dataset.tasks)
    (two / "instruction.md").write_text("Do something else.\n")
    make_task(tmp_path / "set", "a/three")
    dataset = load_folder(tmp_path / "set")
    assert ensure_pinned(store, dataset, select(dataset, ["one"])) == first
    with pytest.raises(DatasetChanged, match=r"'a/two': changed instruction\.md"):
        ensure_pinned(store, dataset, select(dataset, ["one", "two"]))
    with pytest.raises(DatasetChanged, match="'a/three' was added since"):
        ensure_pinned(store, dataset, select(dataset, ["three"]))


def test_pinning_again_accepts_the_change_and_keeps_the_old_pin(tmp_path: Path, store: Store) -> None:
    """The record of what earlier runs used would be lost, or the new content could never be run."""
    folder = make_task(tmp_path / "set", "a/one")
    before = pin(store, load_folder(tmp_path / "set"))
    (folder / "instruction.md").write_text("Changed.\n")
    dataset = load_folder(tmp_path / "set")
    after = pin(store, dataset)
    assert pin(store, dataset) == after
    assert ensure_pinned(store, dataset, dataset.tasks) == after
    assert pins(store) == [before.digest, after.digest]


def test_large_dataset_is_pinned_through_a_blob(tmp_path: Path, store: Store) -> None:
    """A pin above the size of one event could not be written, or not be compared."""
    many = {f"fixture/{'long-name-' * 5}{number:04}": "x" for number in range(800)}
    folder = make_task(tmp_path / "set", "a/one", **many)
    dataset = load_folder(tmp_path / "set")
    ensure_pinned(store, dataset, dataset.tasks)
    assert pins_named(store, "set")[0].tasks[0].files == dataset.tasks[0].files
    (folder / "instruction.md").write_text("Changed.\n")
    dataset = load_folder(tmp_path / "set")
    with pytest.raises(DatasetChanged, match=r"changed instruction\.md"):
        ensure_pinned(store, dataset, dataset.tasks)


def test_pinned_name_is_a_dataset_reference(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--dataset NAME` would work only in the folder beside it."""
    folder = make_task(tmp_path / "set", "a/one")
    pinned = pin(store, load_folder(tmp_path / "set"))
    monkeypatch.chdir("/")
    assert load_dataset("set", store).digest == pinned.digest
    folder.parent.parent.rename(tmp_path / "moved")
    with pytest.raises(NotFound, match="which is gone"):
        load_dataset("set", store)
    with pytest.raises(NotFound, match="hermes, hermes-core, set, smoke"):
        load_dataset("sett", store)


def test_two_folders_of_one_name_are_two_datasets(tmp_path: Path, store: Store) -> None:
    """The second folder would be refused for files that nobody touched, or take over the first one's pin."""
    make_task(tmp_path / "x/set", "a/one")
    make_task(tmp_path / "y/set", "a/one", instruction="Another task.\n")
    first, second = load_folder(tmp_path / "x/set"), load_folder(tmp_path / "y/set")
    ensure_pinned(store, first, first.tasks)
    ensure_pinned(store, second, second.tasks)
    assert [p.source for p in pins_named(store, "set")] == [first.source, second.source]
    assert check_pinned(store, first, first.tasks) != check_pinned(store, second, second.tasks)
    with pytest.raises(UsageError, match=r"2 folders are pinned under the name 'set' \(.*x/set, .*y/set\)"):
        load_dataset("set", store)
    (tmp_path / "x/set").rename(tmp_path / "gone")
    assert load_dataset("set", store).digest == second.digest


def test_the_bundled_suites_name_is_its_own(tmp_path: Path, store: Store) -> None:
    """A folder called hermes would take over the bundled suite's pin: neither could be run any more."""
    make_task(tmp_path / "hermes", "a/one")
    with pytest.raises(UsageError, match=r"'hermes' is the bundled suite's; .*suite\.yaml"):
        load_dataset(str(tmp_path / "hermes"), store)
    (tmp_path / "hermes/suite.yaml").write_text("name: mine\n")
    assert load_dataset(str(tmp_path / "hermes"), store).name == "mine"
    bundled = load_dataset("hermes")
    assert load_dataset(str(bundled.root)).source == bundled.source == "bundled"


def test_a_task_that_was_removed_is_missed(tmp_path: Path, store: Store) -> None:
    """A dataset that lost a task would be scored over the rest, as if it had never been there."""
    for task in ("a/one", "a/two", "b/three"):
        make_task(tmp_path / "set", task)
    dataset = load_folder(tmp_path / "set")
    ensure_pinned(store, dataset, dataset.tasks)
    shutil.rmtree(tmp_path / "set/a/two")
    now = load_folder(tmp_path / "set")
    for globs in ([], ["a"], ["*"], ["b/*", "t*"]):
        with pytest.raises(DatasetChanged, match=r"task 'a/two' was removed since.*hemra dataset pin"):
            ensure_pinned(store, now, now.tasks, globs)
    for globs in (["b"], ["one"], ["a/one", "three"]):
        assert ensure_pinned(store, now, select(now, globs), globs).digest == dataset.digest
    pin(store, now)
    assert ensure_pinned(store, now, now.tasks).digest == now.digest
