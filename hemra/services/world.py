"""A task's world: the program `world.py`, which makes real what cannot be told in files, and lives with the trial.

It is started in the trial's sandbox before the harness, as the same user, in the workspace. Its stdin is one
JSON object {"seed", "values"}; it prints one line `ready {json}` (further values) and stays alive, and so does what
it started: a zombie, a listener on a port, a process. It ends with the trial, as everything in the sandbox does.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from hemra.errors import HemraError
from hemra.sandboxes.base import ExecSpec

if TYPE_CHECKING:
    from eventlog.schemas.conversation import TelemetrySampled
    from hemra.sandboxes.base import ExecResult, Sandbox

READY_SECONDS = 20.0
_READY = b"ready"
_MAX_SAID = 64 * 1024
#: Runs the program without it, or what it is told, being anywhere that the harness can read: not even in its memory.
_BOOT = (
    "import sys\n"
    "if sys.platform == 'linux':\n"
    "    import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"  # PR_SET_DUMPABLE
    "n = int(sys.stdin.buffer.readline()); "
    "exec(compile(sys.stdin.buffer.read(n), 'world.py', 'exec'), {'__name__': '__main__'})"
)


class World:
    """The world of one trial. `start`, then `ended` tells whether it is still there; `stop` waits for its end."""

    def __init__(self, task_id: str, source: bytes) -> None:
        self._task_id = task_id
        self._source = source
        self._said = bytearray()
        self._news = asyncio.Event()
        self._running: asyncio.Task[ExecResult] | None = None

    async def start(self, sandbox: Sandbox, seed: int, values: dict[str, Any]) -> dict[str, Any]:
        """Start it and wait until it is ready. Returns the values that it told. Raises HemraError."""
        told = json.dumps({"seed": seed, "values": values}).encode("ascii")
        stdin = f"{len(self._source)}\n".encode() + self._source + told
        spec = ExecSpec(
            argv=[sys.executable, "-I", "-S", "-B", "-c", _BOOT],
            env=sandbox.environment(),
            cwd=sandbox.inside(sandbox.workspace),
            stdin=stdin,
            grace_seconds=0.2,
        )
        self._running = asyncio.ensure_future(sandbox.exec(spec, _started, self._output, _sampled))
        self._running.add_done_callback(lambda _: self._news.set())
        try:
            async with asyncio.timeout(READY_SECONDS):
                while (line := self._line()) is None and not self._running.done():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise self._problem(f"was not ready within {READY_SECONDS:g} s") from None
        if line is None:
            raise self._problem("ended before it was ready")
        return self._values(line)

    @property
    def ended(self) -> bool:
        """Whether it, which should live as long as the trial, has ended."""
        return self._running is not None and self._running.done()

    async def stop(self) -> None:
        """Wait for its end, which the sandbox's `stop` brings about."""
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)

    async def _output(self, stream: str, chunk: bytes) -> None:
        if len(self._said) < _MAX_SAID:
            self._said += chunk
        self._news.set()

    def _line(self) -> bytes | None:
        for line in bytes(self._said).split(b"\n")[:-1]:
            if line.split(b" ")[0].strip() == _READY:
                return line.strip()
        return None

    def _values(self, line: bytes) -> dict[str, Any]:
        rest = line[len(_READY) :].strip()
        try:
            values = json.loads(rest) if rest else {}
        except ValueError:
            values = None
        if not isinstance(values, dict):
            raise self._problem("said `ready` with something that is no JSON object")
        return values

    def _problem(self, what: str) -> HemraError:
        said = bytes(self._said[-1000:]).decode("utf-8", "replace").strip()
        return HemraError(f"task {self._task_id!r}: world.py {what}" + (f": {said}" if said else ""))


async def _started(pid: int) -> None:
    """Nobody has to be told."""


def _sampled(sample: TelemetrySampled) -> None:
    """The world is no part of what the harness costs."""
