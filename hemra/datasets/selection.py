"""Choosing tasks: by globs on ids, categories and names, and by tag and difficulty.

A selector is a glob, `tag:NAME` or `difficulty:N`. A task is chosen when it fits one selector of every kind
that is given; none given chooses all.
"""

from __future__ import annotations

import fnmatch
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hemra.datasets.model import Task

TAG, DIFFICULTY = "tag:", "difficulty:"


def chosen(tasks: Sequence[Task], selectors: Sequence[str]) -> tuple[list[Task], list[str]]:
    """The tasks that the selectors choose, in their order, and the selectors that fit no task by themselves."""
    ids = [task.id for task in tasks]
    globs = [each for each in selectors if not is_trait(each)]
    idle = [glob for glob in globs if not matching(ids, [glob])]
    named = matching(ids, globs)
    found = [task for task in tasks if task.id in named]
    for kind in (TAG, DIFFICULTY):
        wanted = [each for each in selectors if each.startswith(kind)]
        idle += [each for each in wanted if not any(each in traits(task) for task in tasks)]
        if wanted:
            found = [task for task in found if traits(task) & set(wanted)]
    return found, idle


def is_trait(selector: str) -> bool:
    """Whether a selector asks for what only the task's own file tells."""
    return selector.startswith((TAG, DIFFICULTY))


def traits(task: Task) -> set[str]:
    """The selectors by tag and difficulty that a task fits."""
    return {f"{DIFFICULTY}{task.spec.difficulty}", *(f"{TAG}{tag}" for tag in task.spec.tags)}


def matching(ids: Iterable[str], globs: Sequence[str]) -> set[str]:
    """Those of `ids` that any of `globs` chooses (none given: all)."""
    known = list(ids)
    if not globs:
        return set(known)
    return set().union(*(_matching(known, unicodedata.normalize("NFC", glob)) for glob in globs))


def _matching(ids: Sequence[str], glob: str) -> set[str]:
    """Whole ids and categories first; only a glob that matches none of them is matched against last parts."""
    whole = {i for i in ids if any(fnmatch.fnmatchcase(n, glob) for n in (i, i.rpartition("/")[0]))}
    return whole or {i for i in ids if fnmatch.fnmatchcase(i.rpartition("/")[2], glob)}
