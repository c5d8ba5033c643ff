"""Finds the Python that a `hermes` program runs in: the launcher has to run in the same."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

_FIRST_BYTES = 512


@dataclass(frozen=True)
class Started:
    """The Python with its own options, and the words of a command that are Hermes' own arguments."""

    python: tuple[str, ...]
    arguments: tuple[str, ...]


def started_by(words: list[str], search_path: str | None) -> Started | None:
    """How the command `words` starts Hermes: a Python script by its first line, or a Python with a script or a module
    behind it. None for anything else."""
    program = shutil.which(words[0], path=search_path)
    if program is None:
        return None
    if _is_python(words[0]):
        taken = 3 if words[1:2] == ["-m"] else 2
        return Started((program,), tuple(words[taken:])) if len(words) >= taken else None
    try:
        with Path(program).open("rb") as file:
            first = file.read(_FIRST_BYTES).split(b"\n", 1)[0]
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    line = first[2:].decode("utf-8", "replace").split()
    if line[:1] and line[0].endswith("/env"):
        line = line[1:]
        found = shutil.which(line[0], path=search_path) if line else None
        line = [found, *line[1:]] if found is not None else []
    if not line or not _is_python(line[0]):
        return None
    return Started(tuple(line), tuple(words[1:]))


def _is_python(word: str) -> bool:
    return Path(word).name.startswith(("python", "pypy"))
