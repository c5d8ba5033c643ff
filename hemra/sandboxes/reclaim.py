"""Clears away what processes of ours that died left behind: trials' processes and folders."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hemra.sandboxes.base import SandboxError
from hemra.sandboxes.cgroups import reclaim_groups
from hemra.sandboxes.leftovers import end_marked
from hemra.sandboxes.scratch import leftovers, owner_lives, remove_leftover, scratch_parent, scratch_root


@dataclass(frozen=True)
class Reclaimed:
    """How many processes were ended (and could not be), which folders were removed, and why others were not."""

    processes: int
    alive: int
    folders: list[Path]
    problems: list[str] = field(default_factory=list)


def reclaim(run: str, root: Path | None = None) -> Reclaimed:
    """End the processes and remove the folders of a run's trials whose engine is dead.

    A trial whose engine lives (it holds the lock of the trial's folder) is left alone, so this may be called
    at any time. `root` is the parent of the scratch folders, by default the folder for temporary files.
    Blocks until the processes are gone. Raises SandboxError when a folder cannot be removed.
    """
    base = _base(root)
    prefix = f"{run}/"

    def abandoned(token: str) -> bool:
        return token.startswith(prefix) and not owner_lives(_folder_of(base, token))

    killed, alive = end_marked(abandoned)
    removed, problems = _remove(base, leftovers(base, run))
    if problems:
        raise SandboxError("; ".join(problems))
    return Reclaimed(processes=killed, alive=alive, folders=removed)


def reclaim_all(root: Path | None = None) -> Reclaimed:
    """The same for whatever is left below `root`, of any run and of task code, and for control groups. Raises nothing.

    Only what has a folder there counts: a process without one may belong to an engine that lives and has
    its folders elsewhere.
    """
    base = _base(root)
    ended = reclaim_groups()
    found = leftovers(base)
    if not found:
        return Reclaimed(ended, 0, [])
    dead = set(found)

    def abandoned(token: str) -> bool:
        folder = _folder_of(base, token)
        return folder in dead and not owner_lives(folder)

    killed, alive = end_marked(abandoned)
    removed, problems = _remove(base, found)
    return Reclaimed(ended + killed, alive, removed, problems)


def _base(root: Path | None) -> Path:
    return scratch_root(root or scratch_parent())


def _folder_of(base: Path, token: str) -> Path:
    """Where the trial of a marker `<run>/<trial>.<try>/<random>` has its folder."""
    run, _, rest = token.partition("/")
    return base / run / rest.partition("/")[0]


def _remove(base: Path, folders: list[Path]) -> tuple[list[Path], list[str]]:
    removed, problems = [], []
    for folder in folders:
        there = folder.exists()
        try:
            if remove_leftover(base, folder) and there:
                removed.append(folder)
        except (SandboxError, OSError) as error:
            problems.append(str(error))
    return removed, problems
