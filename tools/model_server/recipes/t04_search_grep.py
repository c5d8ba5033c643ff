"""Recipes of the category t04_search_grep."""

from __future__ import annotations

import re

from ..actions import Action
from .book import Recipe, Task, recipe, step


@recipe("t04_search_grep/t01_basic")
def basic(task: Task) -> Recipe:
    """Search for the word; a path is what the results begin a line with, whatever the searcher adds."""
    (found,) = yield step("I search for the word.", Action("search_text", {"pattern": "TODO"}))
    paths: dict[str, None] = {}
    for line in found.splitlines():
        if match := re.match(r"\s*(?:- )?(?:\./)?((?:/|\w)[^\s:]*\.\w+)(?=:|\s*$|:\d)", line):
            paths[match[1]] = None
    return "\n".join(paths)
