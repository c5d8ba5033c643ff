"""Whether the files of tasks are still as they were pinned, and as git has them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hemra.datasets.load import BUNDLED_NAME, load_dataset
from hemra.datasets.model import BUNDLED, Dataset
from hemra.datasets.pins import differences, newest_pins
from hemra.errors import HemraError

if TYPE_CHECKING:
    from eventlog.schemas.runs import DatasetPinned
    from eventlog.store import Store

_GIT_SECONDS = 30
_STATES = {"M": "changed", "D": "missing", "?": "added", "A": "added", "R": "renamed", "T": "changed"}


@dataclass(frozen=True)
class Integrity:
    """What was found of one dataset. `pinned`, `tracked`: what there was to compare it with."""

    name: str
    source: str
    pinned: bool
    tracked: bool
    problems: list[str]


def differing(store: Store | None, ref: str | None) -> list[Integrity]:
    """The dataset `ref`, or without one the bundled suite and everything pinned in the store."""
    pins = newest_pins(store) if store is not None else {}
    if ref is not None:
        dataset = load_dataset(ref, store)
        return [_of(dataset, pins.get((dataset.name, dataset.source)))]
    found = []
    if (BUNDLED_NAME, BUNDLED) not in pins:
        found.append(_of(load_dataset(BUNDLED_NAME), None))
    for (name, source), pin in pins.items():
        try:
            dataset = load_dataset(name if source == BUNDLED else source, store)
        except HemraError as error:
            found.append(Integrity(name, source, True, False, str(error).splitlines()))
            continue
        found.append(_of(dataset, pin))
    return found


def _of(dataset: Dataset, pin: DatasetPinned | None) -> Integrity:
    problems = []
    if pin is not None:
        there = {task.id for task in dataset.tasks}
        problems += [f"not as pinned: {text}" for text in differences(pin, dataset.tasks)]
        problems += [f"not as pinned: task {t.id!r} is gone" for t in pin.tasks if t.id not in there]
    told = _git(dataset.root)
    problems += [] if told is None else [f"not as in git: {text}" for text in told]
    return Integrity(dataset.name, dataset.source, pin is not None, told is not None, problems)


def _git(root: Path) -> list[str] | None:
    """What git says differs below `root`; None where there is no git, or nothing of it is tracked."""
    if shutil.which("git") is None or not (tracked := _ask(root, "ls-files", "--", ".")):
        return None
    told = _ask(root, "status", "--porcelain", "-z", "--untracked-files=all", "--", ".")
    return None if tracked is None or told is None else list(_states(told))


def _states(told: bytes) -> Iterator[str]:
    entries = iter(told.split(b"\0"))
    for entry in entries:
        if entry:
            state = entry[:2].decode("ascii").strip()[:1]
            yield f"{_STATES.get(state, 'changed')} {entry[3:].decode('utf-8', 'replace')}"
            if state == "R":
                next(entries, None)  # the name that it had


def _ask(root: Path, *words: str) -> bytes | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "-c", "core.fsmonitor=false", "--no-optional-locks", *words],
            capture_output=True, timeout=_GIT_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
