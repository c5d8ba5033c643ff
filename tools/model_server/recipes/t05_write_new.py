"""Recipes of the category t05_write_new."""

from __future__ import annotations

from .book import Recipe, Task, act, recipe, step, terminal


@recipe("t05_write_new/t01_basic")
def basic(task: Task) -> Recipe:
    """Write the greeting and look at the file."""
    content = f"{task.values['greeting'].strip()}\n"
    yield step("I write the file.", act("write_file", path="greeting.txt", content=content))
    yield step("I look at it.", terminal("cat greeting.txt"))
    return "greeting.txt is written."
