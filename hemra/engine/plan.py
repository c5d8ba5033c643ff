"""A run that can be carried out: everything looked up and checked before the first sandbox starts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from eventlog.schemas.runs import Limits, PlannedDataset, PlannedHarness, PlannedTask, RunPlanned
from hemra.engine import check, limits, mcp, network
from hemra.engine.harness_files import harness_of, installed_of
from hemra.engine.host import describe_host, describe_program
from hemra.engine.models import PlannedModels, planned_models
from hemra.engine.request import RunRequest
from hemra.errors import HemraError, UsageError, combined
from hemra.sandboxes.scratch import scratch_parent

if TYPE_CHECKING:
    from eventlog.store import Store
    from harnesses.base import Harness
    from hemra.datasets.model import Dataset, Task


@dataclass(frozen=True)
class ChosenHarness:
    """A harness of a plan: what it was asked for as (`ref`), and the version that it says it has."""

    ref: str
    harness: Harness
    version: str | None = None


@dataclass(frozen=True)
class Plan:
    """A run that was checked. `warnings` are lines that a person should see before it starts; `sandboxes` those of
    tasks that have their own, by id; `models` what it says of the models behind its harnesses."""

    request: RunRequest
    dataset: Dataset
    tasks: list[Task]
    harnesses: list[ChosenHarness]
    warnings: list[str] = field(default_factory=list)
    sandboxes: dict[str, str] = field(default_factory=dict)
    models: PlannedModels = field(default_factory=PlannedModels)

    @property
    def trials(self) -> int:
        """How many trials it has."""
        return len(self.tasks) * len(self.harnesses) * self.request.attempts

    def recorded(self, run: str) -> RunPlanned:
        """The plan as it is written into the log under the id `run`."""
        request, models = self.request, self.models
        return RunPlanned(
            run=run, name=request.name,
            dataset=PlannedDataset(
                name=self.dataset.name, digest=self.dataset.digest, source=self.dataset.source
            ),
            tasks=[
                PlannedTask(
                    id=task.id, digest=task.digest, scorer_digest=task.scorer_digest,
                    sandbox=self.sandboxes.get(task.id),
                )
                for task in self.tasks
            ],
            harnesses=[
                PlannedHarness(
                    name=chosen.harness.name, kind=chosen.harness.kind, digest=chosen.harness.digest,
                    definition=chosen.harness.definition, version=chosen.version,
                    installed=installed_of(chosen.harness),
                )
                for chosen in self.harnesses
            ],
            attempts=request.attempts, trials=self.trials, jobs=request.jobs, sandbox=request.sandbox,
            seed=request.seed, retries=request.retries, limits=request.limits,
            hemra=describe_program() | {"harness_files": {c.harness.name: c.ref for c in self.harnesses}},
            host=describe_host(), record_cassette=request.record_cassette, cassette=models.cassette,
            prices=models.prices.recorded() if models.prices else None, network=request.network,
        )  # fmt: skip

    def longest_seconds(self) -> float | None:
        """Upper bound of the time that harnesses may run, all jobs busy; null where a task has no limit."""
        walls = [
            limits.merge(task.spec.limits.as_limits(), self.request.limits).wall_seconds
            for task in self.tasks
        ]
        known = [wall for wall in walls if wall is not None]
        if len(known) < len(walls):
            return None
        each = sum(known) * len(self.harnesses) * self.request.attempts
        return max(each / self.request.jobs, max(known, default=0.0))

    def describe(self) -> dict[str, Any]:
        """The plan as a JSON document, for `--dry-run`."""
        recorded = self.recorded("")
        return {
            "schema": "hemra.plan/1",
            "name": recorded.name,
            "dataset": {"name": recorded.dataset.name, "digest": recorded.dataset.digest,
                        "source": recorded.dataset.source},
            "tasks": [task.id for task in recorded.tasks],
            "harnesses": [
                {"name": h.name, "kind": h.kind, "version": h.version, "digest": h.digest}
                for h in recorded.harnesses
            ],
            "attempts": recorded.attempts,
            "trials": recorded.trials,
            "jobs": recorded.jobs,
            "sandbox": recorded.sandbox,
            "network": recorded.network,
            "seed": recorded.seed,
            "retries": recorded.retries,
            "limits": {name: getattr(recorded.limits, name) for name in Limits.__struct_fields__},
            "longest_seconds": self.longest_seconds(),
            "record_cassette": recorded.record_cassette,
            "cassette": msgspec.to_builtins(recorded.cassette),
            "prices": self.models.prices.label if self.models.prices else None,
            "warnings": self.warnings,
        }  # fmt: skip


def make_plan(store: Store, request: RunRequest) -> Plan:
    """Look everything up and check it; nothing is written and no sandbox starts.

    A single problem keeps its own error (and exit code); several are listed in one UsageError.
    """
    problems: list[HemraError] = [UsageError(text) for text in check.numbers(request)]
    dataset, tasks = _tasks(store, request, problems)
    sandbox, weaker, sandboxes = _sandboxes(request, tasks, problems)
    elsewhere = check.brings_programs([sandbox, *sandboxes.values()])
    harnesses = _harnesses(request, problems, elsewhere=elsewhere)
    problems += [UsageError(text) for text in check.size(request, len(tasks))]
    problems += [UsageError(text) for text in check.limits_of_tasks(tasks, request.limits)]
    problems += [UsageError(text) for text in check.placeholders(tasks)]
    problems += [UsageError(text) for text in check.harnesses_for_tasks(harnesses, tasks)]
    problems += [UsageError(text) for text in mcp.problems(harnesses, tasks, elsewhere=elsewhere)]
    problems += [UsageError(text) for text in network.conflicts(request.network, harnesses, tasks)]
    models = planned_models(store, request, tasks, harnesses, problems)
    problems += [HemraError(text) for text in check.disk_space([store.path, scratch_parent()])]
    if problems or dataset is None:
        raise combined(problems)
    versions, warnings = check.versions(harnesses, elsewhere=elsewhere)
    warnings += [*models.warnings, *network.remarks(request.network, harnesses, tasks)]
    if weaker is not None:
        warnings.append(f"trials run in the {sandbox} sandbox: {weaker}")
    chosen = [
        ChosenHarness(_absolute(ref), harness, version)
        for ref, harness, version in zip(request.harnesses, harnesses, versions, strict=True)
    ]
    return Plan(replace(request, sandbox=sandbox), dataset, tasks, chosen, warnings, sandboxes, models)


def _sandboxes(
    request: RunRequest, tasks: list[Task], problems: list[HemraError]
) -> tuple[str, str | None, dict[str, str]]:
    """The run's sandbox, why a stronger one was not chosen, and those of tasks that have their own.

    A sandbox that the run names is every task's.
    """
    from hemra.sandboxes.registry import AUTO, choose

    sandbox, weaker = choose(request.sandbox)
    own = {task.id: task.spec.sandbox for task in tasks if task.spec.sandbox is not None}
    if request.sandbox != AUTO:
        own = {}
    for kind in dict.fromkeys([sandbox, *own.values()]):
        problems += [UsageError(text) for text in check.sandbox_kind(kind)]
    return sandbox, weaker, own


def _tasks(
    store: Store, request: RunRequest, problems: list[HemraError]
) -> tuple[Dataset | None, list[Task]]:
    from hemra.datasets.load import load_dataset, select
    from hemra.datasets.pins import check_pinned

    dataset = None
    try:
        dataset = load_dataset(request.dataset, store)
        tasks = select(dataset, request.tasks)
        check_pinned(store, dataset, tasks, request.tasks)
    except HemraError as error:
        problems.append(error)
        return dataset, []
    return dataset, tasks


def _harnesses(request: RunRequest, problems: list[HemraError], *, elsewhere: bool) -> list[Harness]:
    loaded: list[Harness] = []
    for ref in request.harnesses:
        try:
            loaded.append(harness_of(ref))
        except HemraError as error:
            problems.append(error)
    problems += [UsageError(text) for text in check.harness_names(loaded, elsewhere=elsewhere)]
    return loaded


def _absolute(ref: str) -> str:
    """A harness file by its full path, so that the run can be resumed from any folder."""
    from harnesses.registry import BUILTIN

    return ref if ref in BUILTIN else str(Path(ref).expanduser().absolute())
