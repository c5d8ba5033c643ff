"""Recipes of the category t04_search_grep."""

from __future__ import annotations

import re

from ..actions import Action
from .book import Recipe, Task, recipe, step, terminal


@recipe("t04_search_grep/t01_basic")
def basic(task: Task) -> Recipe:
    """Search with the harness's own tool; where that finds nothing, with grep."""
    (found,) = yield step("I search for the word.", Action("search_text", {"pattern": "TODO"}))
    paths = _paths(found)
    if not paths:
        (found,) = yield step("Nothing? I look again with grep.", terminal("grep -rl TODO ."))
        paths = _paths(found)
    return "\n".join(paths) or "No file holds the word."


def _paths(found: str) -> list[str]:
    """The paths that lines begin with, whatever the searcher adds to them."""
    matches = (
        re.match(r"\s*(?:- )?(?:\./)?((?:/|\w)[^\s:]*\.\w+)(?=:|\s*$)", line) for line in found.splitlines()
    )
    return list(dict.fromkeys(match[1] for match in matches if match))
