"""Runs one real program in a host sandbox and checks that nothing of it is left, for the sandbox tests."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eventlog.schemas.conversation import TelemetrySampled
from eventlog.schemas.runs import Limits
from hemra.sandboxes.base import MARKER, ExecResult, ExecSpec, SandboxSpec
from hemra.sandboxes.host import HostSandbox
from hemra.sandboxes.leftovers import marked
from hemra.sandboxes.local import LocalSandbox
from hemra.sandboxes.room import WARDEN

#: Tests that run at the same time must not see each other's processes; a test's own child inherits it.
_OWN = os.environ.setdefault("HEMRA_TEST_OWN", f"{os.getpid():07}")
RUN = f"20261130-194512-{_OWN}"
#: Seconds that nobody else sleeps: `sleep NAP` in a program's code is found by them even without its marker.
NAP = f"6{_OWN}"
NAPPING = f"sleep\0{NAP}"
OnOutput = Callable[[str, bytes], Awaitable[None]]
#: What makes the sandbox, and what it is made with: tests/sandboxes runs the same tests in another one.
MADE_BY: Callable[[SandboxSpec], LocalSandbox] = HostSandbox
MADE_WITH: dict[str, Any] = {}


@dataclass
class Ran:
    """How it went: the result, what was delivered of each stream, the samples."""

    result: ExecResult = field(default_factory=ExecResult)
    stdout: bytes = b""
    stderr: bytes = b""
    pid: int = 0
    samples: list[TelemetrySampled] = field(default_factory=list)


def python(code: str, *arguments: str) -> list[str]:
    """A command that runs Python code, quick to start."""
    return [sys.executable, "-I", "-S", "-c", code.replace("NAP", NAP), *arguments]


def shell(code: str) -> list[str]:
    """A command that runs shell code."""
    return ["sh", "-c", code.replace("NAP", NAP)]


def sandbox(
    root: Path, *, trial: str = "0001", try_no: int = 1, limits: Limits | None = None
) -> LocalSandbox:
    """A sandbox whose folders are below `root`."""
    spec = SandboxSpec(run=RUN, trial=trial, try_no=try_no, limits=limits or Limits(), root=root, **MADE_WITH)
    return MADE_BY(spec)


def alive(token_part: str = RUN) -> list[str]:
    """Command lines of living processes that carry this in their marker, or in their command line.

    What holds a sandbox's namespaces is no process of the trial.
    """
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes()
            environment = Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue
        if WARDEN.name.encode() in command:
            continue
        if f"{MARKER}={token_part}".encode() in environment or token_part.encode() in command:
            found.append(command.replace(b"\0", b" ").decode("utf-8", "replace"))
    return found


async def run_in(box: LocalSandbox, argv: list[str], ran: Ran | None = None, **options: Any) -> Ran:
    """Run a program in a sandbox that is there, and keep what it printed."""
    ran = ran or Ran()
    on_output: OnOutput | None = options.pop("on_output", None)

    async def on_start(pid: int) -> None:
        ran.pid = pid

    async def keep(stream: str, chunk: bytes) -> None:
        assert ran.pid, "output was delivered before the start was told"
        setattr(ran, stream, getattr(ran, stream) + chunk)

    options = {"cwd": str(box.workspace)} | options
    spec = ExecSpec(argv=argv, env=box.environment() | options.pop("env", {}), **options)
    ran.result = await box.exec(spec, on_start, on_output or keep, ran.samples.append)
    return ran


async def tried(root: Path, argv: list[str], *, limits: Limits | None = None, **options: Any) -> Ran:
    """Create a sandbox, run a program, destroy the sandbox; nothing may be left of either."""
    box = sandbox(root, limits=limits)
    await box.create()
    try:
        ran = await run_in(box, argv, **options)
        assert list(marked(lambda token: token.startswith(RUN))) == []
        assert alive() == []
    finally:
        await box.destroy()
    assert not box.workspace.parent.exists()
    return ran


def attempt(root: Path, argv: list[str], **options: Any) -> Ran:
    """`tried`, from a test that is not asynchronous."""
    return asyncio.run(tried(root, argv, **options))
