"""All gates of one task.

Per seed the solution, every `checks/right_*` and every `checks/wrong_*` play on a stage of their own. All that is
to be scored is then asked of the verifier in one process (a process for each would take most of the time), the
solution once more in the way in which a run does it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hemra.datasets.beside import beside
from hemra.datasets.lints import SOLUTION
from hemra.datasets.model import Task
from hemra.datasets.prepare import pinned_bytes
from hemra.datasets.taskcode import Ran, run_task_code_often
from hemra.errors import HemraError
from hemra.gates import impostors, oddities
from hemra.gates.stage import Copies, Played, Stage, need
from hemra.sandboxes.scratch import private_folder
from hemra.scoring.contract import FAIL, PASS, SKIPPED, VERIFIER_ERROR, ContractError
from hemra.scoring.contract import check as checked
from hemra.scoring.verifier import score

GATES = ("oracle", "right", "wrong", "nop", "saboteur", "parrot", "odd")
DEFAULT_SEEDS = (1, 2, 3)
#: So long may all answers of one process take, over the task's own limit for one; seconds.
_EACH_S = 0.5
#: What `hemra_verifier.run` lets a program have.
LIMITED_MEMORY = 512 << 20


@dataclass(frozen=True)
class Row:
    """One thing that was tried: the gate, the seed, what was tried, whether it went as it must, what was said."""

    gate: str
    seed: int
    name: str
    ok: bool
    said: str


@dataclass
class _Question:
    """Something to be asked of the verifier: where, what it is told, and which words are the right ones."""

    row: Callable[[bool, str], Row]
    right: tuple[str, ...]
    workspace: Path
    trace: dict[str, Any]


@dataclass
class _Seed:
    """What the programs of one seed left: stages stay until everything was asked."""

    seed: int
    stages: list[Stage] = field(default_factory=list)
    questions: list[_Question] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    blank: Stage | None = None
    solved: Stage | None = None
    solution: Played | None = None


async def check_task(task: Task, seeds: Sequence[int] = DEFAULT_SEEDS, *, odd: bool = True) -> list[Row]:
    """Every row of every gate. Nothing of the task is left running or on disk."""
    tried = [_Seed(seed) for seed in seeds]
    async with contextlib.AsyncExitStack() as stack:
        copies = Copies(stack.enter_context(private_folder("copies")))
        for each in tried:
            await _play_all(task, each, copies, stack)
        finals = {each.seed: _final(each) for each in tried}
        for each in tried:
            others = [final for seed, final in finals.items() if seed != each.seed and final is not None]
            _add_impostors(task, each, others)
        questions = [question for each in tried for question in each.questions]
        rows = [row for each in tried for row in each.rows]
        rows += await _ask(task, questions)
        if tried and tried[0].solved is not None and tried[0].solution is not None:
            rows.append(await _as_in_a_run(task, tried[0]))
            if odd:
                rows += await _odd(task, tried[0])
    order = {gate: number for number, gate in enumerate(GATES)}
    return sorted(rows, key=lambda row: (order[row.gate], row.seed))


def programs(task: Task, kind: str) -> list[Path]:
    """`checks/<kind>_*.py` of the task, by name."""
    return sorted((task.path / "checks").glob(f"{kind}_*.py"))


async def _play_all(task: Task, tried: _Seed, copies: Copies, stack: contextlib.AsyncExitStack) -> None:
    wanted = [("oracle", task.path / SOLUTION), *(("right", path) for path in programs(task, "right")),
              *(("wrong", path) for path in programs(task, "wrong"))]  # fmt: skip
    for gate, path in wanted:
        try:
            stage = await stack.enter_async_context(Stage(task, tried.seed, copies))
            played = await stage.play(need(path))
            await stage.stop()
        except (HemraError, OSError) as error:
            tried.rows.append(Row(gate, tried.seed, path.name, False, str(error)))
            continue
        if played.problem:
            last = played.printed.rpartition("\n")[2]
            said = f"the program did not end well: {played.problem}" + (f" ({last})" if last else "")
            tried.rows.append(Row(gate, tried.seed, path.name, False, said))
            continue
        if gate == "oracle":
            tried.solved, tried.solution = stage, played
        right = (FAIL,) if gate == "wrong" else (PASS,)
        tried.questions.append(
            _Question(_row(gate, tried.seed, path.name), right, stage.workspace, played.trace)
        )
    try:
        tried.blank = await stack.enter_async_context(Stage(task, tried.seed, copies))
        await tried.blank.stop()
    except (HemraError, OSError) as error:
        tried.rows.append(Row("nop", tried.seed, "nothing done", False, str(error)))
    for kind, least in (("right", 0), ("wrong", 1)):
        if len(programs(task, kind)) < least:
            tried.rows.append(Row(kind, tried.seed, "checks/", False, f"there is no checks/{kind}_*.py"))


def _row(gate: str, seed: int, name: str) -> Callable[[bool, str], Row]:
    return lambda ok, said: Row(gate, seed, name, ok, said)


def _final(tried: _Seed) -> str | None:
    return tried.solution.trace["final"] if tried.solution else None


def _add_impostors(task: Task, tried: _Seed, others: Sequence[str]) -> None:
    """What did not do the work is asked about in a workspace in which nothing was done."""
    if tried.blank is None:
        return
    blank = tried.blank.blank_trace()
    for gate, traces in (
        ("nop", impostors.nop(blank)),
        ("saboteur", impostors.saboteur(task, blank)),
        ("parrot", impostors.parrot(blank, others)),
    ):
        for name, trace in traces:
            right = (FAIL,) if trace["tools_recorded"] else (FAIL, SKIPPED)
            row = _row(gate, tried.seed, name)
            tried.questions.append(_Question(row, right, tried.blank.workspace, trace))


async def _ask(task: Task, questions: Sequence[_Question]) -> list[Row]:
    answers = await _answers(task, [(q.workspace, q.trace) for q in questions])
    rows = []
    for question, (status, said) in zip(questions, answers, strict=True):
        rows.append(question.row(status in question.right, f"{status}: {said}"))
    return rows


async def _answers(
    task: Task, calls: Sequence[tuple[Path, dict[str, Any]]], also: Sequence[Path] = ()
) -> list[tuple[str, str]]:
    """Status and reason for each; VERIFIER_ERROR for what is against the contract."""
    if not calls:
        return []
    verifier = task.spec.verifier
    source = pinned_bytes(task, verifier.file)
    seconds = verifier.timeout_seconds + _EACH_S * len(calls)
    ran = await run_task_code_often(
        source, verifier.entry, calls, timeout_s=seconds, beside=beside(source), also=also
    )
    return [_answer(each) for each in ran]


def _answer(ran: Ran) -> tuple[str, str]:
    if ran.error:
        return VERIFIER_ERROR, ran.error + (f" ({ran.printed[-200:]})" if ran.printed else "")
    try:
        status, value, reason, _ = checked(ran.value)
    except ContractError as error:
        return VERIFIER_ERROR, str(error)
    return status, reason + (f" (score {value:g})" if status == PASS and value != 1 else "")


async def _as_in_a_run(task: Task, tried: _Seed) -> Row:
    """The solution is asked about once more by the function that a run uses, and must score 1."""
    assert tried.solved is not None
    assert tried.solution is not None
    said = await score(task, tried.solved.workspace, tried.solution.trace)
    ok = said.status == PASS and said.score == 1.0
    scored = "" if said.score is None else f" {said.score}"
    return Row("oracle", tried.seed, "scored as in a run", ok, f"{said.status}{scored}: {said.reason}")


async def _odd(task: Task, tried: _Seed) -> list[Row]:
    """Each odd workspace, with the solution's words and without any; each in a process of its own if one hangs."""
    assert tried.solved is not None
    assert tried.solution is not None
    assert tried.blank is not None
    told, silent = tried.solution.trace, tried.blank.blank_trace()
    [(untouched, _)] = await _answers(task, [(tried.blank.workspace, told)])
    with private_folder("odd") as folder:
        cases: list[tuple[str, Path, dict[str, Any]]] = []
        for number, (name, make) in enumerate(oddities.ODD.items()):
            workspace, outside = folder / f"{number}", folder / f"{number}-outside"
            await asyncio.to_thread(oddities.copy_of, tried.solved.workspace, workspace)
            await asyncio.to_thread(make, workspace, outside)
            cases += [(name, workspace, told), (f"{name}, nothing said", workspace, silent)]
        answers = await _answers(task, [(workspace, trace) for _, workspace, trace in cases], [folder])
        if any(said.startswith("did not finish") for _, said in answers):
            apart = [_answers(task, [(workspace, trace)], [folder]) for _, workspace, trace in cases]
            answers = [answer for [answer] in await asyncio.gather(*apart)]
        rows = []
        for (name, workspace, trace), (status, said) in zip(cases, answers, strict=True):
            ok = _is_sound(status, said, trace is silent, name in oddities.OUTSIDE and untouched != PASS)
            loose = oddities.escaped(workspace.with_name(f"{workspace.name}-outside"), LIMITED_MEMORY)
            told_of = (
                "code of the workspace was run outside a limited process" if loose else f"{status}: {said}"
            )
            rows.append(Row("odd", tried.seed, name, ok and not loose, told_of))
        await asyncio.to_thread(_openable, folder)
    return rows


def _is_sound(status: str, said: str, silent: bool, outside: bool) -> bool:
    if said.startswith(("did not finish", "was killed", "exited")):
        return False
    return status != PASS or not (silent or outside)


def _openable(folder: Path) -> None:
    """Give back the right to remove what was made unreadable."""
    for path in folder.glob(f"*/{oddities.CLOSED}"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
