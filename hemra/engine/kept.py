"""Files of a trial's HOME that an adapter wants to have kept: a session, a trajectory, a database."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from hemra.sandboxes.base import SandboxError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hemra.sandboxes.base import Sandbox

#: So much of one file, and so many files of one trial, are kept.
MOST_BYTES, MOST_FILES = 64 << 20, 256


async def kept_files(sandbox: Sandbox, wanted: Sequence[str]) -> tuple[dict[str, bytes], list[str]]:
    """(content by path relative to HOME, what could not be kept and why). Links are not followed, missing files
    are left out."""
    found: dict[str, bytes] = {}
    problems: list[str] = []
    home = sandbox.inside(sandbox.home)
    for pattern in wanted:
        for path in await asyncio.to_thread(_matching, sandbox.home, pattern):
            if len(found) == MOST_FILES:
                return found, [*problems, f"~/{pattern}: more than {MOST_FILES} files"]
            try:
                content = await sandbox.get(f"{home}/{path}", MOST_BYTES)
            except (SandboxError, OSError) as error:
                problems.append(f"~/{path}: {error}")
                continue
            if content is not None:
                found[path] = content
    return found, problems


def _matching(home: Path, pattern: str) -> list[str]:
    """Names that a pattern stands for: itself, or with a `*` at its end the names beside it that begin so. Only
    names are looked at here; what they are is looked at where they are read."""
    if not pattern.endswith("*"):
        return [pattern]
    folder, _, begin = pattern[:-1].rpartition("/")
    place = home / folder
    if place.is_symlink() or not place.is_dir():
        return []
    names = sorted(name for name in os.listdir(place) if name.startswith(begin))
    return [f"{folder}/{name}" if folder else name for name in names]
