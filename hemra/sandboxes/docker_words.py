"""What a shell that runs `docker_init.sh` is told, and what it says: the words between this process and a container."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hemra.sandboxes.docker_engine import Stream
from hemra.sandboxes.docker_stream import Output, WordFinder, frames

_START_SECONDS = 60


class Refused(Exception):
    """The program cannot be started; the message is an errno, or `forward`."""


@dataclass(kw_only=True)
class Ending:
    """How a program ended; null = not known. `oom_kills` and `forks_refused` are the container's, bytes and ns."""

    code: int | None = None
    leftover: int | None = 0
    killed: int | None = 0
    oom_kills: int | None = None
    forks_refused: int | None = None
    peak_bytes: int | None = None
    cpu_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a program is started with. Paths as the container sees them."""

    argv: Sequence[str]
    env: Mapping[str, str]
    folder: str
    control: str
    forward: Sequence[str] = ()

    def words(self) -> list[str]:
        """What `env` is given."""
        return [*(f"{name}={value}" for name, value in self.env.items()), *self.argv]

    def text(self, mode: str, word: str) -> bytes:
        """What a shell that runs `docker_init.sh` is told."""
        settings = {
            "mode": mode,
            "search": self.env.get("PATH", ""),
            "program": self.argv[0] if self.argv else "",
            "folder": self.folder,
            "control": self.control,
            "lifeline": f"{self.control}/lifeline",
            "forward": " ".join(self.forward),
        }
        lines = [word, *(f"{name}={shlex.quote(value)}" for name, value in settings.items())]
        lines += [f"set -- {shlex.join(self.words())}", word, ""]
        return os.fsencode("\n".join(lines))


#: Output kept while the word that the program was started is still on its way.
_EARLY_BYTES = 64 * 1024 * 1024


class Speaking:
    """A shell that runs `docker_init.sh` at the other end of a stream: what it says, and its program's output."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.word = secrets.token_hex(16)
        self.outputs = {"stdout": Output(), "stderr": Output()}
        self.over = asyncio.Event()
        self.ending: Ending | None = None
        self._loop = asyncio.get_running_loop()
        self._started: asyncio.Future[int] = self._loop.create_future()
        self._started.add_done_callback(lambda future: future.cancelled() or future.exception())
        self._heard = asyncio.Event()
        self._reader = asyncio.ensure_future(self._read())

    async def order(self, order: Order, mode: str) -> int:
        """Give the order; the program's pid in the container once it starts. Refused; EOFError when the shell
        went away first; OSError when it could not be told."""
        await self.stream.write(order.text(mode, self.word))
        return await asyncio.wait_for(asyncio.shield(self._started), _START_SECONDS)

    async def _read(self) -> None:
        finder = WordFinder(self.word, self._hear)
        # stdout may overtake the word on stderr that the program was started, and until then nobody takes output:
        # waiting for room here would be waiting for ever.
        early: list[tuple[str, bytes]] = []
        held = 0
        async for name, piece in frames(self.stream):
            said = finder.feed(piece) if name == "stderr" else piece
            if said:
                early.append((name, said))
                held += len(said)
            if self._started.done() or held > _EARLY_BYTES:
                for told, text in early:
                    await self.outputs[told].put(text)
                early, held = [], 0
        if not self._started.done():
            self._started.set_exception(EOFError())
        if rest := finder.rest():
            early.append(("stderr", rest))
        for told, text in early:
            await self.outputs[told].put(text)
        self.over.set()
        self._heard.set()
        for output in self.outputs.values():
            await output.put(b"")

    def _hear(self, words: list[str]) -> None:
        kind, *values = words or [""]
        if kind == "started" and not self._started.done():
            self._started.set_result(int(values[0]))
        elif kind == "failed" and not self._started.done():
            self._started.set_exception(Refused(values[0]))
        elif kind == "ended" and self.ending is None and len(values) == 7:
            self.ending = _ending(values)
            self._heard.set()

    async def heard(self) -> None:
        """Until it said how the program ended, or went away without a word."""
        await self._heard.wait()

    async def write(self, data: bytes) -> bool:
        """Write to the program's stdin. False when it takes no more."""
        try:
            await self.stream.write(data)
        except OSError:
            return False
        return True

    async def close(self) -> None:
        """Give the stream back."""
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)
        await self.stream.close()


def _ending(values: list[str]) -> Ending:
    code, leftover, killed, oom, forks, peak, cpu = values
    unit = 1000 if cpu.endswith("u") else 1
    return Ending(
        code=_number(code), leftover=_number(leftover), killed=_number(killed),
        oom_kills=_number(oom), forks_refused=_number(forks), peak_bytes=_number(peak),
        cpu_ns=None if _number(cpu[:-1]) is None else int(cpu[:-1]) * unit,
    )  # fmt: skip


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
