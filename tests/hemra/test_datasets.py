"""Loading datasets: what is read, what is refused, what a digest covers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hemra.datasets.digest import counts
from hemra.datasets.load import load_dataset, load_folder, select
from hemra.datasets.model import Dataset
from hemra.errors import NotFound, UsageError
from tests.hemra.task_folders import TASK_YAML, make_task


def digest_after(root: Path, path: str, text: str) -> str:
    """The dataset's digest after writing a file."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")
    return load_folder(root).digest


def test_tree_of_tasks_is_found_at_any_depth(tmp_path: Path) -> None:
    """Tasks in nested, oddly named folders would be missing from a run."""
    make_task(tmp_path, "a/b/deep")
    make_task(tmp_path, "Überschrift mit Leerzeichen/äöü ☃")
    make_task(tmp_path, "flat")
    make_task(tmp_path / "_drafts", "hidden")
    dataset = load_folder(tmp_path)
    assert [task.id for task in dataset.tasks] == ["a/b/deep", "flat", "Überschrift mit Leerzeichen/äöü ☃"]
    assert dataset.name == tmp_path.name
    assert dataset.tasks[0].category == "a/b"


def test_one_task_folder_is_a_dataset(tmp_path: Path) -> None:
    """`--dataset path/to/task` would not run that task under its own id."""
    folder = make_task(tmp_path, "demo/one")
    assert [task.id for task in load_folder(folder).tasks] == ["demo/one"]
    assert [task.id for task in load_folder(folder.parent).tasks] == ["demo/one"]


def test_suite_file_names_the_dataset(tmp_path: Path) -> None:
    """The dataset would go by the name of a folder that moves."""
    make_task(tmp_path)
    (tmp_path / "suite.yaml").write_text("name: mine\n")
    assert load_folder(tmp_path).name == "mine"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("id: demo/one\nversion: 1\ntitle: T\n", "missing required field difficulty"),
        ("id: demo/one\nversion: 1\ntitle: T\ndifficulty: 4\n", "difficulty:"),
        (TASK_YAML.format(id="demo/one") + "limits: {turns: many}\n", "limits.turns: Expected int"),
        (TASK_YAML.format(id="demo/one") + "limits: {turns: 0}\n", "limits.turns:"),
        (TASK_YAML.format(id="demo/one") + "limit: {}\n", "unknown field limit"),
        (TASK_YAML.format(id="demo/one") + "tags: [no]\n", "tags[0]: Expected str, got bool (YAML reads"),
        (TASK_YAML.format(id="demo/one") + "tags: [1.5]\n", "put it in quotes"),
        (TASK_YAML.format(id="demo/one") + "title: again\n", "line 5: the key 'title' is given twice"),
        (TASK_YAML.format(id="demo/one") + "tags: [&a x, *a]\n", "alias"),
        (
            TASK_YAML.format(id="demo/one") + "tags: !!python/name:os.system\n",
            "could not determine a constructor",
        ),
        ("- a list\n", "mapping"),
        ("", "not empty"),
        ("id: [", "line "),
    ],
)
def test_bad_task_file_is_named_with_its_field(tmp_path: Path, content: str, told: str) -> None:
    """A typo in task.yaml would be ignored, or reported without saying where."""
    make_task(tmp_path, yaml=content)
    with pytest.raises(UsageError) as caught:
        load_folder(tmp_path)
    assert str(tmp_path / "demo/one/task.yaml") in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "bad", ["demo/", "/demo", "demo//one", "demo/../one", "de*mo/one", "_x/one", " demo/one"]
)
def test_malformed_id_is_refused(tmp_path: Path, bad: str) -> None:
    """An id that a path, a glob or a report cannot hold would break later, far from its cause."""
    make_task(tmp_path, yaml=TASK_YAML.format(id=f"'{bad}'"))
    with pytest.raises(UsageError, match="id:"):
        load_folder(tmp_path / "demo/one")


def test_id_must_end_in_the_path(tmp_path: Path) -> None:
    """Two folders could claim the same task."""
    make_task(tmp_path, yaml=TASK_YAML.format(id="demo/two"))
    with pytest.raises(UsageError, match="does not end in the task's path"):
        load_folder(tmp_path)


def test_every_problem_is_listed_at_once(tmp_path: Path) -> None:
    """An author would have to run once for every mistake."""
    make_task(tmp_path, "a/one", yaml="id: a/one\n")
    make_task(tmp_path, "a/two", yaml="nope\n")
    (tmp_path / "a/three").mkdir()
    (tmp_path / "a/three/task.yaml").write_text(TASK_YAML.format(id="a/three"))
    with pytest.raises(UsageError) as caught:
        load_folder(tmp_path)
    assert len(str(caught.value).splitlines()) == 3
    assert "lacks instruction.md, verifier.py" in str(caught.value)


def test_duplicate_ids_are_refused(tmp_path: Path) -> None:
    """Ids that differ in case only would be one folder on another machine."""
    make_task(tmp_path, "demo/one")
    make_task(tmp_path, "Demo/One")
    with pytest.raises(UsageError, match="is also the id of"):
        load_folder(tmp_path)


