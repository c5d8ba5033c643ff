"""The book of recipes: which task a request is about, and what is to be done next for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..actions import Action, offers
from ..exchange import Asked, Made, Offered

#: Where the bundled tasks stand, seen from here.
TASKS = Path(__file__).resolve().parents[3] / "tasks"

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class RecipeFailed(RuntimeError):
    """What came back is not what the recipe can go on with."""


@dataclass(frozen=True)
class Step:
    """One turn: a sentence, and what to do at the same time. The recipe gets one result for each action."""

    text: str
    actions: tuple[Action, ...]
    reasoning: str = ""


#: What a recipe yields, what it gets back, and its final answer.
Recipe = Generator[Step, list[str], str]


@dataclass(frozen=True)
class Task:
    """A task as the request tells it: its instruction, the values in it, the calls made since, the tools offered."""

    id: str
    instruction: str
    values: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[Made, ...] = ()
    tools: tuple[Offered, ...] = ()

    def offers(self, kind: str) -> bool:
        """Whether the harness has a tool of its own for this kind of action."""
        return offers(kind, self.tools)

    def search(self, pattern: str) -> tuple[str, ...]:
        """The groups of a pattern in the instruction, lines of it in multi-line mode. Raises RecipeFailed."""
        return search(pattern, self.instruction)


def search(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of the first match, or all of it where the pattern has none. Raises RecipeFailed."""
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise RecipeFailed(f"nothing like {pattern!r} in {text[:200]!r}")
    return found.groups() or (found[0],)


RECIPES: dict[str, Callable[[Task], Recipe]] = {}


def recipe(task: str) -> Callable[[Callable[[Task], Recipe]], Callable[[Task], Recipe]]:
    """Enter a function into the book as the recipe of a task."""

    def enter(function: Callable[[Task], Recipe]) -> Callable[[Task], Recipe]:
        RECIPES[task] = function
        return function

    return enter


def step(text: str, *actions: Action, reasoning: str = "") -> Step:
    """A turn with these actions at the same time."""
    return Step(text, actions, reasoning)


def terminal(command: str, *, changes: bool = False) -> Action:
    """Run a command in the workspace."""
    return Action("terminal", {"command": command}, changes)


def read(path: str, offset: int | None = None, limit: int | None = None) -> Action:
    """Read a file, `limit` lines from line `offset` (from 1)."""
    return Action("read_file", {"path": path, "offset": offset, "limit": limit})


def act(kind: str, **given: Any) -> Action:
    """Any other action that changes the workspace or the plan."""
    return Action(kind, given, changes=True)


@dataclass(frozen=True)
class Template:
    """An instruction as it stands in the task folder, and the search for it in what a harness is given."""

    task: str
    text: str

    @cached_property
    def _pieces(self) -> tuple[list[re.Pattern[str]], list[str]]:
        """What stands around the placeholders, and their names. A value at the end ends with its line."""
        pieces = _PLACEHOLDER.split(self.text.strip())
        first, *others = pieces[::2]
        between = [_literal(first), *(_literal(piece) or r"(?=\n|\Z)" for piece in others)]
        return [re.compile(pattern) for pattern in between], pieces[1::2]

    def find(self, text: str) -> tuple[str, dict[str, str]] | None:
        """The instruction in a text, and the values in it. Linear in the text: a value is the shortest possible."""
        (first, *others), names = self._pieces
        begin = first.search(text)
        if begin is None:
            return None
        place = begin.end()
        values: dict[str, str] = {}
        for name, piece in zip(names, others, strict=True):
            found = piece.search(text, place + 1)
            if (
                found is None
                or values.setdefault(name, text[place : found.start()]) != text[place : found.start()]
            ):
                return None
            place = found.end()
        return text[begin.start() : place], values


def _literal(text: str) -> str:
    """A pattern for the text, in which any blanks stand for blanks."""
    return r"\s+".join(re.escape(word) for word in re.split(r"\s+", text))


class Book:
    """All recipes, and the instructions by which a task is recognised."""

    def __init__(self, templates: Sequence[Template]) -> None:
        self._templates = sorted(templates, key=lambda each: (-len(each.text), each.task))
        self._found: dict[str, tuple[str, str, dict[str, str]] | None] = {}

    @classmethod
    def load(cls, tasks: Path = TASKS) -> Book:
        """The book for the tasks of a folder (`<category>/<task>/instruction.md`). Loads all recipes."""
        from . import entries

        entries.load()
        return cls(
            [
                Template(f"{path.parent.parent.name}/{path.parent.name}", path.read_text(encoding="utf-8"))
                for path in sorted(tasks.glob("[!_]*/*/instruction.md"))
            ]
        )

    def find(self, asked: Asked) -> Task | None:
        """The task that the user's messages hold, with the calls made for it; None where none is known."""
        text = asked.user_text
        if text not in self._found:
            self._found[text] = self._match(text)
        found = self._found[text]
        if found is None or found[0] not in RECIPES:
            return None
        return Task(*found, calls=asked.calls, tools=asked.tools)

    def _match(self, text: str) -> tuple[str, str, dict[str, str]] | None:
        for template in self._templates:
            if found := template.find(text):
                return template.task, *found
        return None

    def next_move(self, task: Task, results: Sequence[str]) -> Step | str:
        """The first step whose results are not all there, or the final answer. Raises what the recipe raises."""
        doing = RECIPES[task.id](task)
        used = 0
        try:
            now = next(doing)
            while used + len(now.actions) <= len(results):
                given = list(results[used : used + len(now.actions)])
                used += len(now.actions)
                now = doing.send(given)
        except StopIteration as done:
            return str(done.value)
        finally:
            doing.close()
        return now
