"""What must be right before the first sandbox starts. Every check gives lines, none stops at the first."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from eventlog.schemas.runs import Limits
from hemra.engine import limits
from hemra.engine.request import RunRequest
from hemra.errors import HemraError
from hemra.installing.version import ask_version
from hemra.sandboxes.scratch import scratch_parent

if TYPE_CHECKING:
    from harnesses.base import Harness
    from hemra.datasets.model import Task

#: With less than this free at the start, a run is refused. Bytes.
LEAST_FREE = 8 << 20
#: So many trials at the same time at most: beyond it a machine is busy with starting and watching them.
MOST_JOBS = 256
#: So many trials in one run at most; its plan is held in memory.
MOST_TRIALS = 1_000_000
#: So often at most is a trial run again; what fails as often is no chance.
MOST_RETRIES = 100
#: Seeds lie between this and its negative: readers of JSON that keep numbers as doubles have them exactly.
MOST_SEED = (1 << 53) - 1
#: How harnesses say that a program is not on this machine.
_MISSING_PROGRAM = "is not on PATH"
#: With less than this free in the store, no further trial starts: room to write the end down. Bytes.
RESERVE = 3 << 20


def free_bytes(path: Path) -> int:
    """Free space for this user on the file system that holds `path`."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


def all_but_full(path: Path) -> bool:
    """Whether less than `RESERVE` is free there; False where that cannot be told."""
    try:
        return free_bytes(path) < RESERVE
    except OSError:
        return False


def numbers(request: RunRequest) -> list[str]:
    """Counts and run limits that make no sense."""
    found = []
    if request.attempts < 1:
        found.append(f"--attempts {request.attempts}: at least 1 attempt is needed")
    found += jobs(request.jobs)
    if request.retries < 0:
        found.append(f"--retries {request.retries}: 0 means that no trial is run again")
    elif request.retries > MOST_RETRIES:
        found.append(f"--retries {request.retries}: at most {MOST_RETRIES}, from 0")
    if abs(request.seed) > MOST_SEED:
        found.append(f"--seed {request.seed}: a seed is from {-MOST_SEED} to {MOST_SEED}")
    if not request.harnesses:
        found.append(
            "no harness: name at least one with --harness (`hemra harness list` shows the built-in ones)"
        )
    return found + limits.problems(request.limits, whose="this run")


def jobs(count: int) -> list[str]:
    """Why so many trials cannot run at the same time."""
    if count < 1:
        return [f"--jobs {count}: at least 1 job is needed"]
    if count > MOST_JOBS:
        return [f"--jobs {count}: at most {MOST_JOBS} trials run at the same time"]
    return []


def size(request: RunRequest, tasks: int) -> list[str]:
    """Why a run of so many trials cannot be planned."""
    trials = tasks * len(request.harnesses) * request.attempts
    if trials <= MOST_TRIALS:
        return []
    return [f"--attempts {request.attempts}: {trials} trials are more than a run can have ({MOST_TRIALS})"]


def placeholders(tasks: Sequence[Task]) -> list[str]:
    """Placeholders of tasks that nothing can fill. Those of a task with a prepare.py show at its trials."""
    from hemra.datasets.prepare import never_filled

    return [line for task in tasks for line in never_filled(task)]


def limits_of_tasks(tasks: Sequence[Task], run: Limits) -> list[str]:
    """Limits of tasks that make no sense once the run's own are put over them."""
    if limits.problems(run, whose="this run"):
        return []  # told already, and not once for every task
    return [
        line
        for task in tasks
        for line in limits.problems(limits.merge(task.spec.limits.as_limits(), run), whose=f"task {task.id}")
    ]


def of_task(task: Task) -> list[str]:
    """What keeps every run from taking a task as it stands, whatever else the run asks for, one line each. What
    preparing it shows (placeholders that nothing fills) is not among it."""
    found = limits_of_tasks([task], Limits())
    own = task.spec.sandbox
    return found if own is None else found + [f"sandbox: {text}" for text in sandbox_name(own)]


def of_harness(harness: Harness, *, elsewhere: bool = False) -> list[str]:
    """What is wrong with a harness. `elsewhere`: its programs come from an image, so that none has to be on this
    machine's PATH; one that the image does not have either is told when it is to be started."""
    return [text for text in harness.problems() if not (elsewhere and _MISSING_PROGRAM in text)]


def harness_alone(harness: Harness) -> list[str]:
    """Everything for which a run would refuse a harness, whatever its tasks, one line each."""
    return [*of_harness(harness), *unusable_words(harness), *endpoint(harness)]


