"""Finds out what a sandbox enforces on this machine, by trying to get out of a real one.

Everything that is to stay unseen is planted first: a file in the user's home, a store, a task, another trial, a
process, a service, a socket. Then scripts try to get at them from inside, and programs try to pass limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

from eventlog.schemas.runs import Limits
from hemra.sandboxes.attempts import GIVEN, ISOLATION, OUTLIVING, PASSING, WITHIN
from hemra.sandboxes.base import (
    ENFORCEMENTS,
    HELD_AS,
    ExecResult,
    ExecSpec,
    Network,
    Sandbox,
    SandboxError,
    SandboxSpec,
)
from hemra.sandboxes.plants import Plants, planted
from hemra.sandboxes.registry import open_sandbox
from hemra.sandboxes.verdicts import NO, Verdict, of_lines

_MIB = 1 << 20
#: The limit that each program of `PASSING` is to run into.
_LIMITS = {
    "wall_time": Limits(wall_seconds=0.4),
    "cpu_time": Limits(cpu_seconds=0.4),
    "cpus": Limits(cpus=0.25),
    "output": Limits(output_bytes=1 * _MIB),
    "memory": Limits(memory_bytes=64 * _MIB),
    "processes": Limits(processes=20),
    "file_size": Limits(file_bytes=1 * _MIB),
    "workspace_size": Limits(workspace_bytes=8 * _MIB),
}
_MOST_SECONDS = 20.0
#: Programs held to a share of the processors use it up, where others leave them as much as a fifth of it; and the
#: time of their start is counted too.
_LITTLE, _MORE = 5, 1.5
_AT_ONCE = 4


async def probe(ref: str, *, network: Network = "gateway") -> list[Verdict]:
    """Every verdict on the sandbox `ref` (`KIND[:OPTION]`) with this network. Raises SandboxError when there is
    something that keeps a trial from running in it; UsageError when there is no such kind."""
    run = f"probe-{os.getpid()}-{secrets.token_hex(4)}"
    turn = asyncio.Semaphore(_AT_ONCE)

    async def limited(name: str) -> list[Verdict]:
        async with turn:
            return [await _pass_limit(ref, run, name)]

    works = [_isolation(ref, run, network), _cleanup(ref, run), *(limited(name) for name in PASSING)]
    found = await asyncio.gather(*works, return_exceptions=True)
    verdicts: list[Verdict] = []
    for each in found:
        if isinstance(each, BaseException):
            raise each
        verdicts += each
    return sorted(verdicts, key=lambda verdict: list(ENFORCEMENTS).index(verdict.name))


async def _isolation(ref: str, run: str, network: Network) -> list[Verdict]:
    async with planted() as plants, _other_trial(ref, run, plants):
        spec = SandboxSpec(
            run=run, trial="0001", try_no=1, limits=Limits(wall_seconds=_MOST_SECONDS), network=network,
            reach=(plants.given,), read_only=(plants.folder,), hidden=(plants.store, plants.task),
            task=plants.task,
        )  # fmt: skip
        async with _sandbox(ref, spec) as sandbox:
            keeps = sandbox.enforcement()["file_system"].status != NO
            places = " ".join(plants.places) if keeps else ""
            result, text = await _run(sandbox, ISOLATION, plants.variables | {"PLACES": places})
            if result.error is not None:
                raise SandboxError(f"sandbox {ref}: the probe did not run: {result.error}")
            verdicts = of_lines(text)
            if network == "gateway":
                verdicts = await _check_given(sandbox, plants, verdicts)
        touched = plants.touched()
    return [Verdict("file_system", False, touched) if touched and each.name == "file_system" else each
            for each in verdicts]  # fmt: skip


async def _check_given(sandbox: Sandbox, plants: Plants, verdicts: list[Verdict]) -> list[Verdict]:
    """A network that lets nothing through holds everything, but is not the one that was asked for."""
    there = sandbox.address(plants.given)
    _, text = await _run(sandbox, GIVEN, {"GIVEN_HOST": there.host, "GIVEN_PORT": str(there.port)})
    if "@ given 2" in text or await plants.was_reached():
        return verdicts
    broken = Verdict(
        "network", held=False, said=f"what the trial was given ({plants.given}) cannot be reached"
    )
    return [broken if each.name == "network" else each for each in verdicts]


@contextlib.asynccontextmanager
async def _other_trial(ref: str, run: str, plants: Plants) -> AsyncIterator[None]:
    """A second trial, with something in its workspace."""
    spec = SandboxSpec(run=run, trial="0003", try_no=1, limits=Limits(), network="none")
    async with _sandbox(ref, spec) as other:
        await other.put("answer", plants.secret.encode())
        plants.variables["TRIAL_FILE"] = str(other.workspace / "answer")
        yield


async def _cleanup(ref: str, run: str) -> list[Verdict]:
    """Whether something outlives its trial; it is looked for by a number of seconds that nobody else sleeps."""
    seconds = f"7{int.from_bytes(os.urandom(3)):08}"
    spec = SandboxSpec(
        run=run, trial="0002", try_no=1, limits=Limits(wall_seconds=_MOST_SECONDS), network="none"
    )
    async with _sandbox(ref, spec) as sandbox:
        await _run(sandbox, OUTLIVING, {}, seconds)
        await sandbox.stop()
        left = _sleepers(seconds)
    return [Verdict("process_cleanup", not left, f"{len(left)} processes were left" if left else "")]


def _sleepers(seconds: str) -> list[int]:
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            with contextlib.suppress(OSError):
                if seconds.encode() in Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0"):
                    found.append(int(name))
    return found


async def _pass_limit(ref: str, run: str, name: str) -> Verdict:
    """Whether a program that passes a limit is stopped, and for that limit."""
    number = 100 + list(PASSING).index(name)
    spec = SandboxSpec(run=run, trial=f"{number:04}", try_no=1, limits=_LIMITS[name], network="none")
    async with _sandbox(ref, spec) as sandbox:
        result, _ = await _run(sandbox, PASSING[name], {}, limits=_LIMITS[name])
        if (
            name == "file_size"
        ):  # the kernel holds it, and what wrote too much is mostly not the first program
            _, text = await _run(sandbox, WITHIN, {}, str(_LIMITS[name].file_bytes))
            return next(iter(of_lines(text)), Verdict(name, held=None))
    if result.error is not None and not result.started:
        raise SandboxError(f"sandbox {ref}: the probe did not run: {result.error}")
    if name == "cpus":
        return _rationed(result, _LIMITS[name].cpus or 0)
    if result.limit is not None and HELD_AS.get(result.limit.name, result.limit.name) == name:
        return Verdict(name, held=True)
    how = f"exit code {result.exit_code}" if result.exit_code is not None else f"signal {result.exit_signal}"
    fired = f", limit {result.limit.name}" if result.limit is not None else ""
    return Verdict(name, held=False, said=f"it ended with {how}{fired}")


def _rationed(result: ExecResult, cpus: float) -> Verdict:
    """Whether programs that compute all the time got no more of the processors than they may have."""
    if result.cpu_ns is None or not result.duration_ns:
        return Verdict("cpus", held=None)
    used = result.cpu_ns / result.duration_ns
    if used < cpus / _LITTLE:
        return Verdict("cpus", held=None, said="this machine is too busy to tell")
    return Verdict("cpus", used < cpus * _MORE, f"{used:.2f} processors were used, {cpus:g} allowed")


@contextlib.asynccontextmanager
async def _sandbox(ref: str, spec: SandboxSpec) -> AsyncIterator[Sandbox]:
    sandbox = open_sandbox(ref, spec)
    try:
        await sandbox.create()
        yield sandbox
    finally:
        await sandbox.destroy()


async def _run(
    sandbox: Sandbox, script: str, variables: dict[str, str], *arguments: str, limits: Limits | None = None
) -> tuple[ExecResult, str]:
    """Run a script; its result, and the beginning of what it printed."""
    printed = bytearray()

    async def on_start(pid: int) -> None:
        return None

    async def on_output(stream: str, chunk: bytes) -> None:
        if len(printed) < _MIB:
            printed.extend(chunk)

    limits = limits or Limits()
    spec = ExecSpec(
        argv=["sh", "-c", script, "sh", *arguments], env=sandbox.environment() | variables,
        cwd=sandbox.inside(sandbox.workspace), wall_seconds=limits.wall_seconds or _MOST_SECONDS,
        output_bytes=limits.output_bytes, grace_seconds=0.2,
    )  # fmt: skip
    result = await sandbox.exec(spec, on_start, on_output, lambda _: None)
    return result, printed.decode("utf-8", "replace")
