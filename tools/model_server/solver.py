"""Two minds that know the bundled tasks: one that does them, and one that only says so.

A recipe is a generator: it yields steps (what to do next) and gets what came back. It is run from its beginning for
every request, fed with the results in the request's history, up to the step that has none yet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .actions import Action, call_for
from .exchange import Asked, Call
from .recipes.book import Book, Step, Task
from .results import plain
from .script import Turn

#: Harnesses that end with a command of their own and not with an answer: its mark, and the command.
_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
#: What stands in for a change that the saboteur does not make.
_IDLE = Action("terminal", {"command": "true"})


@dataclass(frozen=True)
class Said:
    """A turn, with its calls translated for the harness. `problem` says what kept the task from being done."""

    turn: Turn
    calls: tuple[Call, ...] = ()
    task: str | None = None
    problem: str | None = None


def finally_said(asked: Asked, text: str) -> tuple[str, tuple[Call, ...]]:
    """The final answer in the way that the harness takes it: as text, and by its command where it has one."""
    if not any(_SUBMIT in message.text for message in asked.messages):
        return text, ()
    lines = "".join(f"{line}\n" for line in (_SUBMIT, text))
    quoted = "'" + lines.replace("'", "'\\''") + "'"
    call = call_for(Action("terminal", {"command": f"printf '%s' {quoted}"}), asked.tools)
    return text, (call,) if call else ()


def spoilt(text: str) -> str:
    """The same text with every number and word in it wrong, and about as long."""
    turned = re.sub(r"\d", lambda digit: str((int(digit[0]) + 3) % 10), text)
    return re.sub(r"\w{3,}", lambda word: word[0][::-1], turned)


class Solver:
    """Does every task that it has a recipe for, with the tools that the request offers."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def turn(self, asked: Asked) -> Said:
        """The next turn. A task without a recipe ends with a sentence that says so."""
        task = self._book.find(asked)
        if task is None:
            text, calls = finally_said(asked, "I know no recipe for this task.")
            return Said(Turn(text=text), calls, None, "no recipe for this task")
        try:
            move = self._book.next_move(task, [plain(call.result or "") for call in task.calls])
        except Exception as error:  # noqa: BLE001 - a recipe that meets an odd result fails its task only
            text, calls = finally_said(asked, f"I could not do it: {error}")
            return Said(
                Turn(text=text), calls, task.id, f"the recipe failed: {type(error).__name__}: {error}"
            )
        if isinstance(move, str):
            text, calls = finally_said(asked, self.closing(move))
            return Said(Turn(text=text), calls, task.id)
        return self._step(asked, task, move)

    def closing(self, text: str) -> str:
        """What is said at the end: never nothing, which harnesses take for a failure of the model."""
        return text or "There is nothing to report."

    def action(self, action: Action) -> Action:
        """What is done for a step of the recipe."""
        return action

    def _step(self, asked: Asked, task: Task, step: Step) -> Said:
        calls = []
        for action in step.actions:
            call = call_for(self.action(action), asked.tools)
            if call is None:
                offered = ", ".join(tool.name for tool in asked.tools) or "none"
                problem = f"no tool for {action.kind}; offered: {offered}"
                text, submitted = finally_said(asked, f"I cannot do this here: {problem}.")
                return Said(Turn(text=text), submitted, task.id, problem)
            calls.append(call)
        return Said(Turn(text=step.text, reasoning=step.reasoning), tuple(calls), task.id)


class Saboteur(Solver):
    """Reads all that the solver reads, changes nothing, and ends with an answer that is wrong but sounds right."""

    def turn(self, asked: Asked) -> Said:
        """The next turn; where there is no recipe, a claim and nothing else."""
        said = super().turn(asked)
        if said.problem is None:
            return said
        text, calls = finally_said(asked, "Everything is done as you asked; the answer is as expected.")
        return Said(Turn(text=text), calls, said.task, said.problem)

    def closing(self, text: str) -> str:
        """The recipe's answer with every value in it spoilt."""
        return f"Done as you asked. {spoilt(text)}"

    def action(self, action: Action) -> Action:
        """The recipe's own where it only looks; nothing where it would change the workspace."""
        if action.kind == "todo":
            return Action("todo", {"items": [spoilt(item) for item in action.given["items"]]}, True)
        return _IDLE if action.changes else action