@pytest.mark.parametrize(
    ("path", "matters"),
    [
        ("verifier.py", True),
        ("instruction.md", True),
        ("solution/solve.py", True),
        ("fixture/README.md", True),
        ("fixture/.hidden", True),
        ("notes/README.md", True),
        ("README.md", False),
        (".env", False),
        ("solution/__pycache__/solve.cpython-311.pyc", False),
        ("fixture/__pycache__/x.py", False),
        ("fixture/a.txt~", False),
        ("fixture/.a.txt.swp", False),
        ("fixture/.DS_Store", False),
    ],
)
def test_digest_covers_what_counts_and_nothing_else(tmp_path: Path, path: str, matters: bool) -> None:
    """A change that alters a trial would go unnoticed, or a backup file would unpin a dataset."""
    folder = make_task(tmp_path)
    before = load_folder(tmp_path).digest
    assert (digest_after(tmp_path, f"demo/one/{path}", "other\n") != before) is matters
    assert counts(path) is matters
    assert (path in load_folder(tmp_path).tasks[0].files) is matters
    assert folder.is_dir()


def test_executable_bit_counts_and_other_modes_do_not(tmp_path: Path) -> None:
    """A script that can no longer be run is another task; a umask is not."""
    folder = make_task(tmp_path, **{"fixture/run.sh": "true\n"})
    script = folder / "fixture/run.sh"
    script.chmod(0o644)
    plain = load_folder(tmp_path).digest
    script.chmod(0o600)
    assert load_folder(tmp_path).digest == plain
    script.chmod(0o755)
    changed = load_folder(tmp_path)
    assert changed.digest != plain
    assert changed.tasks[0].files["fixture/run.sh"].endswith("+x")


def test_digest_does_not_depend_on_place_or_order(tmp_path: Path) -> None:
    """The same suite in a wheel and in a checkout would be two datasets."""
    make_task(tmp_path / "x", "b/one")
    make_task(tmp_path / "x", "a/one")
    shutil.copytree(tmp_path / "x", tmp_path / "y")
    assert load_folder(tmp_path / "x").digest == load_folder(tmp_path / "y").digest


def test_file_digests_are_plain_sha256(tmp_path: Path) -> None:
    """A person could not check a pin with sha256sum."""
    folder = make_task(tmp_path)
    done = subprocess.run(["sha256sum", folder / "verifier.py"], capture_output=True, text=True, check=True)
    assert load_folder(tmp_path).tasks[0].files["verifier.py"] == done.stdout.split()[0]


@pytest.mark.parametrize("where", ["fixture/link", "link.py"])
def test_links_are_refused(tmp_path: Path, where: str) -> None:
    """What a link points to is outside the digest."""
    folder = make_task(tmp_path, **{"fixture/a": "a"})
    (folder / where).symlink_to("/etc/hostname")
    with pytest.raises(UsageError, match="is a link"):
        load_folder(tmp_path)


def test_special_files_are_refused_without_opening_them(tmp_path: Path) -> None:
    """Loading would hang on a fifo."""
    folder = make_task(tmp_path, **{"fixture/a": "a"})
    os.mkfifo(folder / "fixture/pipe")
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        load_folder(tmp_path)


@pytest.mark.parametrize("name", ["A", "e\u0301", "a\nb", "\udcff"])
def test_names_that_do_not_travel_are_refused(tmp_path: Path, name: str) -> None:
    """A fixture would look different on a machine with another file system."""
    folder = make_task(tmp_path, **{"fixture/a": "a"})
    (folder / "fixture" / name).write_text("x")
    with pytest.raises(UsageError, match=r"case only|NFC|control character"):
        load_folder(tmp_path)


@pytest.fixture
def suite(tmp_path: Path) -> Dataset:
    """Five tasks in two categories."""
    for name in (
        "t01_sh/t01_echo",
        "t01_sh/t02_list",
        "t02_read/t01_head",
        "t02_read/t02_tail",
        "x y/ä",
    ):
        make_task(tmp_path, name)
    return load_folder(tmp_path)


@pytest.mark.parametrize(
    ("globs", "count"),
    [
        ([], 5),
        (["t01*"], 2),
        (["t01_sh"], 2),
        (["t01_echo"], 1),
        (["*/t01_*"], 2),
        (["t0[12]_*/t02*"], 2),
        (["t01_echo", "t01*"], 2),
        (["x y/*"], 1),
        (["a\u0308"], 1),
    ],
)
def test_selection(suite: Dataset, globs: list[str], count: int) -> None:
    """`--task` would select other tasks than it says."""
    chosen = select(suite, globs)
    assert len(chosen) == count
    assert chosen == [task for task in suite.tasks if task in chosen]


def test_glob_that_matches_nothing_is_an_error(suite: Dataset) -> None:
    """An empty selection would be a green run."""
    with pytest.raises(UsageError, match=r"'t09\*'"):
        select(suite, ["t01*", "t09*"])


def test_unknown_and_empty_datasets(tmp_path: Path) -> None:
    """A mistyped name would not say what names there are."""
    with pytest.raises(NotFound, match="hermes"):
        load_dataset("nope")
    with pytest.raises(NotFound, match="no folder"):
        load_dataset(f"{tmp_path}/nope")
    with pytest.raises(UsageError, match="no task in it"):
        load_dataset(str(tmp_path))


def test_bundled_suite_loads_from_a_wheel_layout(tmp_path: Path) -> None:
    """An installed hemra would find no tasks outside the checkout, or others than the checkout's."""
    here = load_dataset("hermes")
    root = Path(__file__).resolve().parents[2]
    ignore = shutil.ignore_patterns("__pycache__")
    for package in ("hemra", "eventlog"):
        shutil.copytree(root / package, tmp_path / package, ignore=ignore)
    shutil.copytree(root / "tasks", tmp_path / "hemra/bundled/tasks", ignore=ignore)
    code = (
        "from hemra.datasets import load; d = load.load_dataset('hermes'); print(d.digest, d.source, d.root)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [here.digest, "bundled", str(tmp_path / "hemra/bundled/tasks")]
