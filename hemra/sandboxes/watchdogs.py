"""Limits that no kernel holds for us, or of which it only says that it had to: wall and CPU time, memory, number
of processes, size of the trial's folders.

Each watch ends by itself when its limit is passed, having said so once; it is cancelled when the program
ends first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import LimitFired
from hemra.sandboxes.base import OnSample
from hemra.sandboxes.cgroups import Group
from hemra.sandboxes.files import folder_bytes
from hemra.telemetry.sampler import SAMPLES_PER_SECOND, TreeSampler

Fire = Callable[[LimitFired], None]

#: Between two looks when a limit hangs on them: a forking program makes a thousand processes in 0.2 s.
CLOSE_WATCH_SECONDS = 0.05
#: Between two looks at the size of folders, or ten times as long as the look took, if that is more.
WORKSPACE_SECONDS = 0.5


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


async def watch_workspace(folders: Sequence[Path], limit: int, fire: Fire) -> None:
    """Look twice a second, or more rarely where looking is slow, and fire when the folders are too large."""
    while True:
        await asyncio.sleep(WORKSPACE_SECONDS)
        start = time.monotonic()
        size = await asyncio.to_thread(folder_bytes, folders)
        if size > limit:
            fire(LimitFired(name="workspace_bytes", value=limit, measured=size, unit="bytes"))
            return
        await asyncio.sleep(10 * (time.monotonic() - start))


async def watch_cpu(seconds: float, used_ns: Callable[[], int | None], fire: Fire) -> None:
    """Fire when more CPU time was used than `seconds` of it."""
    while True:
        used = used_ns()
        if used is not None and used > seconds * 1e9:
            fire(LimitFired(name="cpu_seconds", value=seconds, measured=used / 1e9, unit="seconds"))
            return
        # A machine has so many CPUs that it is never long until the rest is used.
        await asyncio.sleep(CLOSE_WATCH_SECONDS)


async def watch_group(group: Group, fire: Fire) -> None:
    """Fire when the kernel had to hold a limit of the trial's control group."""
    while True:
        fired = group.fired()
        if fired is not None:
            fire(fired)
            return
        await asyncio.sleep(CLOSE_WATCH_SECONDS)
