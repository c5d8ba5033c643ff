"""Asking the scorer about a try, with a trace that is read back from the log: only what is recorded counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harnesses.base import Harness
    from hemra.engine.context import Job, RunContext, TrialLog
    from hemra.scoring.contract import Score


async def ask_scorer(
    context: RunContext,
    job: Job,
    log: TrialLog,
    workspace: Path,
    *,
    start: int,
    outcome: str,
    also: Sequence[Path] = (),
) -> Score:
    """The scorer's word on what the events of the trial from `start` on, the workspace and the folders `also`
    show."""
    from hemra.scoring.verifier import score

    await log.settle()
    trace = await context.in_thread(_trace, context, job, start, outcome)
    return await score(job.task, workspace, trace, also=also)


def _trace(context: RunContext, job: Job, start: int, outcome: str) -> dict[str, Any]:
    from eventlog.reader import read, resolve
    from hemra.scoring.trace import build_trace

    store = context.store
    return build_trace(
        read(store, context.run, start=start, trials=[job.trial]),
        lambda value: resolve(store, value),
        tools_recorded=tells_tools(job.harness),
        outcome=outcome,
    )


def tells_tools(harness: Harness) -> bool | None:
    """Whether it is told which tools a harness calls, by itself or by the gateway, even when it calls none; null: it
    shows by telling one."""
    if harness.records_tools or harness.traits.upstream is not None:
        return True
    return False if harness.kind == "command" else None
