"""The solver does the bundled tasks with the tools of every harness; the saboteur never passes one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hemra.datasets.load import bundled_root, load_dataset
from hemra.datasets.prepare import prepare
from tests.hemra.solved_trials import verifier_of
from tests.hemra.task_folders import blank_trace
from tests.tools.agents import DIALECT, TOOLS, Agent
from tools.model_server import results, solver
from tools.model_server.dialects import DIALECTS
from tools.model_server.director import Director
from tools.model_server.exchange import Made, Message
from tools.model_server.recipes.book import RECIPES, Book, Template, step, terminal
from tools.model_server.script import Script, load

TASKS = {task.id: task for task in load_dataset("hermes").tasks}
BOOK = Book.load()
SMOKE = yaml.safe_load((bundled_root() / "_suites" / "smoke.yaml").read_text(encoding="utf-8"))["tasks"]
#: A task that asks for one tool cannot be done by a harness that has none of that kind.
NEEDS = {
    "t03_patch_edit/t05_v4a": ("hermes", "codex"),
    "t07_todo_plan/t01_plan": ("hermes", "codex", "claude"),
    "t08_execute_code/t01_math": ("hermes",),
}


def _kinds(number: int, task: str) -> list[str]:
    """Two kinds of agent that are able to do a task, others for the next task."""
    able = NEEDS.get(task, tuple(TOOLS))
    return sorted({able[(2 * number + k) % len(able)] for k in (0, 1)})


NUMBERED = list(enumerate(sorted(RECIPES)))
PAIRS = [(task, kind) for number, task in NUMBERED for kind in _kinds(number, task)]

Trial = Callable[[str, str, str], "tuple[Agent, tuple[str, str]]"]


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    """Runs a task with a kind of agent against a mode of the server, and scores it."""

    def run(name: str, kind: str, mode: str) -> tuple[Agent, tuple[str, str]]:
        task, workspace, home = TASKS[name], tmp_path / "workspace", tmp_path / "home"
        home.mkdir()
        prepared = prepare(task, workspace, seed=7)
        agent = Agent(kind, workspace, home, prepared.instruction)
        converse(agent, Director(Script(mode=mode), BOOK))  # type: ignore[arg-type]
        trace = blank_trace(prepared, workspace, home) | {"tool_calls": agent.calls, "final": agent.final}
        got: dict[str, Any] = verifier_of(task)(workspace, trace)
        return agent, (got["status"], got["reason"])

    return run


def converse(agent: Agent, director: Director, most: int = 12) -> None:
    """Let the agent talk until it has its final answer."""
    dialect = DIALECTS[DIALECT[agent.kind]]
    for _ in range(most):
        asked = dialect.parse(agent.request())
        decision = director.decide(asked, "", None)
        agent.take(dialect.whole(decision.answer, asked))
        if agent.final is not None:
            return
    raise AssertionError(f"no final answer after {most} turns")


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_the_solver_passes(trial: Trial, name: str, kind: str) -> None:
    """A harness that works would fail this task in the end-to-end tests, for a recipe that is wrong."""
    agent, verdict = trial(name, kind, "solver")
    assert verdict[0] == "PASS", (verdict, agent.final, agent.calls)


@pytest.mark.parametrize(("name", "kind"), [(task, _kinds(number, task)[0]) for number, task in NUMBERED])
def test_the_saboteur_does_not_pass(trial: Trial, name: str, kind: str) -> None:
    """A verifier that lets the saboteur pass, or a saboteur that does the work, proves nothing."""
    _, verdict = trial(name, kind, "saboteur")
    assert verdict[0] == "FAIL", verdict


def test_every_task_of_the_smoke_suite_has_a_recipe() -> None:
    """Without one a harness cannot pass smoke, whatever it does."""
    assert set(SMOKE) <= set(RECIPES)
    assert set(RECIPES) <= set(TASKS)
    assert {n for n in TASKS if n.startswith(("t01", "t02", "t03"))} <= set(RECIPES)


def test_a_tool_that_is_missing_is_said_and_ends_the_task(trial: Trial) -> None:
    """A solver that goes round in circles where a harness has no todo list hangs the suite."""
    agent, verdict = trial("t07_todo_plan/t01_plan", "mini", "solver")
    assert verdict[0] != "PASS"
    assert agent.final is not None
    assert "no tool for todo" in agent.final


@pytest.mark.parametrize("kind", sorted(TOOLS))
def test_a_scripted_conversation_ends_in_the_way_of_its_harness(kind: str, tmp_path: Path) -> None:
    """A harness that ends by a command would ask for it until it gives up, and its trial would have no answer."""
    agent = Agent(kind, tmp_path, tmp_path, "Make a file.")
    converse(agent, Director(load("hello")))
    assert (tmp_path / "hello.txt").read_text("utf-8") == "hello\n"
    assert agent.final == "All done: hello.txt written."


def asked_of(kind: str, text: str) -> Any:
    """A first request with this text."""
    agent = Agent(kind, Path(), Path(), text)
    return DIALECTS[DIALECT[kind]].parse(agent.request())


def test_a_task_is_known_by_its_text_in_whatever_stands_around_it() -> None:
    """A harness wraps the instruction, and breaks its lines: the task must be known all the same."""
    book = Book(
        [Template("t01_terminal_smoke/t04_pipeline", "Count the lines of {{name}}\nin {{name}}, please.")]
    )
    found = book.find(asked_of("pi", 'Ctx.\n"Count the  lines of a.py in a.py, please."\nEnd.'))
    assert found is not None
    assert found.values == {"name": "a.py"}
    assert book.find(asked_of("pi", "Count the lines of a.py in b.py, please.")) is None


def test_an_unknown_task_gets_an_answer_that_says_so() -> None:
    """Silence here would look like a model that does not answer."""
    said = solver.Solver(BOOK).turn(asked_of("pi", "Write a poem."))
    assert said.problem == "no recipe for this task"
    assert said.calls == ()


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Book]:
    """Makes a book with one recipe, for the task whose text is `Do it.`."""

    def enter(doing: Callable[[Any], Any]) -> Book:
        monkeypatch.setitem(RECIPES, "x/it", doing)
        return Book([Template("x/it", "Do it.")])

    return enter


def test_a_recipe_that_fails_fails_its_task_only(only: Callable[[Any], Book]) -> None:
    """An exception out of a recipe would be an HTTP 500, which harnesses retry for minutes."""

    def doing(task: Any) -> Any:
        yield step("look", terminal("ls"))
        task.search("what is not there")

    made = Made("1", "bash", "{}", "nothing")
    asked = asked_of("pi", "Do it.")
    asked = dataclasses.replace(asked, messages=(*asked.messages, Message("assistant", calls=(made,))))
    said = solver.Solver(only(doing)).turn(asked)
    assert said.problem is not None
    assert said.problem.startswith("the recipe failed: RecipeFailed")
    assert said.turn.text.startswith("I could not do it")


def test_a_recipe_is_fed_results_in_the_order_of_its_calls(only: Callable[[Any], Book]) -> None:
    """A recipe that takes a result for another, or begins again, never ends."""

    def doing(task: Any) -> Any:
        first, second = yield step("two at once", terminal("one"), terminal("two"))
        (third,) = yield step("one more", terminal("three"))
        return first + second + third

    book = only(doing)
    task = book.find(asked_of("pi", "Do it."))
    assert task is not None
    moves = [book.next_move(task, ["a", "b", "c"][:n]) for n in range(4)]
    assert [getattr(move, "text", move) for move in moves] == [
        "two at once",
        "two at once",
        "one more",
        "abc",
    ]


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        ("plain\n", "plain\n"),
        ('{"output": "a\\nb", "exit_code": 0, "error": null}', "a\nb"),
        ('{"content": "1|x = 1\\n2|", "total_lines": 2}', "x = 1\n\n"),
        ('{"files": ["./a.py", "./b.py"]}', "./a.py\n./b.py"),
        ('{"port": 1}', '{"port": 1}'),
        ("Chunk ID: 3\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\nx\n", "x\n"),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nx", "x"),
        ("<returncode>0</returncode>\n<output>\nx\n</output>", "x"),
        ("     1→def f():\n     2→    return 1", "def f():\n    return 1\n"),
        (
            "     9\tdef f():\n    10\t    return 1\n\n<system-reminder>\nbe good\n</system-reminder>",
            "def f():\n    return 1\n",
        ),
        ("00001| a\n00002|  b", "a\n b\n"),
        (
            "<path>a</path>\n<content>\n1: x = 1\n2:  y\n\n(End of file - total 2 lines)\n</content>",
            "x = 1\n y\n",
        ),
        ("(no output)", ""),
        ("(Bash completed with no output)", ""),
        ("4 apples\n2 pears", "4 apples\n2 pears"),
    ],
)
def test_what_a_harness_wraps_around_an_output_is_taken_off(shown: str, output: str) -> None:
    """A recipe that reads line numbers for content answers wrong with one harness only."""
    assert results.plain(shown) == output
