"""Preparing a workspace: equal by seed, nothing shared with the task's folder, everything odd named."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from pathlib import Path

import pytest

from hemra.datasets.load import load_dataset, load_folder
from hemra.datasets.model import Task
from hemra.datasets.prepare import prepare, prepare_async
from hemra.errors import DatasetChanged, HemraError
from tests.hemra.task_folders import make_task

TASKS = load_dataset("hermes").tasks


def one(root: Path, **files: str) -> Task:
    """The task made by make_task."""
    make_task(root / "set", **files)
    return load_folder(root / "set").tasks[0]


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes | None]]:
    """Mode, time and content of everything below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        found[path.relative_to(folder).as_posix()] = (status.st_mode, int(status.st_mtime), content)
    return found


#: A web or a world needs a trial around it; test_tasks_gates.py holds the same of what those tasks draw.
ALONE = [task for task in TASKS if task.spec.services.web is None and task.spec.world is None]


@pytest.mark.parametrize("task", ALONE, ids=lambda task: task.id)
def test_bundled_tasks_are_prepared_equal_by_seed(task: Task, tmp_path: Path) -> None:
    """A trial could not be prepared again byte for byte, or every trial would ask the same."""
    first = prepare(task, tmp_path / "a", 7)
    umask = os.umask(0o077)
    try:
        second = prepare(task, tmp_path / "b", 7)
    finally:
        os.umask(umask)
    other = prepare(task, tmp_path / "c", 8)
    assert first == second
    assert snapshot(tmp_path / "a") == snapshot(tmp_path / "b")
    assert other.values != first.values
    assert "{{" not in first.instruction


def test_fixture_is_copied_with_modes_and_never_linked(tmp_path: Path) -> None:
    """A harness could change the task itself, or a script would not be executable."""
    files = {"fixture/bin/run.sh": "true\n", "fixture/.hidden": "h", "fixture/x~": "b"}
    folder = make_task(tmp_path / "set", **files)
    (folder / "fixture/bin/run.sh").chmod(0o700)
    task = load_folder(tmp_path / "set").tasks[0]
    workspace = tmp_path / "w"
    prepare(task, workspace, 1)
    assert sorted(snapshot(workspace)) == [".hidden", "bin", "bin/run.sh"]
    script = workspace / "bin/run.sh"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert stat.S_IMODE((workspace / ".hidden").stat().st_mode) == 0o644
    assert script.stat().st_nlink == 1
    script.write_text("changed")
    assert (folder / "fixture/bin/run.sh").read_text() == "true\n"


@pytest.mark.parametrize("path", ["fixture/data.txt", "instruction.md", "prepare.py"])
def test_file_changed_after_loading_is_refused(tmp_path: Path, path: str) -> None:
    """A trial would run with content that nobody pinned."""
    task = one(
        tmp_path, prepare="def prepare(workspace, seed):\n    return {}\n", **{"fixture/data.txt": "one"}
    )
    (task.path / path).write_text("two")
    with pytest.raises(DatasetChanged, match=path):
        prepare(task, tmp_path / "w", 1)
    (task.path / path).unlink()
    with pytest.raises(DatasetChanged, match="No such file"):
        prepare(task, tmp_path / "v", 1)


