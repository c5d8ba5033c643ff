"""Recipes of the category t08_execute_code."""

from __future__ import annotations

from ..actions import Action
from .book import Recipe, Task, recipe, search, step


@recipe("t08_execute_code/t01_math")
def math(task: Task) -> Recipe:
    """Let code compute the sum."""
    first, last, left_out = (task.values[name] for name in ("first", "last", "left_out"))
    code = f"print(sum(n * n for n in range({first}, {last} + 1) if n % {left_out}))"
    (printed,) = yield step("I let code compute it.", Action("execute_code", {"code": code}))
    (number,) = search(r"\d+", printed)
    return f"The sum is {number}."