def endpoint(harness: Harness) -> list[str]:
    """Why the endpoint of its model cannot be used, or its key not be had."""
    from hemra.gateway.keys import problems

    upstream = harness.traits.upstream
    return [] if upstream is None else problems(upstream)


def brings_programs(sandboxes: Iterable[str]) -> bool:
    """Whether programs come from an image in all of these sandboxes (`KIND[:OPTION]`)."""
    from hemra.sandboxes.registry import class_of, split

    try:
        return all(class_of(split(ref)[0]).traits.brings_programs for ref in sandboxes)
    except HemraError:
        return False  # told where the sandbox is looked at


def harness_names(harnesses: Sequence[Harness], *, elsewhere: bool = False) -> list[str]:
    """What is wrong with each harness, and names that two of them share. `elsewhere`: see `of_harness`."""
    found = []
    for harness in harnesses:
        own = [*of_harness(harness, elsewhere=elsewhere), *unusable_words(harness)]
        found += [f"harness {harness.name}: {text}" for text in own]
    for name, count in Counter(harness.name for harness in harnesses).items():
        if count > 1:
            found.append(f"{count} harnesses are named {name}; results are told apart by name: rename one")
    return found


def unusable_words(harness: Harness) -> list[str]:
    """Words of its commands that no program can be given."""
    return [
        f"{part}: a word cannot hold a NUL character: {word!r}"
        for part in ("command", "version_command")
        for word in harness.definition.get(part) or ()
        if "\0" in word
    ]


def harnesses_for_tasks(harnesses: Sequence[Harness], tasks: Sequence[Task]) -> list[str]:
    """Tasks that a harness cannot be run on."""
    unsolved = [task.id for task in tasks if "solution/solve.py" not in task.files]
    if not unsolved:
        return []
    few = ", ".join(unsolved[:3]) + (f" and {len(unsolved) - 3} more" if len(unsolved) > 3 else "")
    return [
        f"harness {harness.name} applies reference solutions, and these tasks have none: {few}"
        for harness in harnesses
        if harness.needs_solution
    ]


def sandbox_name(ref: str) -> list[str]:
    """Why there can be no sandbox `KIND[:OPTION]`, on whatever machine."""
    from hemra.sandboxes.registry import class_of, split

    try:
        class_of(split(ref)[0])
    except HemraError as error:
        return [str(error)]
    return []


def sandbox_kind(kind: str) -> list[str]:
    """Why sandboxes of this kind cannot be used here: one is made, and removed again."""
    from hemra.sandboxes.base import SandboxSpec
    from hemra.sandboxes.registry import open_sandbox, why_not

    try:
        problem = why_not(kind)
        if problem is not None:
            return [f"sandbox {kind}: {problem}"]
    except HemraError as error:
        return [str(error)]
    spec = SandboxSpec(
        run=f"check-{os.getpid()}", trial="0000", try_no=1, limits=Limits(), root=scratch_parent()
    )

    async def probe() -> None:
        sandbox = open_sandbox(kind, spec)
        try:
            await sandbox.create()
        finally:
            await sandbox.destroy()

    try:
        asyncio.run(probe())
    except (HemraError, OSError) as error:
        return [str(error)]
    return []


def disk_space(places: Sequence[Path]) -> list[str]:
    """File systems that are all but full."""
    found = []
    for place in places:
        try:
            free = free_bytes(place)
        except OSError as error:
            found.append(f"{place} cannot be used: {error.strerror}")
            continue
        if free < LEAST_FREE:
            found.append(
                f"only {free / 1e6:.1f} MB are free at {place}; make room "
                f"(at least {LEAST_FREE / 1e6:.0f} MB) or use another place"
            )
    return found


def versions(harnesses: Sequence[Harness], *, elsewhere: bool = False) -> tuple[list[str | None], list[str]]:
    """The version that each harness says it has (null: it says none), and a warning for each that failed.

    `elsewhere`: the program is an image's, of which the one on this machine, if there is any, says nothing.
    """
    if elsewhere:
        return [None] * len(harnesses), [
            f"harness {harness.name}: its version is not known: its program is the image's"
            for harness in harnesses
            if harness.version_argv
        ]
    asked = [(harness, harness.version_argv) for harness in harnesses]
    with ThreadPoolExecutor(max_workers=8, thread_name_prefix="version") as pool:
        answers = list(pool.map(lambda pair: ask_version(pair[1]) if pair[1] else None, asked))
    warnings = [
        f"harness {harness.name}: its version is not known: {answer.problem}"
        for (harness, _), answer in zip(asked, answers, strict=True)
        if answer is not None and answer.problem is not None
    ]
    return [answer.version if answer else None for answer in answers], warnings
