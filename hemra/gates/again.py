"""Preparing a trial outside a run: by task and seed, or again as a trial that was run."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hemra.datasets.load import load_dataset
from hemra.datasets.model import BUNDLED, PLACEHOLDER, Task
from hemra.datasets.prepare import draw, pinned_bytes, tell
from hemra.errors import DatasetChanged, HemraError, NotFound, UsageError
from hemra.services.attendants import CORPUS, pages_of

if TYPE_CHECKING:
    from eventlog.store import Store


@dataclass(frozen=True)
class Recorded:
    """A trial as its run recorded it."""

    task: str
    task_digest: str
    dataset: str
    seed: int
    instruction: str
    values: dict[str, Any]


@dataclass(frozen=True)
class Made:
    """What was prepared: `folder` holds workspace/, instruction.md, values.json, and web/ where there is one."""

    task: Task
    seed: int
    folder: Path
    instruction: str
    values: dict[str, Any]

    def facts(self) -> dict[str, Any]:
        """Where it is and what it was made of."""
        return {
            "task": self.task.id, "digest": self.task.digest, "seed": self.seed,
            "workspace": str(self.folder / "workspace"),
        }  # fmt: skip


def prepare_task(task: Task, seed: int, folder: Path, known: dict[str, Any] | None = None) -> Made:
    """Prepare a trial of the task. `known` are values that only services and world give, from the record; without
    them their placeholders stay. Raises UsageError for a folder that is not empty, HemraError as preparing does."""
    folder = folder.expanduser().absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder; name another with -o")
    workspace = folder / "workspace"
    workspace.mkdir(parents=True)
    instruction, values = asyncio.run(_prepared(task, seed, workspace, folder, known or {}))
    (folder / "instruction.md").write_text(instruction + "\n", encoding="utf-8", newline="\n")
    text = json.dumps(values, indent=2, ensure_ascii=False, sort_keys=True)
    (folder / "values.json").write_text(text + "\n", encoding="utf-8", newline="\n")
    return Made(task, seed, folder, instruction, values)


async def _prepared(
    task: Task, seed: int, workspace: Path, folder: Path, known: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    values = await draw(task, workspace, seed)
    if task.spec.services.web is not None:
        for path, content in pages_of(task, workspace, values.pop(CORPUS, None)).items():
            (folder / "web" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "web" / path).write_bytes(content)
    values |= {name: value for name, value in known.items() if name not in values}
    source = pinned_bytes(task, task.spec.instruction).decode("utf-8")
    unknown = {name: f"{{{{{name}}}}}" for name in PLACEHOLDER.findall(source) if name not in values}
    if unknown and not (task.spec.world or task.spec.services.web):
        unknown = {}  # then it is a mistake of the task, and told as one
    prepared = await tell(task, workspace, values | unknown)
    return prepared.instruction, values


def recorded_trial(store: Store, run: str, trial: str) -> Recorded:
    """The trial's newest start, and its task as it was planned. Raises NotFound."""
    from eventlog.reader import read, resolve

    planned = next(iter(read(store, run, types=("run.planned",))), None)
    queued = next(iter(read(store, run, types=("trial.queued",), trials=[trial])), None)
    starts = list(read(store, run, types=("trial.started",), trials=[trial]))
    if planned is None or queued is None or not starts:
        raise NotFound(f"no trial {trial!r} of run {run} was started")
    plan, data = resolve(store, planned.data), resolve(store, starts[-1].data)
    dataset = plan["dataset"]
    return Recorded(
        task=data["task"], task_digest=queued.data["task_digest"], seed=data["seed"],
        dataset=dataset["name"] if dataset["source"] == BUNDLED else dataset["source"],
        instruction=data["instruction"], values=data["values"],
    )  # fmt: skip


def prepare_again(store: Store, trial: Recorded, folder: Path) -> Made:
    """Prepare a trial that was run. Raises DatasetChanged when its task is another now, HemraError when what comes
    out is not what was recorded (then prepare.py draws from something else than its seed)."""
    found = [task for task in load_dataset(trial.dataset, store).tasks if task.id == trial.task]
    if not found:
        raise NotFound(f"task {trial.task!r} is not in dataset {trial.dataset} any more")
    if found[0].digest != trial.task_digest:
        raise DatasetChanged(
            f"task {trial.task!r} is not what was run (digest {found[0].digest[:12]}, then {trial.task_digest[:12]}); "
            "put it back to prepare the trial again"
        )
    made = prepare_task(found[0], trial.seed, folder, trial.values)
    differing = [name for name, value in made.values.items() if trial.values.get(name, value) != value]
    if differing or _spaces(made.instruction) != _spaces(trial.instruction):
        shutil.rmtree(made.folder)
        what = ", ".join(differing) or "the instruction"
        raise HemraError(f"task {trial.task!r} with seed {trial.seed} gave another {what} than was recorded")
    return made


def _spaces(text: str) -> str:
    return re.sub(r"\s+", " ", text)
