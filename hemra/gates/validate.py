"""Looking for everything wrong with a dataset before anyone runs it.

Errors are what makes a task unusable or its verdict worthless; warnings are guesses that a person
should look at. Every check is tried for every task, so that one pass shows all there is.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from hemra.datasets.lints import lints, written_injections
from hemra.datasets.load import dataset_name, duplicates, load_task, task_folders
from hemra.datasets.model import PLACEHOLDER, Task
from hemra.datasets.prepare import Prepared
from hemra.engine import check
from hemra.errors import HemraError
from hemra.gates.stage import Stage
from hemra.sandboxes.registry import why_not
from hemra.sandboxes.scratch import private_folder
from hemra.scoring.verifier import score

ERROR = "error"
WARNING = "warning"
SEED = 0

_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_FILE_NAME = re.compile(r"(?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,4}|(?:[\w.-]+/)+")


@dataclass(frozen=True)
class Finding:
    """One thing wrong. `task` is its id, or its folder where that is not known; `level` error or warning."""

    task: str
    level: str
    text: str


def validate(path: Path) -> list[Finding]:
    """Findings for the task or the tree of tasks in `path`, in the order of the folders.

    Runs every task's prepare.py and verifier.py. Raises NotFound without such a folder.
    """
    return asyncio.run(validate_async(path))


async def validate_async(path: Path) -> list[Finding]:
    """As `validate`, for callers that have an event loop."""
    root = path.expanduser().absolute()
    findings: list[Finding] = []
    try:
        folders = task_folders(root)
    except HemraError as error:
        if not root.is_dir():
            raise
        return [Finding(root.name, ERROR, str(error))]
    try:
        dataset_name(root)
    except HemraError as error:
        findings.append(Finding(root.name, ERROR, str(error)))
    if not folders:
        findings.append(
            Finding(root.name, ERROR, f"{root}: no task in it (a task is a folder with a task.yaml)")
        )
    tasks = []
    for folder in folders:
        try:
            task = load_task(folder, root)
        except HemraError as error:
            findings.append(Finding(folder.relative_to(root.parent).as_posix(), ERROR, str(error)))
            continue
        tasks.append(task)
        findings += await check_task_folder(task)
    return findings + [Finding(line.split(":")[0], ERROR, line) for line in duplicates(tasks)]


async def check_task_folder(task: Task) -> list[Finding]:
    """Findings for one task that was loaded."""
    findings = [Finding(task.id, ERROR, text) for text in lints(task)]
    findings += _planned(task)
    return findings + [finding async for finding in _tried(task)]


def _planned(task: Task) -> list[Finding]:
    """What the planner of a run would refuse. A sandbox that this machine alone lacks is no fault of the task."""
    errors = check.of_task(task)
    if errors or task.spec.sandbox is None:
        own = f"task {task.id}: "
        return [Finding(task.id, ERROR, f"task.yaml: {text.removeprefix(own)}") for text in errors]
    problem = why_not(task.spec.sandbox)
    if problem is None:
        return []
    return [
        Finding(task.id, WARNING, f"task.yaml: sandbox: {task.spec.sandbox} cannot be used here: {problem}")
    ]


async def _tried(task: Task) -> AsyncIterator[Finding]:
    """What preparing the task and asking its verifier show."""
    try:
        async with Stage(task, SEED) as stage:
            await stage.stop()
            for name in _promised(task, stage.prepared, stage.workspace):
                yield Finding(
                    task.id,
                    ERROR,
                    f"{task.spec.instruction} speaks of `{name}`, which neither {task.fixture} nor prepare.py makes "
                    "(list it under absent_files if it is not to be there at the start)",
                )
            for text in written_injections(task, stage.workspace):
                yield Finding(task.id, ERROR, text)
            with private_folder("validate") as empty:
                verdict = await score(task, empty, stage.blank_trace() | {"workspace": str(empty)})
    except (HemraError, OSError) as error:
        yield Finding(task.id, ERROR, str(error))
        return
    if verdict.status == "VERIFIER_ERROR":
        yield Finding(task.id, ERROR, f"the verifier, asked about an empty workspace: {verdict.reason}")
    elif verdict.status == "PASS":
        yield Finding(task.id, ERROR, "the verifier passes an empty workspace without any answer")


def _promised(task: Task, prepared: Prepared, workspace: Path) -> Iterator[str]:
    """Relative paths in backticks that look like files and are not there."""
    absent = {Path(_filled(path, prepared)).as_posix() for path in task.spec.absent_files}
    for span in dict.fromkeys(_CODE_SPAN.findall(prepared.instruction)):
        name = span.removeprefix("./")
        if not _FILE_NAME.fullmatch(name) or Path(name).as_posix() in absent:
            continue
        if not (workspace / name).exists():
            yield span


def _filled(text: str, prepared: Prepared) -> str:
    return PLACEHOLDER.sub(lambda match: str(prepared.values[match[1]]), text)