def test_placeholders_are_filled_from_the_values(tmp_path: Path) -> None:
    """The harness would read {{name}}."""
    task = one(
        tmp_path,
        instruction="Read {{name}} {{ count }} times, {not} {{{}}}.\n\n",
        prepare="""
        def prepare(workspace, seed):
            return {'name': 'a {{count}}', 'count': seed + 1, 'rest': [1]}
        """,
    )
    prepared = prepare(task, tmp_path / "w", 41)
    assert prepared.instruction == "Read a {{count}} 42 times, {not} {{{}}}."
    assert prepared.values == {"name": "a {{count}}", "count": 42, "rest": [1]}


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("{}", r"instruction.md: placeholder \{\{name\}\} has no value"),
        ("{'name': [1]}", "neither a text nor a whole number"),
        ("{'name': True}", "neither a text nor a whole number"),
        ("[1]", "must return a dict, not"),
        ("{'name': {1}}", "not JSON"),
        ("1 / 0", r"ZeroDivisionError: division by zero \(prepare.py, line 2\)"),
        ("__import__('sys').exit(3)", "SystemExit: 3"),
        ("__import__('os')._exit(0)", "exited with code 0 without a result"),
        ("__import__('yaml')", "ModuleNotFoundError"),
        ("None", "must return a dict"),
    ],
)
def test_bad_prepare_is_named(tmp_path: Path, returned: str, told: str) -> None:
    """A broken prepare.py would look like a failure of the harness."""
    task = one(
        tmp_path,
        instruction="Read {{name}}.",
        prepare=f"def prepare(workspace, seed):\n    return {returned}\n",
    )
    with pytest.raises(HemraError, match=told) as caught:
        prepare(task, tmp_path / "w", 1)
    assert "demo/one" in str(caught.value)


def test_prepare_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run would stand still before its first trial."""
    monkeypatch.setattr("hemra.datasets.prepare.TIMEOUT_SECONDS", 0.3)
    task = one(tmp_path, prepare="def prepare(workspace, seed):\n    __import__('time').sleep(60)\n")
    started = time.monotonic()
    with pytest.raises(HemraError, match=r"did not finish within 0.3 s \(seed 5\)"):
        prepare(task, tmp_path / "w", 5)
    assert time.monotonic() - started < 10


def test_prepare_sees_nothing_of_the_product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it draws would depend on the machine: installed packages, environment, current folder."""
    monkeypatch.setenv("SECRET_KEY", "x")
    code = """
    import os, sys, pathlib
    def prepare(workspace, seed):
        found = [name for name in os.environ if name in ("SECRET_KEY", "PYTHONPATH", "USER")]
        sites = [path for path in sys.path if "site-packages" in path or path == ""]
        beside = [p.name for p in workspace.iterdir()]
        return {"env": found, "sites": sites, "beside": beside, "cwd": os.getcwd() == os.environ["HOME"]}
    """
    prepared = prepare(one(tmp_path, prepare=code, **{"fixture/a": "a"}), tmp_path / "w", 1)
    assert prepared.values == {"env": [], "sites": [], "beside": ["a"], "cwd": True}


def test_workspace_must_be_empty(tmp_path: Path) -> None:
    """What another trial left would become part of this one."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w/left").write_text("x")
    with pytest.raises(HemraError, match="is not empty"):
        prepare(one(tmp_path), tmp_path / "w", 1)


def test_absent_files_are_checked(tmp_path: Path) -> None:
    """A task about a missing file would become another task when the file appears."""
    yaml = "id: demo/one\nversion: 1\ntitle: T\ndifficulty: 1\nabsent_files: ['{{name}}']\n"
    code = "def prepare(workspace, seed):\n    return {'name': 'gone.txt' if seed else 'here.txt'}\n"
    task = one(tmp_path, yaml=yaml, prepare=code, **{"fixture/here.txt": "x"})
    prepare(task, tmp_path / "w", 1)
    with pytest.raises(HemraError, match=r"here.txt is in the workspace despite absent_files"):
        prepare(task, tmp_path / "v", 0)


def test_both_forms_work_inside_an_event_loop(tmp_path: Path) -> None:
    """The engine, which has a loop, could not prepare anything."""
    task = one(tmp_path, prepare="def prepare(workspace, seed):\n    return {'seed': seed}\n")

    async def both() -> list[int]:
        return [
            (await prepare_async(task, tmp_path / "a", 2**63)).values["seed"],
            prepare(task, tmp_path / "b", -1).values["seed"],
        ]

    assert asyncio.run(both()) == [2**63, -1]
