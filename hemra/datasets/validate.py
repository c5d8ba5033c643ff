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

from hemra.datasets import imports
from hemra.datasets.load import dataset_name, duplicates, load_task, task_folders
from hemra.datasets.model import Task
from hemra.datasets.prepare import PLACEHOLDER, Prepared, prepare_async
from hemra.errors import HemraError
from hemra.sandboxes.scratch import private_folder

ERROR = "error"
WARNING = "warning"
MAX_FIXTURE_BYTES = 100 * 1024
SOLUTION = "solution/solve.py"
#: Code of the task that is run by itself, and the modules that it is given beside the standard library.
OWN_CODE = {"verifier.py": (), "prepare.py": (), SOLUTION: ("hemra_protocol",)}
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
        findings += [Finding(task.id, ERROR, text) for text in _static(task)]
        findings += [finding async for finding in _tried(task)]
    return findings + [Finding(line.split(":")[0], ERROR, line) for line in duplicates(tasks)]


def _static(task: Task) -> Iterator[str]:
    """What the files alone tell."""
    if SOLUTION not in task.files:
        yield f"lacks {SOLUTION}: without a reference solution nobody knows that the task can be solved"
    for path in task.files:
        size = (task.path / path).stat().st_size
        if path.startswith("fixture/") and size > MAX_FIXTURE_BYTES:
            yield f"{path}: {size} bytes, above {MAX_FIXTURE_BYTES} (write large files in prepare.py)"
    for path, provided in OWN_CODE.items():
        if path in task.files:
            yield from imports.problems((task.path / path).read_bytes(), path, provided=provided)
    both = set(task.spec.allowed_tools) & set(task.spec.forbidden_tools)
    if both:
        yield f"task.yaml: {', '.join(sorted(both))} both allowed and forbidden"


async def _tried(task: Task) -> AsyncIterator[Finding]:
    """What preparing the task and asking its verifier show."""
    from hemra.scoring.verifier import score  # scoring builds on datasets; only this check needs the way back

    with private_folder("validate") as folder:
        workspace, empty = folder / "workspace", folder / "empty"
        empty.mkdir()
        try:
            prepared = await prepare_async(task, workspace, SEED)
        except HemraError as error:
            yield Finding(task.id, ERROR, str(error))
            return
        for name in _promised(task, prepared, workspace):
            yield Finding(
                task.id,
                WARNING,
                f"instruction.md speaks of `{name}`, which neither fixture/ nor prepare.py makes "
                "(list it under absent_files if it is not to be there)",
            )
        verdict = await score(task, empty, _blank_trace(task, prepared, empty))
        if verdict.status == "VERIFIER_ERROR":
            yield Finding(task.id, ERROR, f"verifier.py, asked about an empty workspace: {verdict.reason}")
        elif verdict.status == "PASS":
            yield Finding(task.id, ERROR, "verifier.py passes an empty workspace without any answer")


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


def _blank_trace(task: Task, prepared: Prepared, workspace: Path) -> dict[str, object]:
    """The trace of a harness that did nothing at all."""
    return {
        "task": task.id,
        "instruction": prepared.instruction,
        "values": prepared.values,
        "seed": SEED,
        "messages": [],
        "final": None,
        "tools_recorded": True,
        "tool_calls": [],
        "exit_code": 0,
        "outcome": "completed",
        "home": str(workspace),
        "workspace": str(workspace),
    }
