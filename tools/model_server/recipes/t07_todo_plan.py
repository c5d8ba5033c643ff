"""Recipes of the category t07_todo_plan."""

from __future__ import annotations

import re

from .book import Recipe, Task, act, recipe, search, step


@recipe("t07_todo_plan/t01_plan")
def plan(task: Task) -> Recipe:
    """Work out the order of the steps, and write the plan in one call."""
    brief = re.sub(r"\s*\n>?\s*", " ", task.values["brief"])
    third, second = search(r"You can (.*?), but only directly after you (.*?)\.", brief)
    (last,) = search(r"At the very end, (.*?)\.", brief)
    (first,) = search(r"Before everything else, (.*?)\.", brief)
    steps = [first, second, third, last]
    yield step("I write the plan.", act("todo", items=steps))
    return ", ".join(search(r"`(\w+)`", each)[0] for each in steps)
