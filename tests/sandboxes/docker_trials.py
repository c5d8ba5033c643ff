"""Runs one real program in a container and checks that nothing of it is left, for the docker tests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker

from eventlog.schemas.conversation import TelemetrySampled
from eventlog.schemas.runs import Limits
from hemra.sandboxes.base import ExecResult, ExecSpec, SandboxSpec
from hemra.sandboxes.docker import DockerSandbox
from tools.engine.engine import IMAGE

RUN = f"20261130-194512-{os.getpid():07}"
STORE = "store-of-the-tests"
OnOutput = Callable[[str, bytes], Awaitable[None]]


@dataclass
class Ran:
    """How it went: the result, what was delivered of each stream, the samples."""

    result: ExecResult = field(default_factory=ExecResult)
    stdout: bytes = b""
    stderr: bytes = b""
    started: asyncio.Event = field(default_factory=asyncio.Event)
    samples: list[TelemetrySampled] = field(default_factory=list)


def python(code: str, *arguments: str) -> list[str]:
    """A command that runs Python code, quick to start."""
    return ["python3", "-I", "-S", "-c", code, *arguments]


def shell(code: str) -> list[str]:
    """A command that runs shell code."""
    return ["sh", "-c", code]


def sandbox(
    root: Path, *, trial: str = "0001", limits: Limits | None = None, **options: Any
) -> DockerSandbox:
    """A docker sandbox whose folders are below `root`."""
    options = {"option": IMAGE, "store": STORE, "network": "none"} | options
    spec = SandboxSpec(run=RUN, trial=trial, try_no=1, limits=limits or Limits(), root=root, **options)
    return DockerSandbox(spec)


async def run_in(box: DockerSandbox, argv: list[str], ran: Ran | None = None, **options: Any) -> Ran:
    """Run a program in a sandbox that is there, and keep what it printed."""
    ran = ran or Ran()
    on_output: OnOutput | None = options.pop("on_output", None)

    async def on_start(_pid: int) -> None:
        ran.started.set()

    async def keep(stream: str, chunk: bytes) -> None:
        assert ran.started.is_set(), "output was delivered before the start was told"
        setattr(ran, stream, getattr(ran, stream) + chunk)

    options = {"cwd": box.inside(box.workspace)} | options
    spec = ExecSpec(argv=argv, env=box.environment() | options.pop("env", {}), **options)
    ran.result = await box.exec(spec, on_start, on_output or keep, ran.samples.append)
    return ran


async def tried(root: Path, argv: list[str], *, limits: Limits | None = None, **options: Any) -> Ran:
    """Create a sandbox, run a program, destroy the sandbox; nothing may be left of either."""
    spec = {name: options.pop(name) for name in ("network", "reach", "option") if name in options}
    box = sandbox(root, limits=limits, **spec)
    try:
        await box.create()
        ran = await run_in(box, argv, **options)
        assert await box.stop() == 0
    finally:
        await box.destroy()
    assert not box.workspace.parent.exists()
    assert left() == []
    return ran


def attempt(root: Path, argv: list[str], **options: Any) -> Ran:
    """`tried`, from a test that is not asynchronous."""
    return asyncio.run(tried(root, argv, **options))


def left(store: str = STORE) -> list[str]:
    """What of the tests is in the engine: containers, networks, volumes."""
    client = docker.APIClient(base_url=os.environ["DOCKER_HOST"], version="1.41")
    try:
        label = {"label": f"hemra.store={store}"}
        return [
            *(f"container {each['Names']}" for each in client.containers(all=True, filters=label)),
            *(f"network {each['Name']}" for each in client.networks(filters=label)),
            *(f"volume {each['Name']}" for each in client.volumes()["Volumes"] or ()),
        ]
    finally:
        client.close()
