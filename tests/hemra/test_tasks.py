"""The bundled tasks: right work passes, and nothing else does."""

from __future__ import annotations

import ast
import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hemra.datasets.load import bundled_root
from hemra.scoring.verifier import score
from tests.hemra.solved_trials import DATASET, SEEDS, TASKS, TEMPLATE, Solved, SolvedTrials, verifier_of
from tests.hemra.task_folders import blank_trace

MANY_SEEDS = range(50)


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> SolvedTrials:
    """Solve a task with a seed, once for all tests here."""
    return SolvedTrials(tmp_path_factory.mktemp)


every_task = pytest.mark.parametrize("name", list(TASKS))
every_seed = pytest.mark.parametrize("seed", SEEDS)


def test_ids_are_those_of_the_suite() -> None:
    """Results could not be compared with those of the suite that this one supersedes."""
    assert [
        task.id for task in DATASET.tasks if task.category in ("t01_terminal_smoke", "t02_file_read")
    ] == [
        "t01_terminal_smoke/t01_echo",
        "t01_terminal_smoke/t02_ls",
        "t01_terminal_smoke/t03_compile_check",
        "t01_terminal_smoke/t04_pipeline",
        "t01_terminal_smoke/t05_env_check",
        "t02_file_read/t01_read_head",
        "t02_file_read/t02_read_tail",
        "t02_file_read/t03_read_paginated",
        "t02_file_read/t04_read_missing",
        "t02_file_read/t05_read_nested",
        "t02_file_read/t06_read_parallel",
    ]
    assert DATASET.name == "hermes"


@every_seed
@every_task
def test_reference_solution_passes_in_full(solved: SolvedTrials, name: str, seed: int) -> None:
    """A task would be impossible, or right work would not score 1."""
    trial = solved(name, seed)
    status, value = trial.verdict()
    assert (status, value) in (("PASS", None), ("PASS", 1.0)), trial.trace["final"]


@pytest.mark.torture
@every_task
def test_reference_solution_passes_with_fifty_seeds(tmp_path: Path, name: str) -> None:
    """A rare draw would make a trial impossible."""
    for seed in MANY_SEEDS:
        trial = Solved(TASKS[name], tmp_path / str(seed), seed)
        got = asyncio.run(score(trial.task, trial.workspace, trial.trace))
        assert (got.status, got.score) == ("PASS", 1.0), (seed, got, trial.trace["final"])


@every_task
def test_real_scoring_agrees(solved: SolvedTrials, name: str) -> None:
    """The verifier would work in the tests and not in the process that decides."""
    trial = solved(name, 1)
    got = asyncio.run(score(trial.task, trial.workspace, trial.trace))
    assert (got.status, got.score) == ("PASS", 1.0)
    nop = blank_trace(trial.prepared, trial.workspace, trial.home)
    got = asyncio.run(score(trial.task, trial.workspace, nop))
    assert (got.status, got.score) == ("FAIL", 0.0)


@every_seed
@every_task
@pytest.mark.parametrize("recorded", [True, False])
def test_doing_nothing_fails(solved: SolvedTrials, name: str, seed: int, recorded: bool) -> None:
    """A harness that never started would pass."""
    trial = solved(name, seed)
    for final in (None, "", "  \n", "Done.", "I could not do this."):
        changes = {"final": final, "tool_calls": [], "tools_recorded": recorded}
        assert trial.verdict(**changes)[0] == "FAIL", final


@every_seed
@every_task
@pytest.mark.parametrize("recorded", [True, False])
def test_saboteur_fails(solved: SolvedTrials, name: str, seed: int, recorded: bool) -> None:
    """Calls that all fail and an answer full of the instruction's own words would pass."""
    trial = solved(name, seed)
    instruction = trial.prepared.instruction
    spans = re.findall(r"`([^`]+)`", instruction)
    calls = [
        {
            "call": f"s{number}-{tool}",
            "name": tool,
            "arguments": {"command": span, "path": span},
            "ok": False,
            "result": f"error: {span}: failed",
            "turn": 1,
        }
        for tool in trial.task.spec.allowed_tools
        for number, span in enumerate(spans)
    ]
    answers = [
        f"Done. {instruction}",
        f"All done: {', '.join(spans)}. All compile cleanly, 42 lines, a file does not exist, line 12.",
        "The marker, the token, the code and the checkpoint were found; HOME is /root; 50, 50, 37, 137.",
        "\n".join(str(number) for number in range(400)),
    ]
    for answer in answers:
        changes = {"final": answer, "tool_calls": calls, "tools_recorded": recorded}
        assert trial.verdict(**changes)[0] == "FAIL", answer
        changes["tool_calls"] = [{**call, "ok": True} for call in calls]
        assert trial.verdict(**changes)[0] == "FAIL", answer


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
def test_answer_of_another_trial_fails(solved: SolvedTrials, name: str) -> None:
    """An answer learnt by heart would pass."""
    first, second = solved(name, 1), solved(name, 2)
    assert not first.passes(second.trace["final"])
    assert first.verdict(final=second.trace["final"], tool_calls=[], tools_recorded=False)[0] == "FAIL"


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


def test_copied_functions_are_equal_everywhere() -> None:
    """Verifiers stand alone, so they repeat a few functions; a fix would reach only some of them."""
    shared = {"plain", "states", "states_number", "as_text", "worked", "result"}
    seen: dict[str, tuple[str, Path]] = {}
    paths = list(bundled_root().glob("*/*/verifier.py"))
    assert len(paths) == len(DATASET.tasks)
    for path in paths:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name in shared:
                text, first = seen.setdefault(node.name, (ast.unparse(node), path))
                assert ast.unparse(node) == text, f"{node.name} differs: {first} and {path}"
    assert seen.keys() == shared
