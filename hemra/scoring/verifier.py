"""Asking a task's verifier, in a fresh process that nothing of the trial can reach."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hemra.datasets.beside import beside
from hemra.datasets.model import Task
from hemra.datasets.prepare import pinned_bytes
from hemra.datasets.taskcode import run_task_code
from hemra.errors import DatasetChanged
from hemra.sandboxes.base import SandboxError
from hemra.scoring.contract import ContractError, Score, check, failed


async def score(
    task: Task,
    workspace: Path,
    trace: dict[str, Any],
    timeout_s: float | None = None,
    also: Sequence[Path] = (),
) -> Score:
    """What `verify(workspace, trace)` of the task says; a VERIFIER_ERROR for everything else that happens.

    The verifier's bytes must be the pinned ones. `timeout_s` is the task's own limit when null; `also` are folders
    that it may look into beside the workspace, such as the trial's HOME. Only cancellation is raised, after the
    process and all it started are gone.
    """
    started = time.monotonic_ns()
    limit = task.spec.verifier.timeout_seconds if timeout_s is None else timeout_s
    try:
        source = pinned_bytes(task, task.spec.verifier.file)
        ran = await run_task_code(
            source,
            task.spec.verifier.entry,
            workspace,
            trace,
            timeout_s=limit,
            beside=beside(source),
            also=also,
        )
    except DatasetChanged as error:
        return failed(str(error), time.monotonic_ns() - started)
    except (OSError, SandboxError) as error:
        return failed(f"the verifier could not be started: {error}", time.monotonic_ns() - started)
    if ran.error:
        return failed(f"the verifier {ran.error}", ran.duration_ns, raw=ran.text, printed=ran.printed)
    try:
        status, value, reason, details = check(ran.value)
    except ContractError as error:
        return failed(str(error), ran.duration_ns, raw=ran.text, printed=ran.printed)
    return Score(status, value, reason, details, ran.duration_ns)
