"""Every bundled task passes every gate, with three seeds: what makes a verdict of the suite worth something."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from hemra.datasets.load import BUNDLED_NAME, bundled_names, bundled_root, load_dataset, load_folder
from hemra.datasets.prepare import draw
from hemra.gates.suite import check_folder

#: The suite that this one supersedes: categories with how many tasks each has.
CATEGORIES = {
    "t01_terminal_smoke": 5, "t02_file_read": 6, "t03_patch_edit": 5, "t04_search_grep": 5, "t05_write_new": 5,
    "t06_process_mgmt": 5, "t07_todo_plan": 3, "t08_execute_code": 5, "t09_web_lookup": 3, "t10_memory_facts": 3,
    "t11_error_recovery": 3, "t12_real_world": 3, "t13_humaneval_micro": 10,
}  # fmt: skip


@pytest.mark.parametrize("category", [*CATEGORIES, "_template"])
def test_every_gate_is_passed(category: str) -> None:
    """A task of the category would pass for what was not done, or fail for what was."""
    results = check_folder(bundled_root() / category, jobs=2)
    wrong = {
        result.task: [*(finding.text for finding in result.findings), *result.failures()]
        for result in results
        if not result.ok
    }
    assert wrong == {}, json.dumps(wrong, indent=2)


def test_the_suite_has_all_tasks_of_the_one_that_it_supersedes() -> None:
    """Results could not be compared with those of that suite."""
    counts: dict[str, int] = {}
    for task in load_dataset(BUNDLED_NAME).tasks:
        counts[task.category] = counts.get(task.category, 0) + 1
    assert counts == CATEGORIES


def test_suites_have_what_they_promise() -> None:
    """`--dataset hermes-core` or `smoke` would run something else."""
    assert bundled_names() == ["hermes", "hermes-core", "smoke"]
    core, smoke = load_dataset("hermes-core"), load_dataset("smoke")
    assert len(core.tasks) == 51
    assert {task.category for task in core.tasks} == set(CATEGORIES) - {"t13_humaneval_micro"}
    assert len(smoke.tasks) == 8
    assert len({task.category for task in smoke.tasks}) == 8
    assert core.source == smoke.source == "bundled"
    assert len({core.digest, smoke.digest, load_dataset(BUNDLED_NAME).digest}) == 3


@pytest.mark.parametrize("category", [*CATEGORIES, "_template"])
def test_the_same_seed_gives_the_same_bytes_and_another_another(category: str, tmp_path: Path) -> None:
    """A trial could not be prepared again, or its answer be learnt by heart."""
    for number, task in enumerate(load_folder(bundled_root() / category).tasks):
        places = [tmp_path / f"{number}-{name}" for name in ("first", "again", "other")]
        for place in places:
            place.mkdir()
        first, again, other = (
            asyncio.run(draw(task, place, seed)) for place, seed in zip(places, (11, 11, 12), strict=True)
        )
        assert first == again, task.id
        assert contents(places[0]) == contents(places[1]), task.id
        assert (first, contents(places[0])) != (other, contents(places[2])), f"{task.id}: nothing is drawn"


def contents(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Mode and content of everything below a folder, by path."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = (
            str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        )
        found[path.relative_to(folder).as_posix()] = (mode, content)
    return found
