"""Verifiers of the bundled tasks, tried in more ways than the gates do."""

from __future__ import annotations

import ast
import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hemra.datasets.load import bundled_root
from hemra.scoring.verifier import score
from tests.hemra.solved_trials import SEEDS, TASKS, TEMPLATE, Solved, SolvedTrials, verifier_of

MANY_SEEDS = range(50)


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> SolvedTrials:
    """Solve a task with a seed, once for all tests here."""
    return SolvedTrials(tmp_path_factory.mktemp)


every_task = pytest.mark.parametrize("name", list(TASKS))
every_seed = pytest.mark.parametrize("seed", SEEDS)


@pytest.mark.torture
@every_task
def test_reference_solution_passes_with_fifty_seeds(tmp_path: Path, name: str) -> None:
    """A rare draw would make a trial impossible."""
    for seed in MANY_SEEDS:
        trial = Solved(TASKS[name], tmp_path / str(seed), seed)
        got = asyncio.run(score(trial.task, trial.workspace, trial.trace))
        assert (got.status, got.score) == ("PASS", 1.0), (seed, got, trial.trace["final"])


@every_seed
@every_task
def test_right_answer_without_work_that_worked_fails(solved: SolvedTrials, name: str, seed: int) -> None:
    """Where calls are recorded, calls that failed or were never answered would count as evidence."""
    trial = solved(name, seed)
    assert trial.verdict(tool_calls=[])[0] == "FAIL"
    assert trial.verdict(tool_calls=trial.calls(ok=False))[0] == "FAIL"
    assert trial.verdict(tool_calls=trial.calls(ok=None, result=None))[0] == "FAIL"
    assert trial.verdict(tool_calls=trial.calls(result="ok"))[0] == "FAIL"
    assert trial.verdict(tool_calls=trial.calls(name="web_search"))[0] in (
        ("FAIL",) if trial.task is not TEMPLATE else ("PASS",)
    )


@every_seed
@every_task
def test_outcome_alone_decides_where_no_tools_are_recorded(
    solved: SolvedTrials, name: str, seed: int
) -> None:
    """No harness that keeps its calls to itself could ever pass."""
    trial = solved(name, seed)
    got = verifier_of(trial.task)(trial.workspace, {**trial.trace, "tool_calls": [], "tools_recorded": False})
    assert got["status"] == "PASS"
    assert "records no tools" in got["reason"]


@every_task
def test_results_in_other_shapes_are_evidence_too(solved: SolvedTrials, name: str) -> None:
    """Only one harness's way of writing down a result would be understood."""
    trial = solved(name, 1)
    shapes: list[Callable[[Any], Any]] = [
        lambda result: json.dumps({"success": True, "output": result}),
        lambda result: [{"type": "text", "text": result}],
        lambda result: {"stdout": result, "stderr": "", "code": 0},
        lambda result: json.dumps([{"content": json.dumps({"text": result})}]),
        lambda result: "\x1b[01;32m" + str(result).replace("\n", "\x1b[0m\n\x1b[1m") + "\x1b[0m",
        lambda result: "".join(f"{n:6}|{line}\n" for n, line in enumerate(str(result).splitlines(), 1)),
    ]
    for shape in shapes:
        calls = [dict(call) for call in trial.trace["tool_calls"]]
        for call in calls:
            call["result"] = shape(next(iter(call["result"].values())))  # the text that was printed or read
            call["ok"] = None if call["ok"] else call["ok"]
        assert trial.verdict(tool_calls=calls)[0] == "PASS", calls


@every_task
def test_odd_traces_never_raise(solved: SolvedTrials, name: str) -> None:
    """A hostile result would turn a FAIL into a VERIFIER_ERROR."""
    trial = solved(name, 1)
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    for odd in (5, True, 1.5, [], {}, deep, "[" * 100_000, '{"a": 1', "\ud800", {"a": None}):
        status, _ = trial.verdict(tool_calls=trial.calls(result=odd, arguments=odd))
        assert status == "FAIL"
    assert trial.verdict(final="\ud800" * 10)[0] == "FAIL"
    assert trial.verdict(final="x " * 200_000)[0] == "FAIL"


def test_values_are_not_in_the_instruction(solved: SolvedTrials) -> None:
    """An answer could be parroted from the prompt."""
    for name, keys in {
        "t01_echo": ["marker"],
        "t02_ls": ["largest", "largest_bytes"],
        "t04_pipeline": ["count"],
        "t01_read_head": ["marker"],
        "t02_read_tail": ["marker", "last"],
        "t04_read_missing": ["token", "moved_to"],
        "t05_read_nested": ["key"],
    }.items():
        trial = solved(name, 1)
        for key in keys:
            assert str(trial.values[key]) not in trial.prepared.instruction


def test_verifiers_share_what_they_have_in_common() -> None:
    """A function that each verifier has of its own is mended in one of them only."""
    shared = {
        "plain",
        "answer",
        "states",
        "numbers",
        "denies",
        "as_text",
        "calls",
        "showed",
        "read",
        "tree",
        "run",
    }
    own = [
        f"{path}: {node.name}"
        for path in bundled_root().glob("*/*/verifier.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name in shared
    ]
    assert own == []
