"""Recipes of the category t02_file_read."""

from __future__ import annotations

import re

from .book import Recipe, Task, read, recipe, search, step, terminal


@recipe("t02_file_read/t01_read_head")
def head(task: Task) -> Recipe:
    """Read the first 50 lines and report marker and functions in them."""
    (text,) = yield step("I read the first 50 lines.", read("add.py", 1, 50))
    (marker,) = search(r"# MARKER: (\S+)", text)
    names = ", ".join(re.findall(r"^def (\w+)", text, re.MULTILINE))
    return f"The marker is {marker}. Functions defined in the first 50 lines: {names}."


@recipe("t02_file_read/t02_read_tail")
def tail(task: Task) -> Recipe:
    """Find the length of the file and read its last 20 lines."""
    (length,) = yield step("First the length of the file.", terminal("wc -l < add.py"))
    (text,) = yield step("Now its last 20 lines.", read("add.py", int(search(r"\d+", length)[0]) - 19, 20))
    (marker,) = search(r"# MARKER: (\S+)", text)
    last = re.findall(r"^def (\w+)", text, re.MULTILINE)[-1]
    return f"MARKER is {marker}; the last function is {last}."


@recipe("t02_file_read/t03_read_paginated")
def paginated(task: Task) -> Recipe:
    """Read in three windows; count with the shell, because readers add lines of their own."""
    checkpoints: list[str] = []
    for offset in (1, 51, 101):
        (text,) = yield step(f"I read from line {offset} on.", read("big_file.py", offset, 50))
        checkpoints += search(r"# CHECKPOINT: (\S+)", text)
    (printed,) = yield step("How long is it?", terminal("wc -l < big_file.py"))
    length = int(search(r"\d+", printed)[0])
    said = f"The chunks have 50, 50 and {length - 100} lines, the file has {length}."
    return f"{said} Checkpoints: {', '.join(checkpoints)}."


@recipe("t02_file_read/t04_read_missing")
def missing(task: Task) -> Recipe:
    """Try the record, and follow the index where it is not there."""
    asked = task.values["asked"]
    token = r'TOKEN = "([^"]+)"'
    (text,) = yield step(f"I read records/{asked}.", read(f"records/{asked}"))
    said = ""
    if not re.search(token, text):
        (index,) = yield step("It is not there. I look into the index.", read("records/INDEX.txt"))
        (successor,) = search(rf"{re.escape(asked)} -> (\S+)", index)
        (text,) = yield step(f"I read records/{successor} instead.", read(f"records/{successor}"))
        said = f"records/{asked} does not exist; according to the index it was moved into {successor}. "
    return f"{said}TOKEN is {search(token, text)[0]}."


@recipe("t02_file_read/t05_read_nested")
def nested(task: Task) -> Recipe:
    """Read the one path that counts."""
    path = task.values["path"]
    (text,) = yield step(f"I read {path}.", read(path))
    (key,) = search(r'BUILD_KEY = "([^"]+)"', text)
    return f"BUILD_KEY in {path} is {key}."


@recipe("t02_file_read/t06_read_parallel")
def parallel(task: Task) -> Recipe:
    """Read three files with three calls of one turn."""
    names = ("a.py", "b.py", "c.py")
    texts = yield step("I read the three files in parallel.", *(read(name) for name in names))
    codes = [search(r'CODE = "([^"]+)"', text)[0] for text in texts]
    return "\n".join(f"{name}: {code}" for name, code in zip(names, codes, strict=True))
