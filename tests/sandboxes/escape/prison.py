"""A machine with things that a trial must not get at, and a way to run code in a sandbox on it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eventlog.schemas.runs import Limits
from hemra.sandboxes.base import Endpoint, ExecResult, ExecSpec, Sandbox, SandboxSpec
from hemra.sandboxes.registry import open_sandbox

RUN = f"20261130-194512-{os.getpid():07}e"
#: Puts its findings on stdout, one a line; what fails says nothing.
PRELUDE = """
import contextlib, ctypes, errno, glob, os, signal, socket, subprocess, sys, time
def found(text): print(text, flush=True)
quiet = lambda: contextlib.suppress(Exception)
"""


@dataclass
class Out:
    """What a program in a sandbox did."""

    result: ExecResult = field(default_factory=ExecResult)
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def lines(self) -> list[str]:
        """What it printed."""
        return self.stdout.decode("utf-8", "replace").splitlines()


class Prison:
    """The things around a sandbox `ref`. `secret` stands in all that must not be read."""

    def __init__(self, ref: str, root: Path) -> None:
        self.ref = ref
        self.root = root
        self.secret = secrets.token_hex(16)
        self.python = sys.executable if not ref.startswith("docker") else "python3"
        self.scratch = root / "scratch"
        self.store = root / "store"
        self.task = root / "tasks" / "a"
        self.outside = root / "outside"
        self.number = 0

    def build(self) -> None:
        """Plant the files."""
        for folder in (self.scratch, self.store / "log", self.task / "solution"):
            folder.mkdir(parents=True)
        for file in (
            self.store / "log" / "events",
            self.task / "verifier.py",
            self.task / "solution" / "solve.py",
            self.outside,
        ):
            file.write_text(self.secret, encoding="utf-8")
        self.outside.chmod(0o666)

    def spec(self, **options: Any) -> SandboxSpec:
        """For the next trial. All that is planted lies in a folder that may be seen, but for what is hidden."""
        self.number += 1
        values: dict[str, Any] = {
            "run": RUN, "trial": f"{self.number:04}", "try_no": 1, "limits": Limits(wall_seconds=60),
            "root": self.scratch, "network": "none", "read_only": (self.root,), "store": "tests",
            "hidden": (self.store, self.task), "task": self.task,
        }  # fmt: skip
        return SandboxSpec(**(values | options))

    @contextlib.asynccontextmanager
    async def trial(self, **options: Any) -> AsyncIterator[Sandbox]:
        """A sandbox that is there."""
        sandbox = open_sandbox(self.ref, self.spec(**options))
        try:
            await sandbox.create()
            yield sandbox
        finally:
            await sandbox.destroy()

    def attempt(self, code: str, **options: Any) -> Out:
        """Run Python code in a trial of its own."""

        async def go() -> Out:
            async with self.trial(**options) as sandbox:
                return await self.run(sandbox, code)

        return asyncio.run(go())

    async def run(self, sandbox: Sandbox, code: str, **more: Any) -> Out:
        """Run Python code in a sandbox; `more` are fields of the ExecSpec."""
        out = Out()

        async def on_start(_pid: int) -> None:
            return None

        async def on_output(stream: str, chunk: bytes) -> None:
            kept = getattr(out, stream)
            if len(kept) < 1 << 20:
                setattr(out, stream, kept + chunk)

        spec = ExecSpec(
            argv=[self.python, "-I", "-S", "-c", PRELUDE + code],
            env=sandbox.environment() | {"SECRET_SIZE": str(len(self.secret))},
            cwd=sandbox.inside(sandbox.workspace), wall_seconds=60, grace_seconds=0.5, **more,
        )  # fmt: skip
        out.result = await sandbox.exec(spec, on_start, on_output, lambda _: None)
        assert out.result.started, out.result.error
        return out


@contextlib.contextmanager
def victim(secret: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of this machine that must live on, with the secret in its environment."""
    with subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PATH": os.defpath, "VICTIM": secret}
    ) as process:
        try:
            # Until it answers it may not be that program yet: its environment is still to come.
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"there\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"there\n"
            yield process
        finally:
            process.kill()


class Service:
    """A TCP service of this machine that answers every connection with `answer`."""

    def __init__(self, answer: bytes, host: str = "127.0.0.1") -> None:
        self._answer = answer
        self._listener = socket.create_server((host, 0))
        self.endpoint = Endpoint(*self._listener.getsockname()[:2])
        self.connections = 0
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                with connection:
                    connection.sendall(self._answer)

    def __enter__(self) -> Service:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
