"""Recipes of the category t03_patch_edit."""

from __future__ import annotations

import re

from ..v4a import updating
from .book import Recipe, Task, act, read, recipe, search, step, terminal


@recipe("t03_patch_edit/t01_basic")
def guard(task: Task) -> Recipe:
    """Put the guard in front of the division, and try it."""
    message = task.values["message"].strip()
    yield step("I read the module.", read("broken_divide.py"))
    old = "    return a / b * FACTOR\n"
    new = f'    if b == 0:\n        raise ValueError("{message}")\n{old}'
    edit = act("patch", path="broken_divide.py", old=old, new=new)
    yield step("I put the guard in front of the division.", edit)
    trial = "python3 -B -c 'import broken_divide; broken_divide.divide(1, 0.0)' 2>&1 | tail -n 1"
    yield step("I try it.", terminal(trial))
    return "divide now raises a ValueError when b is zero."


@recipe("t03_patch_edit/t02_ambiguous")
def ambiguous(task: Task) -> Recipe:
    """Change the second of two equal lines, with enough of its section to be the only one."""
    old, new = f"foo = {task.values['old']}", f"foo = {task.values['new']}"
    (source,) = yield step("I read the file.", read("dup_strings.py"))
    title = re.findall(r"^# .*$", source, re.MULTILINE)[1]
    block = source[source.index(title) : source.rindex(old)]
    edit = act("patch", path="dup_strings.py", old=block + old, new=block + new)
    yield step("The line is there twice; I take the title of the second section with it.", edit)
    return f"The second line is {new} now."


@recipe("t03_patch_edit/t03_unicode")
def unicode(task: Task) -> Recipe:
    """Append the emoji to the last line."""
    globe = task.values["globe"]
    (source,) = yield step("I read the file.", read("hello.txt"))
    last = [line for line in source.splitlines() if line.strip()][-1]
    edit = act("patch", path="hello.txt", old=last, new=f"{last} {globe}")
    yield step("I append the globe to its last line.", edit)
    return f"hello.txt ends with {globe}."


@recipe("t03_patch_edit/t04_multiline")
def multiline(task: Task) -> Recipe:
    """Bring the method in with one edit that begins at the head of the right class."""
    value, after = task.values["value"], task.values["after"]
    (source,) = yield step("I read the file.", read("big_block.py"))
    head = source[source.index("class Foo:") :]
    found = re.match(rf"(?s).*?    def {after}\(self\):\n        return \d+\n", head)
    old = found[0] if found else search(f"def {after}", "")[0]
    new = f"{old}\n    def bar(self):\n        return {value}\n"
    edit = act("patch", path="big_block.py", old=old, new=new)
    yield step("I put the method into Foo, in one edit.", edit)
    yield step("I try it.", terminal("python3 -B -c 'from big_block import Foo; print(Foo().bar())'"))
    return f"Foo has the method bar now; it returns {value}."


@recipe("t03_patch_edit/t05_v4a")
def v4a(task: Task) -> Recipe:
    """Insert the line with a V4A patch whose context is the old first line."""
    (line,) = task.search(r"^ *(x = \d+)\s*$")
    (source,) = yield step("I read the file.", read("target.py"))
    patch = updating("target.py", [], [line], source.splitlines()[:1])
    yield step("I insert the line.", act("v4a", patch=patch))
    return f"The first line of target.py is {line}."
