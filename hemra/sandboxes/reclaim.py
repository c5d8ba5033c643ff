"""Clears away what an engine that died left behind: its trials' processes and folders."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from hemra.sandboxes.leftovers import end_marked
from hemra.sandboxes.scratch import owner_lives, remove, scratch_root


@dataclass(frozen=True)
class Reclaimed:
    """How many processes were ended (and could not be), and which trial folders were removed."""

    processes: int
    alive: int
    folders: list[Path]


def reclaim(run: str, root: Path | None = None) -> Reclaimed:
    """End the processes and remove the folders of a run's trials whose engine is dead.

    A trial whose engine lives (it holds the lock of the trial's folder) is left alone, so this may be called
    at any time. `root` is the parent of the scratch folders, by default the folder for temporary files.
    Blocks until the processes are gone. Raises SandboxError when a folder cannot be removed.
    """
    base = scratch_root(root or Path(tempfile.gettempdir()))
    prefix = f"{run}/"

    def abandoned(token: str) -> bool:
        if not token.startswith(prefix):
            return False
        folder = base / run / token.removeprefix(prefix).partition("/")[0]
        return not owner_lives(folder)

    killed, alive = end_marked(abandoned)
    removed = []
    folder = base / run
    if folder.is_dir() and not folder.is_symlink():
        for trial in sorted(folder.iterdir()):
            if trial.is_dir() and not trial.is_symlink() and not owner_lives(trial):
                remove(base, trial)
                removed.append(trial)
        if not any(folder.iterdir()):
            folder.rmdir()
    return Reclaimed(processes=killed, alive=alive, folders=removed)
