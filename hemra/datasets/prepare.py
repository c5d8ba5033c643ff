"""Preparing a trial's workspace: fixture copied, values drawn from the seed, placeholders filled.

The same task content and the same seed give the same bytes, modes and times, whatever the umask.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hemra.datasets.model import PLACEHOLDER, Task, Variant
from hemra.datasets.taskcode import run_task_code
from hemra.errors import DatasetChanged, HemraError

TIMEOUT_SECONDS = 30.0
#: Seconds since the epoch given to every file (2024-01-01T00:00:00Z), so that two preparations are equal.
_TIME = 1_704_067_200

T = TypeVar("T")


@dataclass(frozen=True)
class Prepared:
    """What the harness is told, and the values drawn for this trial (for the verifier and the record)."""

    instruction: str
    values: dict[str, Any]


def prepare(task: Task, workspace: Path, seed: int) -> Prepared:
    """Fill `workspace` (made when absent, else empty) for one trial that needs no service and no world.

    Raises DatasetChanged when a file is not as it was when the task was loaded, HemraError when
    prepare.py fails, a placeholder has no value, or a file that must be absent is there; OSError
    when the workspace cannot be written.
    """
    return _blocking(prepare_async(task, workspace, seed))


async def prepare_async(task: Task, workspace: Path, seed: int) -> Prepared:
    """As `prepare`, for callers that have an event loop."""
    values = await draw(task, workspace, seed)
    return await tell(task, workspace, values)


async def draw(task: Task, workspace: Path, seed: int) -> dict[str, Any]:
    """The first half of preparing: the workspace filled, and the values drawn for it."""
    await asyncio.to_thread(_copy_fixture, task, workspace)
    chosen = variant_of(task, seed)
    values: dict[str, Any] = {} if chosen is None else dict(chosen.values)
    if "prepare.py" in task.files:
        values |= await _drawn(task, workspace, seed, values)
    return values if chosen is None else values | {"variant": chosen.name}


async def tell(task: Task, workspace: Path, values: dict[str, Any]) -> Prepared:
    """The second half, once every value is known: the instruction filled, and what is absent checked."""
    instruction = filled(
        _text(task, task.spec.instruction), values, f"{task.id}: {task.spec.instruction}"
    ).strip()
    for pattern in task.spec.absent_files:
        path = filled(pattern, values, f"{task.id}: absent_files")
        if os.path.lexists(workspace / path):
            raise HemraError(f"task {task.id!r}: {path} is in the workspace despite absent_files")
    await asyncio.to_thread(_settle, workspace)
    return Prepared(instruction, values)


def variant_of(task: Task, seed: int) -> Variant | None:
    """The variant that the seed draws, or None for a task that has none."""
    if not task.spec.variants:
        return None
    digest = hashlib.sha256(f"{task.id}\0{seed}".encode()).digest()
    return task.spec.variants[int.from_bytes(digest[:8]) % len(task.spec.variants)]


def never_filled(task: Task) -> list[str]:
    """A line for each placeholder of a task that nothing can give a value. DatasetChanged when a file is not as it
    was when the task was loaded."""
    if "prepare.py" in task.files or task.spec.world:
        return []
    known = {"web"} if task.spec.services.web else set()
    if task.spec.variants:
        known |= {"variant"} | set.intersection(*(set(variant.values) for variant in task.spec.variants))
    found = []
    for where, text in [
        (task.spec.instruction, _text(task, task.spec.instruction)),
        *(("absent_files", pattern) for pattern in task.spec.absent_files),
        *(
            (f"mcp_servers.{name}", text)
            for name, each in task.spec.mcp_servers.items()
            for text in each.texts
        ),
    ]:
        for name in dict.fromkeys(PLACEHOLDER.findall(text)):
            if name in known:
                continue
            found.append(
                f"task {task.id}: {where}: placeholder {{{{{name}}}}} has no value: no prepare.py draws one"
            )
    return found


def pinned_bytes(task: Task, path: str) -> bytes:
    """A file of the task, checked against the digest it had when the task was loaded (DatasetChanged)."""
    try:
        content = (task.path / path).read_bytes()
    except OSError as error:
        raise _changed(task, path, f"cannot be read ({error.strerror})") from error
    if hashlib.sha256(content).hexdigest() != task.files.get(path, "")[:64]:
        raise _changed(task, path, "was changed")
    return content


def _changed(task: Task, path: str, what: str) -> DatasetChanged:
    return DatasetChanged(
        f"task {task.id!r}: {task.path / path} {what} while the run was using it; "
        "put it back and resume, or pin the new content and start a new run"
    )


def _holds_files(folder: Path) -> bool:
    return any(not entry.is_dir() or entry.is_symlink() for entry in (folder, *folder.rglob("*")))


def _copy_fixture(task: Task, workspace: Path) -> None:
    """Write the fixture's files as new files (never links), in the modes 0644 and 0755."""
    workspace.mkdir(parents=True, exist_ok=True)
    # What a sandbox makes beforehand: a place for each folder that is to have a size of its own.
    places = {path.split("/")[0] for path in task.spec.quota_kb}
    if any(entry.name not in places or _holds_files(entry) for entry in workspace.iterdir()):
        raise HemraError(f"workspace {workspace} is not empty; a trial must start in an empty one")
    fixture = task.fixture
    for path, digest in task.files.items():
        if path.startswith(fixture):
            target = workspace / path.removeprefix(fixture)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(pinned_bytes(task, path))
            target.chmod(0o755 if digest.endswith("+x") else 0o644)
    for folder, names, _ in os.walk(workspace):
        for name in names:
            Path(folder, name).chmod(0o755)


async def _drawn(task: Task, workspace: Path, seed: int, chosen: dict[str, Any]) -> dict[str, Any]:
    source, entry = pinned_bytes(task, "prepare.py"), "prepare.py:prepare"
    ran = await run_task_code(source, entry, workspace, seed, timeout_s=TIMEOUT_SECONDS, named=chosen)
    if ran.error:
        raise HemraError(f"task {task.id!r}: prepare.py {ran.error} (seed {seed})")
    if not isinstance(ran.value, dict):
        raise HemraError(f"task {task.id!r}: prepare.py must return a dict, not {ran.text[:80]}")
    return ran.value


def _text(task: Task, path: str) -> str:
    try:
        return pinned_bytes(task, path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise HemraError(f"task {task.id!r}: {path} is not UTF-8 (byte {error.start})") from error


def filled(text: str, values: dict[str, Any], where: str) -> str:
    """`text` with the drawn texts and whole numbers in its placeholders. Raises HemraError, beginning with `where`,
    for one that has no value."""

    def value_of(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if isinstance(value, bool) or not isinstance(value, str | int):
            problem = "has no value" if match[1] not in values else "is neither a text nor a whole number"
            raise HemraError(f"{where}: placeholder {{{{{match[1]}}}}} {problem}; prepare.py must return one")
        return str(value)

    return PLACEHOLDER.sub(value_of, text)


def _settle(workspace: Path) -> None:
    """Give everything one time: what the clock left behind is not content."""
    for folder, names, files in os.walk(workspace, topdown=False):
        for name in [*names, *files]:
            with contextlib.suppress(NotImplementedError):
                os.utime(Path(folder, name), (_TIME, _TIME), follow_symlinks=False)
    os.utime(workspace, (_TIME, _TIME))


def _blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end from ordinary code, also from a thread whose own event loop is busy calling this."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
