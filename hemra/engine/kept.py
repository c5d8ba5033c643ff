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

#: So much of one file, so many files of one trial, and so much of all of them, are kept: they are in memory at once.
MOST_BYTES, MOST_FILES, MOST_TOGETHER = 64 << 20, 256, 256 << 20


async def kept_files(sandbox: Sandbox, wanted: Sequence[str]) -> tuple[dict[str, bytes], list[str]]:
    """(content by path relative to HOME, what could not be kept and why). Links are not followed, missing files
    are left out."""
    found: dict[str, bytes] = {}
    problems: list[str] = []
    home, left = sandbox.inside(sandbox.home), MOST_TOGETHER
    for pattern in wanted:
        for path in await asyncio.to_thread(_matching, sandbox.home, pattern):
            if len(found) == MOST_FILES:
                return found, [*problems, f"~/{pattern}: more than {MOST_FILES} files"]
            try:
                content = await sandbox.get(f"{home}/{path}", min(MOST_BYTES, left))
            except (SandboxError, OSError) as error:
                problems.append(f"~/{path}: {error}")
                continue
            if content is not None:
                found[path] = content
                left -= len(content)
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
