"""What the tests of mirrors share: a recorded run, a server on a free port, and what "identical" means."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from eventlog import manifest
from eventlog.mirror import token_file as tokens
from eventlog.mirror.address import Address, parse
from eventlog.mirror.dial import Dialler
from eventlog.mirror.identity import Identity
from eventlog.mirror.server import Server
from eventlog.schemas.conversation import ToolCalled
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify

ROOT = Path(__file__).resolve().parents[2]


def event(number: int, size: int = 40) -> ToolCalled:
    """An event that tells its number; above about 60,000 bytes it gives a payload to a blob."""
    filler = random.Random(number).randbytes(size // 2 + 1).hex()  # nothing that compresses away
    return ToolCalled(call=f"c{number}", name="terminal", arguments={"text": filler[:size]})


def record(
    store: Store,
    name: str,
    count: int,
    *,
    start: int = 1,
    blob_every: int = 0,
    finish: bool = False,
    create: bool = True,
) -> None:
    """Append `count` events, one commit each, numbered from `start`; every so many-th with a payload in a blob."""
    with StreamWriter.open(store, name, create=create) as writer:
        for number in range(start, start + count):
            large = blob_every and number % blob_every == 0
            writer.append(event(number, 90_000 if large else 40), source="test")
        if finish:
            writer.finish()


def recorded(store: Store, name: str = "run", parts: Sequence[int] = (30, 20, 10), **options: int) -> Store:
    """A finished run whose segments were opened several times, sealed."""
    for index, count in enumerate(parts):
        start, last = 1 + sum(parts[:index]), index == len(parts) - 1
        record(store, name, count, start=start, create=index == 0, finish=last, **options)
    return store


def files(store: Store, name: str) -> dict[str, bytes]:
    """The sealed segments and the manifest of a stream, by name: what has to be identical."""
    path = store.stream_path(name)
    return {
        p.name: p.read_bytes()
        for p in sorted(path.iterdir())
        if p.name[0].isdigit() or p.name == manifest.NAME
    }


def blobs(store: Store) -> dict[str, bytes]:
    """Every blob of a store."""
    return {
        str(p.relative_to(store.blobs.root)): p.read_bytes()
        for p in store.blobs.root.rglob("*")
        if p.is_file()
    }


def assert_identical(ours: Store, theirs: Store, name: str = "run") -> None:
    """The copy in `ours` is sound, finished, and byte for byte what `theirs` has; nothing of the copying is left."""
    assert files(ours, name) == files(theirs, name)
    report = verify(ours, [name])
    assert [str(p) for p in report.problems] == []
    left = [
        p.name
        for p in ours.stream_path(name).iterdir()
        if p.name.endswith(".part") or p.name == "mirror.json"
    ]
    assert left == []


def sound(store: Store, name: str = "run") -> None:
    """Nothing that `hemra log verify` would call damaged."""
    problems = [str(p) for p in verify(store, [name]).problems if p.severity == "error"]
    assert problems == []


class Serving:
    """A server in a thread of this process, and how to reach it. `lines` is what it told."""

    def __init__(self, store: Store, config: Path, *, pushes: bool = True, port: int = 0) -> None:
        self.lines: list[str] = []
        self.config = config
        self.token = tokens.load_or_make(config / tokens.NAME)
        self.identity = Identity(config)
        self.server = Server(
            store,
            Address("127.0.0.1", port),
            self.identity,
            self.token,
            pushes=pushes,
            tell=self.lines.append,
        )
        self._thread = threading.Thread(target=self.server.run)
        self._thread.start()

    @property
    def address(self) -> Address:
        """Where it listens."""
        return self.server.address

    def dialler(
        self, *, config: Path | None = None, address: Address | None = None, token: bytes | None = None
    ) -> Dialler:
        """A dialler that trusts it."""
        where = address or self.address
        return Dialler(where, token or self.token, config or self.config, self.identity.fingerprint)

    def close(self) -> None:
        """End it."""
        self.server.close()
        self._thread.join()


@contextlib.contextmanager
def serving(store: Store, config: Path, *, pushes: bool = True, port: int = 0) -> Iterator[Serving]:
    """A server for the time of a test."""
    server = Serving(store, config, pushes=pushes, port=port)
    try:
        yield server
    finally:
        server.close()


def environment(home: Path, **more: str) -> dict[str, str]:
    """For a `hemra` whose user has the configuration folder `home`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HEMRA_")}
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "XDG_CONFIG_HOME": str(home), **more}


HEMRA = (sys.executable, "-m", "hemra.cli.main")


def hemra(
    home: Path, *arguments: str, timeout_s: float = 60, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the real command to its end."""
    return subprocess.run(
        [*HEMRA, *arguments], env=environment(home, **more), capture_output=True, text=True, timeout=timeout_s,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


class ServeCommand:
    """A real `hemra log serve`, its address and fingerprint read from what it prints."""

    def __init__(
        self,
        store: Path,
        home: Path,
        *,
        listen: str = "tls+tcp://127.0.0.1:0",
        before: Sequence[str] = (),
        **more: str,
    ) -> None:
        command = [*before, *HEMRA, "log", "serve", "--store", str(store), "--listen", listen]
        self.process = subprocess.Popen(
            command,
            env=environment(home, **more),
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        assert self.process.stderr is not None
        self.lines: list[str] = []
        while not any(line.startswith("token in ") for line in self.lines):
            line = self.process.stderr.readline()
            assert line, f"serve ended: {self.lines}"
            self.lines.append(line.rstrip("\n"))
        self.address = parse(
            next(line for line in self.lines if line.startswith("serving")).rsplit(" ", 1)[1]
        )
        self.fingerprint = next(line for line in self.lines if line.startswith("fingerprint")).split()[1]
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def end(self, signal_number: int) -> int:
        """Send a signal and wait; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        code = self.process.wait(20)
        self._reader.join(5)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code
