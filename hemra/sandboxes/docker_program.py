"""Programs in a container: one under process 1, others beside it, each with streams, an end and a way to end it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any

from eventlog import clock
from hemra.sandboxes.base import MARKER, SandboxError
from hemra.sandboxes.docker_container import Container, evidence, init_script
from hemra.sandboxes.docker_engine import Engine, EngineGone, Stream
from hemra.sandboxes.docker_stream import Output, frames, raw
from hemra.sandboxes.docker_words import Ending, Order, Speaking

_LOOK_SECONDS = 0.25
_SIGNAL_SECONDS = 0.1

#: Signals the processes of one exec and prints how many there were: signal, marker.
_SWEEP = f"""
count=0
for entry in /proc/[0-9]*; do
    entry=${{entry#/proc/}}
    [ "$entry" = 1 ] || [ "$entry" = "$$" ] && continue
    stat=
    {{ IFS= read -r stat <"/proc/$entry/stat"; }} 2>/dev/null
    case ${{stat##*) }} in [ZX]* | "") continue ;; esac
    grep -q "{MARKER}=$2" "/proc/$entry/environ" 2>/dev/null || continue
    kill "-$1" "$entry" 2>/dev/null && count=$((count + 1))
done
echo "$count"
"""
#: Puts a program on a terminal of a size, its stdin apart: folder, rows, columns, stdin, words for `env`.
_ON_TERMINAL = """
cd "$1" && stty rows "$2" cols "$3" 2>/dev/null
input=$4
shift 4
exec env -i "$@" <"$input"
"""


class Main:
    """The program under process 1; with it the container ends."""

    def __init__(self, engine: Engine, container: Container, stream: Stream, token: str) -> None:
        self._engine = engine
        self._container = container
        self._token = token
        self._speaking = Speaking(stream)
        self._since = clock.wall_ns()
        self._killed = asyncio.Event()
        self.outputs: Mapping[str, Output] = self._speaking.outputs

    async def start(self, order: Order, mode: str = "main") -> int:
        """Its pid in the container. Raises Refused, SandboxError."""
        try:
            return await self._speaking.order(order, mode)
        except (EOFError, OSError, TimeoutError) as error:
            raise await self._lost("went away before the program started") from error

    async def write(self, data: bytes) -> bool:
        """Write to its stdin. False when it takes no more."""
        return await self._speaking.write(data)

    def end_input(self) -> None:
        """Its stdin is over."""
        self._speaking.stream.end_input()

    async def ended(self) -> Ending:
        """When the program and what it started are gone. Raises SandboxError when the container went away."""
        await _first(self._speaking.heard(), self._killed.wait())
        told = self._speaking.ending
        if told is not None and told.leftover is None:
            told.leftover = told.killed = await sweep(self._container, "KILL", self._token)
        if told is not None:
            return told
        state: dict[str, Any] = {}
        with contextlib.suppress(SandboxError):
            await self._container.gone()
            state = await self._container.state() or {}
        if state.get("OOMKilled") and not state.get("Running"):
            return Ending(code=state.get("ExitCode"), oom_kills=1)
        if self._container.killed:
            return Ending()
        raise await self._lost("went away under the program")

    async def _lost(self, what: str) -> SandboxError:
        found = await evidence(self._engine, self._container, self._since)
        state = found.get("state")
        if "error" in found:
            why = found["error"]
        elif state is None:
            why = "it was removed"
        elif state.get("Running"):
            why = "the connection to it broke"
        else:
            why = f"it ended with exit code {state.get('ExitCode')}"
        return SandboxError(f"container {self._container.id[:12]} {what}: {why}", evidence=found)

    @property
    def over(self) -> bool:
        """Whether process 1 has nothing more to say: it has ended, or is about to."""
        told = self._speaking.ending
        return self._speaking.over.is_set() or (told is not None and told.leftover is not None)

    async def release(self) -> None:
        """End an idle process 1, and count what is left."""
        await self._container.signal("USR1")

    async def terminate(self) -> None:
        """Ask everything in the container to end."""
        await self._container.signal("TERM")

    async def kill(self) -> None:
        """End everything in the container at once."""
        try:
            await ending(self._container.signal("KILL"), self.outputs)
        finally:
            self._killed.set()

    async def close(self) -> None:
        """Give the streams back."""
        await self._speaking.close()


class Beside:
    """A program beside process 1, known by its marker. `tty`: on a terminal of that many columns and rows."""

    def __init__(self, engine: Engine, container: Container, token: str) -> None:
        self._engine = engine
        self._container = container
        self._token = token
        self._since = clock.wall_ns()
        self._number = ""
        self._speaking: Speaking | None = None
        self._stream: Stream | None = None
        self._reader: asyncio.Task[None] | None = None
        self.outputs: Mapping[str, Output] = {}

    async def start(self, order: Order) -> int:
        """Its pid in the container. Raises Refused, SandboxError."""
        self._number, stream = await self._container.exec(
            [self._container.shell, "-c", init_script()], {}, tty=False
        )
        self._speaking = Speaking(stream)
        self.outputs = self._speaking.outputs
        return await self._told(self._speaking, order, "beside")

    async def _told(self, speaking: Speaking, order: Order, mode: str) -> int:
        try:
            return await speaking.order(order, mode)
        except (EOFError, OSError, TimeoutError) as error:
            raise await self._lost() from error

    async def start_on_terminal(self, order: Order, size: tuple[int, int], stdin: str) -> int:
        """The same on a terminal of `size` (columns, rows), its stdin from a file. Raises Refused, SandboxError."""
        _, stream = await self._container.exec([self._container.shell, "-c", init_script()], {}, tty=False)
        checking = Speaking(stream)
        try:
            await self._told(checking, order, "check")
        finally:
            await checking.close()
        columns, rows = size
        argv = [
            "/bin/sh",
            "-c",
            _ON_TERMINAL,
            "sh",
            order.folder,
            str(rows),
            str(columns),
            stdin,
            *order.words(),
        ]
        self._number, self._stream = await self._container.exec(argv, {}, tty=True)
        output = Output()
        self.outputs = {"stdout": output}
        self._reader = asyncio.ensure_future(_pass_on(raw(self._stream), output))
        state = await self._container.exec_state(self._number) or {}
        return int(state.get("Pid") or 0)

    async def write(self, data: bytes) -> bool:
        """Write to its stdin. False when it takes no more. Nothing to be done on a terminal."""
        return True if self._speaking is None else await self._speaking.write(data)

    def end_input(self) -> None:
        """Its stdin is over."""
        if self._speaking is not None:
            self._speaking.stream.end_input()

    async def ended(self, *, sweep_too: bool = True) -> Ending:
        """When the program is gone and, with `sweep_too`, what it left was ended. Raises SandboxError."""
        over = self._speaking.over.wait if self._speaking else self._read_all
        while True:
            await _first(over(), asyncio.sleep(_LOOK_SECONDS))
            state = await self._container.exec_state(self._number)
            if self._container.killed:
                return Ending()
            if state is None:
                raise await self._lost()
            if not state.get("Running"):
                break
        left = await sweep(self._container, "KILL", self._token) if sweep_too else 0
        return Ending(code=state.get("ExitCode"), leftover=left, killed=left)

    async def _read_all(self) -> None:
        assert self._reader is not None
        await asyncio.shield(self._reader)

    async def _lost(self) -> SandboxError:
        found = await evidence(self._engine, self._container, self._since)
        return SandboxError(
            f"container {self._container.id[:12]} went away under the program", evidence=found
        )

    async def terminate(self) -> None:
        """Ask what carries the marker to end."""
        await sweep(self._container, "TERM", self._token)

    async def kill(self) -> None:
        """End what carries the marker at once."""
        await ending(sweep(self._container, "KILL", self._token), self.outputs)

    async def close(self) -> None:
        """Give the streams back."""
        if self._speaking is not None:
            await self._speaking.close()
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        if self._stream is not None:
            await self._stream.close()


async def sweep(container: Container, name: str, token: str) -> int:
    """Send a signal to what carries the marker; how many there were. The container is killed when that is not to
    be had. Raises EngineGone."""
    said = b""
    try:
        _, stream = await container.exec([container.shell, "-c", _SWEEP, "sh", name, token], {}, tty=False)
        try:
            said = b"".join([piece async for output, piece in frames(stream) if output == "stdout"])
        finally:
            await stream.close()
    except EngineGone:
        raise
    except SandboxError:
        pass  # the container is ending, or has no process left to give: it is killed
    if not said.strip().isdigit():
        await container.signal("KILL")
        return 0
    return int(said)


async def ending(kill: Coroutine[Any, Any, Any], outputs: Mapping[str, Output]) -> None:
    """Carry out `kill`. The engine says that something is dead only once all that it printed was taken: what nobody
    reads is taken as soon as the signal is on its way, and not before, for a program that lives prints more."""
    killing = asyncio.ensure_future(kill)
    try:
        await asyncio.wait({killing}, timeout=_SIGNAL_SECONDS)
        for output in outputs.values():
            await output.release()
        await killing
    finally:
        killing.cancel()


async def _first(*waits: Coroutine[Any, Any, Any]) -> None:
    """Until one of them is done; the others are given up."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pass_on(pieces: AsyncIterator[tuple[str, bytes]], output: Output) -> None:
    async for _, piece in pieces:
        await output.put(piece)
    await output.put(b"")
