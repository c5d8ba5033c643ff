"""What a probe plants on this machine for a sandbox to keep its programs from: files, a process, services."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from hemra.sandboxes.base import Endpoint

#: Places of the system that are written to from inside, where a sandbox says that it keeps them.
PLACES = ("/etc/hemra-probe", "/usr/hemra-probe", "/hemra-probe")
_SETTING = Path("/proc/sys/kernel/core_pattern")
#: An address that nobody has: asking for the way there sends nothing.
_ELSEWHERE = ("192.0.2.1", 9)
_SECONDS = 3.0


class Plants:
    """What was planted. `variables` say where it is; `folder` may be shown to the trial, `store` and `task` in it
    may not; `given` is the service that the trial may reach."""

    def __init__(self, folder: Path) -> None:
        self.secret = secrets.token_hex(16)
        self.folder = folder
        self.store, self.task, self.outside = folder / "store", folder / "task", folder / "outside"
        self.places = (*PLACES, str(_SETTING)) if _SETTING.exists() else PLACES
        self.given = Endpoint("127.0.0.1", 0)
        self.reached = asyncio.Event()
        self._setting = _SETTING.read_bytes() if _SETTING.exists() else b""
        self.variables: dict[str, str] = {
            "STORE_FILE": str(self.store / "events"), "VERIFIER_FILE": str(self.task / "verifier.py"),
            "OUTSIDE": str(self.outside), "HOME_FILE": "", "LAN": "", "LAN_PORT": "",
        }  # fmt: skip

    def plant(self) -> None:
        """Write the files."""
        (self.task / "solution").mkdir(parents=True)
        self.store.mkdir()
        for path in (self.store / "events", self.task / "verifier.py", self.outside):
            path.write_text(self.secret, "utf-8")
        self.outside.chmod(0o666)

    def touched(self) -> str | None:
        """What was written outside the trial, whatever the inside says of that; it is put right."""
        changed = []
        if self.outside.read_text("utf-8") != self.secret:
            changed.append(str(self.outside))
        for place in map(Path, PLACES):
            if place.exists():
                place.unlink()
                changed.append(str(place))
        if self._setting and _SETTING.read_bytes() != self._setting:
            _SETTING.write_bytes(self._setting)
            changed.append(str(_SETTING))
        return f"wrote {' '.join(changed)}" if changed else None

    async def was_reached(self) -> bool:
        """Whether somebody connected to the given service."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.reached.wait(), _SECONDS)
        return self.reached.is_set()


@contextlib.asynccontextmanager
async def planted() -> AsyncIterator[Plants]:
    """Everything planted; it is gone again at the end."""
    async with contextlib.AsyncExitStack() as stack:
        plants = Plants(
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hemra-probe-"))).resolve()
        )
        plants.plant()
        stack.enter_context(_variable(plants.secret))
        stack.enter_context(_file_at_home(plants))
        stack.enter_context(_user_socket(plants))
        await stack.enter_async_context(_victim(plants))
        await stack.enter_async_context(_services(plants))
        yield plants


@contextlib.contextmanager
def _variable(secret: str) -> Iterator[None]:
    """A variable of this process, under a name of its own: several probes may be under way."""
    name = f"HEMRA_PROBE_SECRET_{secret}"
    os.environ[name] = secret
    try:
        yield
    finally:
        del os.environ[name]


@contextlib.contextmanager
def _file_at_home(plants: Plants) -> Iterator[None]:
    """A file in the user's home; none where nothing can be written there."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, RuntimeError):
            file = tempfile.NamedTemporaryFile("w", dir=Path.home(), prefix=".hemra-probe-")  # noqa: SIM115
            stack.enter_context(file)
            file.write(plants.secret)
            file.flush()
            plants.variables["HOME_FILE"] = file.name
        yield


@contextlib.contextmanager
def _user_socket(plants: Plants) -> Iterator[None]:
    """A socket such as that of an ssh agent."""
    with (
        tempfile.TemporaryDirectory(prefix="hemra-probe-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
    ):
        plants.variables["SOCKET"] = name = f"{folder}/agent.1"
        listener.bind(name)
        listener.listen()
        yield


@contextlib.asynccontextmanager
async def _victim(plants: Plants) -> AsyncIterator[None]:
    """A process of this user with something in its environment."""
    victim = await asyncio.create_subprocess_exec(
        "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
        env={"PATH": os.defpath, "HEMRA_PROBE_VICTIM": plants.secret},
    )  # fmt: skip
    plants.variables["VICTIM"] = str(victim.pid)
    try:
        yield
    finally:
        assert victim.stdin is not None
        victim.stdin.close()
        await victim.wait()


@contextlib.asynccontextmanager
async def _services(plants: Plants) -> AsyncIterator[None]:
    """Services of this machine: one that the trial is given, one on its loopback, one on its address in the network."""

    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        plants.reached.set()
        writer.close()

    async with contextlib.AsyncExitStack() as stack:
        given = await stack.enter_async_context(await asyncio.start_server(connected, "127.0.0.1", 0))
        plants.given = Endpoint("127.0.0.1", given.sockets[0].getsockname()[1])
        closed = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        plants.variables["SERVICE_PORT"] = str(closed.getsockname()[1])
        address = _own_address()
        if address is not None:
            outer = stack.enter_context(socket.create_server((address, 0)))
            plants.variables |= {"LAN": address, "LAN_PORT": str(outer.getsockname()[1])}
        yield


def _own_address() -> str | None:
    """This machine's address in its network; None where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return None
        address: str = probe.getsockname()[0]
    return None if address.startswith("127.") else address
