"""Limits that no kernel holds for us: wall time, memory, number of processes, size of the workspace.

Each watch ends by itself when its limit is passed, having said so once; it is cancelled when the program
ends first.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import LimitFired
from hemra.sandboxes.base import OnSample
from hemra.telemetry.sampler import SAMPLES_PER_SECOND, TreeSampler

Fire = Callable[[LimitFired], None]

#: Between two looks when a limit hangs on them: a forking program makes a thousand processes in 0.2 s.
CLOSE_WATCH_SECONDS = 0.05
WORKSPACE_SECONDS = 2.0


async def watch_wall(seconds: float, fire: Fire) -> None:
    """Fire after `seconds` from now."""
    start = time.monotonic()
    await asyncio.sleep(seconds)
    measured = time.monotonic() - start
    fire(LimitFired(name="wall_seconds", value=seconds, measured=measured, unit="seconds"))


async def watch_processes(sampler: TreeSampler, limits: Limits, on_sample: OnSample, fire: Fire) -> None:
    """Sample five times a second, at once first, and fire when memory or processes pass their limit."""
    close = limits.memory_bytes is not None or limits.processes is not None
    pause = CLOSE_WATCH_SECONDS if close else 1 / SAMPLES_PER_SECOND
    due = time.monotonic()
    while True:
        sample = sampler.sample()
        if time.monotonic() >= due:
            on_sample(sample)
            due += 1 / SAMPLES_PER_SECOND
        fired = _processes_over(sample.processes, limits) or _memory_over(sample.rss_bytes, sampler, limits)
        if fired:
            fire(fired)
            return
        await asyncio.sleep(pause)


def _processes_over(count: int | None, limits: Limits) -> LimitFired | None:
    if limits.processes is None or count is None or count <= limits.processes:
        return None
    return LimitFired(name="processes", value=limits.processes, measured=count, unit="processes")


def _memory_over(rss: int | None, sampler: TreeSampler, limits: Limits) -> LimitFired | None:
    if limits.memory_bytes is None or rss is None or rss <= limits.memory_bytes:
        return None
    # The cheap sum counts shared pages once a process; only the exact one may end a trial.
    exact = sampler.shared_once_bytes()
    measured = rss if exact is None else exact
    if measured <= limits.memory_bytes:
        return None
    return LimitFired(name="memory_bytes", value=limits.memory_bytes, measured=measured, unit="bytes")


async def watch_workspace(folder: Path, limit: int, fire: Fire) -> None:
    """Look every two seconds, or more rarely where looking is slow, and fire when the folder is too large."""
    while True:
        await asyncio.sleep(WORKSPACE_SECONDS)
        start = time.monotonic()
        size = await asyncio.to_thread(folder_bytes, folder)
        if size > limit:
            fire(LimitFired(name="workspace_bytes", value=limit, measured=size, unit="bytes"))
            return
        await asyncio.sleep(10 * (time.monotonic() - start))


def folder_bytes(folder: Path) -> int:
    """Bytes on disk of the files below a folder. Links are not followed; what cannot be read is left out."""
    total = 0
    queue = [os.fspath(folder)]
    while queue:
        try:
            entries = os.scandir(queue.pop())
        except OSError:
            continue  # removed meanwhile, or closed to us
        with entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                except OSError:
                    continue  # removed meanwhile
    return total
