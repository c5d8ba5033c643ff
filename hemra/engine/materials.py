"""What a recorded plan is carried out with: its tasks and harnesses, proven to be those that were planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from eventlog.schemas.runs import PlannedHarness, RunPlanned
from hemra.engine import check, limits
from hemra.engine.context import Job
from hemra.engine.harness_files import harness_of
from hemra.engine.state import RunState, TrialState
from hemra.errors import DatasetChanged, HemraError, NotFound, UsageError, combined
from hemra.secrets import Redactor

if TYPE_CHECKING:
    from eventlog.store import Store
    from harnesses.base import Harness
    from hemra.datasets.model import Task
    from hemra.engine.plan import Plan


@dataclass(frozen=True)
class Materials:
    """Tasks by id and harnesses by name; the sandboxes of tasks that have their own, by id of the task."""

    tasks: dict[str, Task]
    harnesses: dict[str, Harness]
    sandboxes: dict[str, str] = field(default_factory=dict)

    def job(self, planned: RunPlanned, trial: TrialState) -> Job:
        """The trial, ready to be carried out."""
        task = self.tasks[trial.queued.task]
        return Job(
            trial=trial.trial,
            attempt=trial.queued.attempt,
            seed=trial.queued.seed,
            task=task,
            harness=self.harnesses[trial.queued.harness],
            limits=limits.merge(task.spec.limits.as_limits(), planned.limits),
            sandbox=self.sandboxes.get(task.id),
        )

    def redactors(self, keys: Mapping[str, dict[str, str]]) -> dict[str, Redactor]:
        """What must not be recorded of each harness: its own secrets, and `keys`, those of its upstream."""
        return {
            name: Redactor(harness.secrets() | keys.get(name, {})) for name, harness in self.harnesses.items()
        }


def of_plan(plan: Plan) -> Materials:
    """The tasks and harnesses that were just planned."""
    return Materials(
        {task.id: task for task in plan.tasks},
        {chosen.harness.name: chosen.harness for chosen in plan.harnesses},
        plan.sandboxes,
    )


def reload(store: Store, state: RunState) -> Materials:
    """Find everything that the recorded plan names again.

    Raises one error that lists every task and harness that is gone or is not what was planned: a run is
    finished with what it was begun with, or not at all.
    """
    problems: list[HemraError] = []
    tasks = _tasks(store, state.plan, problems)
    harnesses = _harnesses(state.plan, problems)
    sandboxes = {task.id: task.sandbox for task in state.plan.tasks if task.sandbox is not None}
    kinds = dict.fromkeys([state.plan.sandbox, *sandboxes.values()])
    problems += [UsageError(text) for kind in kinds for text in check.sandbox_kind(kind)]
    if problems:
        raise combined(problems)
    return Materials(tasks, harnesses, sandboxes)


def _tasks(store: Store, planned: RunPlanned, problems: list[HemraError]) -> dict[str, Task]:
    from hemra.datasets.load import load_dataset
    from hemra.datasets.model import BUNDLED

    dataset = planned.dataset
    try:
        now = load_dataset(dataset.name if dataset.source == BUNDLED else dataset.source, store)
    except HemraError as error:
        problems.append(error)
        return {}
    found = {task.id: task for task in now.tasks}
    changed = []
    for task in planned.tasks:
        here = found.get(task.id)
        if here is None:
            changed.append(f"task {task.id!r} is gone")
        elif here.digest != task.digest:
            changed.append(_what_changed(store, planned, here))
        elif here.scorer_digest != task.scorer_digest:
            changed.append(f"task {task.id!r} would be scored by another version of hemra_verifier")
    if changed:
        problems.append(
            DatasetChanged(
                f"dataset {dataset.name!r} is not what run {planned.run} was planned with: "
                f"{'; '.join(changed)}. Put it back to resume, or start a new run"
            )
        )
    return {task.id: found[task.id] for task in planned.tasks if task.id in found}


def _what_changed(store: Store, planned: RunPlanned, now: Task) -> str:
    """One phrase that names the files, where the pin of that time is still in the catalog."""
    from eventlog.reader import read, resolve
    from eventlog.schemas.runs import DatasetPinned
    from hemra.datasets.pins import CATALOG, differences

    if store.stream_path(CATALOG).is_dir():
        for event in read(store, CATALOG, types=("dataset.pinned",)):
            if event.data["name"] == planned.dataset.name and event.data["digest"] == planned.dataset.digest:
                pinned = msgspec.convert(resolve(store, event.data), DatasetPinned)
                return "; ".join(differences(pinned, [now]))
    return f"task {now.id!r} has another content (in {now.path})"


def _harnesses(planned: RunPlanned, problems: list[HemraError]) -> dict[str, Harness]:
    files: dict[str, str] = planned.hemra.get("harness_files") or {}
    elsewhere = _elsewhere(planned)
    loaded = {}
    for harness in planned.harnesses:
        try:
            ref = files.get(harness.name, harness.name)
            loaded[harness.name] = _same_harness(harness, ref, planned.run, elsewhere=elsewhere)
        except HemraError as error:
            problems.append(error)
    return loaded


def _elsewhere(planned: RunPlanned) -> bool:
    """Whether the programs of all trials come from images."""
    return check.brings_programs([planned.sandbox, *(task.sandbox for task in planned.tasks if task.sandbox)])


def _same_harness(planned: PlannedHarness, ref: str, run: str, *, elsewhere: bool) -> Harness:
    try:
        now = harness_of(ref)
    except NotFound as error:
        raise NotFound(
            f"harness {planned.name} of run {run} was read from {ref}: {error}. Put it back to resume"
        ) from error
    if now.digest != planned.digest:
        raise UsageError(
            f"harness {planned.name} is not what run {run} was planned with: {ref} was changed "
            f"(digest {now.digest[:19]}, planned {planned.digest[:19]}). "
            "Put it back to resume, or start a new run"
        )
    problems = check.of_harness(now, elsewhere=elsewhere)
    if problems:
        raise UsageError("; ".join(problems))
    return now


def version_changes(planned: RunPlanned, materials: Materials) -> list[tuple[str, str]]:
    """(code, line) for every harness that now tells another version than when the run was planned, or none."""
    harnesses = list(materials.harnesses.values())
    now, unknown = check.versions(harnesses, elsewhere=_elsewhere(planned))
    then = {harness.name: harness.version for harness in planned.harnesses}
    changed = [
        f"harness {harness.name} says it is version {version}; the run was planned with {then[harness.name]}"
        for harness, version in zip(harnesses, now, strict=True)
        if version is not None and version != then[harness.name]
    ]
    return [
        *(("harness_version_changed", text) for text in changed),
        *(("harness_version_unknown", text) for text in unknown),
    ]
