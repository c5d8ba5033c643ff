"""Trials of the bundled tasks, solved by their reference solutions: what the tests of the tasks work on."""

from __future__ import annotations

import copy
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hemra.datasets.beside import FOLDER
from hemra.datasets.load import bundled_root, load_dataset, load_folder
from hemra.datasets.model import Task
from hemra.datasets.prepare import Prepared, prepare
from tests.hemra.task_folders import solve

DATASET = load_dataset("hermes")
TEMPLATE = load_folder(bundled_root() / "_template").tasks[0]
#: The tasks whose verifiers are tried here in more ways than the gates do.
CATEGORIES = ("t01_terminal_smoke", "t02_file_read")
TASKS = {
    task.id.rpartition("/")[2]: task
    for task in (*DATASET.tasks, TEMPLATE)
    if task.category in CATEGORIES or task is TEMPLATE
}
SEEDS = (1, 2, 3)

Verify = Callable[[Path, dict[str, Any]], dict[str, Any]]


class Solved:
    """One prepared trial of a task, with the trace of its reference solution and the task's verify()."""

    def __init__(self, task: Task, folder: Path, seed: int) -> None:
        self.task = task
        self.workspace, self.home = folder / "workspace", folder / "home"
        self.home.mkdir(parents=True)
        self.prepared: Prepared = prepare(task, self.workspace, seed)
        self.values = self.prepared.values
        self.trace = solve(task, self.prepared, self.workspace, self.home)
        self._verify = verifier_of(task)

    def verdict(self, **changes: Any) -> tuple[str, float | None]:
        """(status, score) for the solution's trace with these fields replaced."""
        got = self._verify(self.workspace, copy.deepcopy({**self.trace, **changes}))
        assert got["reason"]
        return got["status"], got.get("score")

    def passes(self, answer: str) -> bool:
        """Whether the solution's work with another final answer passes."""
        return self.verdict(final=answer)[0] == "PASS"

    def calls(self, **changes: Any) -> list[dict[str, Any]]:
        """The solution's tool calls with these fields replaced in each."""
        return [{**call, **changes} for call in self.trace["tool_calls"]]


def verifier_of(task: Task) -> Verify:
    """The task's verify(), loaded into this process (that it works alone is tested by scoring)."""
    spec = importlib.util.spec_from_file_location(f"verifier_{task.digest}", task.path / "verifier.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.append(str(FOLDER))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    verify: Verify = module.verify
    return verify


class SolvedTrials:
    """Solves a task with a seed when first asked, and keeps it for the other tests of the module."""

    def __init__(self, new_folder: Callable[[str], Path]) -> None:
        self._new_folder = new_folder
        self._known: dict[tuple[str, int], Solved] = {}

    def __call__(self, name: str, seed: int = 1) -> Solved:
        if (name, seed) not in self._known:
            self._known[name, seed] = Solved(TASKS[name], self._new_folder(name), seed)
        return self._known[name, seed]
