"""The gates of many tasks, some at a time, and what came of them as a table and as JSON."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hemra.datasets.load import load_task, task_folders
from hemra.datasets.model import Task
from hemra.datasets.selection import chosen, is_trait, matching
from hemra.errors import HemraError, UsageError
from hemra.gates.check import DEFAULT_SEEDS, GATES, Row, check_task
from hemra.gates.validate import ERROR, Finding, check_task_folder

#: The findings of `hemra task validate` are a gate too.
VALID = "valid"


@dataclass(frozen=True)
class Checked:
    """What came of one task. `task` is its id, or its folder where it could not be loaded."""

    task: str
    findings: list[Finding]
    rows: list[Row]

    @property
    def ok(self) -> bool:
        """Whether every gate is passed."""
        return all(row.ok for row in self.rows) and not any(f.level == ERROR for f in self.findings)

    def cell(self, gate: str) -> str:
        """`ok`, `3/9` (as it must be, of all), or `—` where nothing was tried."""
        if gate == VALID:
            return "no" if any(f.level == ERROR for f in self.findings) else "ok"
        rows = [row for row in self.rows if row.gate == gate]
        good = sum(row.ok for row in rows)
        return "—" if not rows else f"{good}/{len(rows)}" if good < len(rows) else f"ok {good}"

    def failures(self) -> dict[str, list[int]]:
        """What went wrong, one line each, with the seeds for which it did."""
        found: dict[str, list[int]] = {}
        for row in self.rows:
            if not row.ok:
                seeds = found.setdefault(f"{row.gate}: {row.name}: {row.said}", [])
                seeds += [row.seed] if row.seed not in seeds else []
        return found

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        rows = [msgspec.to_builtins(row) for row in self.rows]
        findings = [msgspec.to_builtins(finding) for finding in self.findings]
        return {"task": self.task, "ok": self.ok, "findings": findings, "rows": rows}


COLUMNS = (VALID, *GATES)


def check_folder(
    root: Path,
    selectors: Sequence[str] = (),
    *,
    seeds: Sequence[int] = DEFAULT_SEEDS,
    jobs: int = 2,
    odd: bool = True,
    tell: Callable[[Checked], None] = lambda _: None,
) -> list[Checked]:
    """Check every task below `root` that `selectors` choose (see `hemra.datasets.selection`), `jobs` at a time;
    `tell` hears of each when it is done.

    A task that cannot be loaded fails alone. Raises NotFound and UsageError where there is nothing to check.
    """
    root = root.expanduser().absolute()
    folders = {_id_of(folder, root): folder for folder in task_folders(root)}
    named = matching(folders, [each for each in selectors if not is_trait(each)])
    wanted = {name: folder for name, folder in folders.items() if name in named}
    if traits_wanted := [each for each in selectors if is_trait(each)]:
        wanted = {name: folder for name, folder in wanted.items() if _fits(folder, root, traits_wanted)}
    twins = _twins(folders)
    if not wanted:
        raise UsageError(f"{root}: no task" + (f" matches {', '.join(selectors)}" if selectors else " in it"))
    return asyncio.run(_check_all(wanted, root, list(seeds), jobs, odd, tell, twins))


def _twins(names: Iterable[str]) -> dict[str, str]:
    """The names that only case or Unicode form tells from another, each with that one: they are one task's id."""
    seen: dict[str, str] = {}
    twins: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if first != name:
            twins |= {name: first, first: name}
    return twins


def _fits(folder: Path, root: Path, wanted: Sequence[str]) -> bool:
    """Whether the task can be loaded and has the tags and the difficulty."""
    try:
        tasks, _ = chosen([load_task(folder, root)], wanted)
    except HemraError:
        return False
    return bool(tasks)


def _id_of(folder: Path, root: Path) -> str:
    return folder.relative_to(root).as_posix() if folder != root else folder.name


async def _check_all(
    folders: dict[str, Path],
    root: Path,
    seeds: Sequence[int],
    jobs: int,
    odd: bool,
    tell: Callable[[Checked], None],
    twins: dict[str, str],
) -> list[Checked]:
    slots = asyncio.Semaphore(jobs)

    async def one(name: str, folder: Path) -> Checked:
        async with slots:
            checked = await _check(name, folder, root, seeds, odd)
        if name in twins:
            text = f"its id is also that of {root / twins[name]}: case does not tell ids apart"
            checked.findings.append(Finding(checked.task, ERROR, text))
        tell(checked)
        return checked

    return list(await asyncio.gather(*(one(name, folder) for name, folder in folders.items())))


async def _check(name: str, folder: Path, root: Path, seeds: Sequence[int], odd: bool) -> Checked:
    try:
        task: Task = load_task(folder, root)
    except HemraError as error:
        return Checked(name, [Finding(name, ERROR, str(error))], [])
    findings = await check_task_folder(task)
    rows = await check_task(task, seeds, odd=odd)
    return Checked(task.id, findings, rows)
