"""Where a trial runs: the sandbox's spec, from what its task and its harness need and what nobody may see."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from eventlog.schemas.trials import Enforcement, SandboxCreated
from harnesses.base import Needs
from hemra.datasets.mcp import files_of
from hemra.engine.mcp import programs_of
from hemra.engine.network import network_of
from hemra.sandboxes import needs as machine
from hemra.sandboxes.base import Endpoint, LoginFile, SandboxSpec

if TYPE_CHECKING:
    from hemra.datasets.model import Task
    from hemra.engine.context import Job, RunContext
    from hemra.sandboxes.base import Sandbox


def spec_of(context: RunContext, job: Job, try_no: int, reach: Sequence[Endpoint] = ()) -> SandboxSpec:
    """The spec of the sandbox for one try. `reach`: the services of this trial, its model gateway among them."""
    traits, task = job.harness.traits, job.task
    served = traits.upstream is not None
    network = network_of(traits.needs, task, gateway=served, asked=context.network)
    if network == "gateway" and not reach:
        network = "none"
    hidden = hidden_of(context.store.path, task)
    needs = replace(traits.needs, programs=(*traits.needs.programs, *programs_of(task)))
    read_only, masked = shown(needs, hidden)
    return SandboxSpec(
        run=context.run, trial=job.trial, try_no=try_no, limits=job.limits, root=context.root,
        network=network, reach=tuple(dict.fromkeys(reach)), read_only=read_only, hidden=(*hidden, *masked),
        solution=task.path / "solution" if job.harness.needs_solution else None,
        login_files=tuple(LoginFile(*pair) for pair in needs.login_files),
        quotas={path: kib * 1024 for path, kib in task.spec.quota_kb.items()},
        task=task.path, store=context.store.id, task_files=bool(files_of(task)),
    )  # fmt: skip


def created(sandbox: Sandbox, spec: SandboxSpec, enforcement: dict[str, Enforcement]) -> SandboxCreated:
    """What is recorded of a sandbox that was made."""
    return SandboxCreated(
        try_no=spec.try_no, kind=sandbox.kind, workspace=sandbox.inside(sandbox.workspace),
        home=sandbox.inside(sandbox.home), enforcement=enforcement,
        environment=sorted(sandbox.environment()), network=spec.network,
        reach=[str(endpoint) for endpoint in spec.reach] if spec.network == "gateway" else [],
        read_only=[str(path) for path in spec.read_only],
        login_files=[f"~/{login.target}" for login in spec.login_files], details=sandbox.details,
    )  # fmt: skip


def hidden_of(store: Path, task: Task) -> tuple[Path, ...]:
    """What no trial may see: the store, and tasks with their verifiers and solutions."""
    from hemra.datasets.load import bundled_root

    root = task.path.parents[task.id.count("/")]
    places = [store, task.path, *_folders_of_tasks(root), bundled_root()]
    return tuple(dict.fromkeys(path.resolve() for path in places))


@cache
def _folders_of_tasks(root: Path) -> tuple[Path, ...]:
    """Folders in `root` that are tasks or hold some. The root itself may hold a harness too."""
    found = []
    for entry in os.scandir(root):
        if entry.is_dir() and any(_is_task(Path(folder)) for folder, _, _ in islice(os.walk(entry.path), 64)):
            found.append(Path(entry.path))
    return tuple(sorted(found))


def _is_task(folder: Path) -> bool:
    return (folder / "task.yaml").is_file()


def shown(needs: Needs, hidden: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """(files and folders of this machine that a harness needs, outside the system's; what is not to be seen of
    them: what is called `.something` beside its own files, where people keep credentials)."""
    found: dict[Path, None] = {}
    search_path = os.environ.get("PATH", "")
    for program in needs.programs:
        found |= dict.fromkeys(machine.of_program(program, search_path))
    folders = []
    for script in needs.own_files:
        own = machine.own_folder(script, [Path.home(), *hidden])
        folders += [] if own == script else [own]
        found[own] = None
        found |= dict.fromkeys(machine.of_program(str(script), search_path))
    found |= dict.fromkeys(needs.read_only)
    wanted = tuple(path for path in found if not machine.in_system(path))
    dotted = (entry for folder in folders for entry in folder.iterdir() if entry.name.startswith("."))
    return wanted, tuple(entry for entry in dotted if not any(path.is_relative_to(entry) for path in wanted))
