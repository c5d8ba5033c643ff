"""A store in the hands of processes that come one after the other, over a recording layer."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from eventlog import disk
from eventlog import stream as stream_module
from eventlog.bundle import import_
from eventlog.envelope import encode
from eventlog.errors import DamageError, LogError
from eventlog.holders import Holders
from eventlog.recorder import Recorder
from eventlog.schemas.conversation import ArtifactStored, ToolCalled
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter
from tests.faults import ledger as notes
from tests.faults.drivers import Planned, ScriptedServer, Sealer, Seeded
from tests.faults.filelayer import RecordingLayer
from tests.faults.ledger import Ledger, ledger_at
from tests.faults.oracle import lines_of
from tests.faults.trace import Killed

RUN = "run"
T = TypeVar("T")
#: Processes that may fail one after the other before a scene gives up.
_TRIES = 250


class Scene:
    """A store under a recording layer, and producers with numbers of their own."""

    def __init__(self, root: Path, seed: int, **layer: Any) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.seeded = Seeded(seed)
        self.layer = RecordingLayer(root, gate=Sealer.gate, **layer)
        self._numbers: dict[bytes, int] = {}
        self._renamed: dict[int, bytes] = {}
        self._made = 0
        #: Number of operations when the process that is at work began, if there was one before it.
        self.turn = 0
        #: Before which of its calls a sealer in the background stops.
        self.pause: int | None = None
        self.bundles: list[tuple[Path, dict[str, list[bytes]]]] = []
        #: What processes said when they ended with an error.
        self.failures: list[str] = []
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Scene:
        self.seeded.__enter__()
        self._patch.setattr(stream_module.threading, "Thread", Sealer)
        self.layer.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._end_sealing()
        Sealer.late, Sealer.pause = False, None
        self.layer.__exit__(*error)
        self._patch.undo()
        self.seeded.__exit__(*error)

    # -- producers --------------------------------------------------------------------------------------

    def line(self, text: str, size: int = 0) -> bytes:
        """A line of about `size` bytes more than it must have."""
        padding = self.seeded.rng.randbytes(size // 2).hex()
        data = ToolCalled(call=text, name="terminal", arguments={"x": padding} if padding else None)
        return encode(data, source="test", trial=None, blobs=None)

    def batch(self, producer: int, count: int, size: int = 0) -> Planned:
        """Events that a producer is going to send."""
        lines = []
        for _ in range(count):
            self._made += 1
            lines.append(self.line(f"{producer}:{self._made}", size))
        return Planned(producer, lines)

    def send(self, planned: Planned) -> Incoming:
        """The producer numbers its events now: what was refused before has changed its name."""
        identity = self._renamed.get(planned.producer, bytes([planned.producer]) * 16)
        first = self._numbers.get(identity, 0) + 1
        self._numbers[identity] = first + len(planned.lines) - 1
        return Incoming(identity, first, planned.lines)

    def refused(self, item: Incoming) -> None:
        """What a client does after a refusal: it goes on as another producer."""
        number = item.producer[0]
        self._renamed[number] = bytes([number]) + self.seeded.rng.randbytes(15)

    def in_flight(self, stream: str = RUN) -> list[Incoming]:
        """What was sent and not answered."""
        return list(self.ledger().of(stream).in_flight.values())

    def ledger(self) -> Ledger:
        """What is known by now."""
        ops = self.layer.trace.ops
        return ledger_at(ops, len(ops))

    # -- processes --------------------------------------------------------------------------------------

    def _tried(self, process: Callable[[], T]) -> T:
        """What a process returns; one that the disk made end with an error is started again, as a user would."""
        for _ in range(_TRIES):
            try:
                return process()
            except DamageError as error:
                if "injected" not in str(error):  # what cannot be read may be called damage where it says why
                    raise AssertionError(f"a fault passed for damage: {error}") from error
                self._failed(error)
            except (LogError, OSError) as error:
                self._failed(error)
        raise AssertionError(f"no end of failures: {self.failures[-3:]}")

    def _failed(self, error: Exception) -> None:
        self.failures.append(f"{type(error).__name__}: {error}")
        self._next_process()

    def store(self) -> Store:
        """The store, made if need be."""
        store = self._tried(lambda: Store.open(self.root / "store", create=True))
        self.layer.note(notes.STORE)
        return store

    def record(self, groups: Sequence[Sequence[Any]], stream: str = RUN) -> None:
        """A client makes the stream if it is not there, then recorders serve the groups, until all are answered."""
        store = self.store()
        server = ScriptedServer(self, stream, groups)
        self._tried(lambda: self._make(store, stream))
        self._tried(lambda: self._serve(store, stream, server))

    def _make(self, store: Store, stream: str) -> None:
        if not store.stream_path(stream).exists():
            StreamWriter.open(store, stream, create=True).close()
            self.layer.note(notes.CREATED, stream)

    def _serve(self, store: Store, stream: str, server: ScriptedServer) -> None:
        server.resend(self.in_flight(stream))
        self.layer.note(notes.UNSURE, stream)
        writer = StreamWriter.open(store, stream)
        self.layer.note(notes.OPENED, (stream, lines_of(store, stream)))
        server.recorder = Recorder(writer, server, Holders(os.getpid()))  # type: ignore[arg-type]
        server.recorder.run()
        if server.unfinished:
            raise LogError("the stream could not be finished")
        if not server.finished:
            self.layer.note(notes.ENDED, (stream, False))

    def blob(self, content: bytes, producer: int) -> Planned:
        """Store a blob and return the event that names it, to be sent."""
        store = self.store()
        planned = self._tried(lambda: self.blob_elsewhere(store, content, producer))
        self.layer.note(notes.BLOB, f"sha256:{hashlib.sha256(content).hexdigest()}")
        return planned

    def blob_elsewhere(self, store: Store, content: bytes, producer: int) -> Planned:
        """As `blob`, in any store and unnoted."""
        ref = store.blobs.put(content)
        event = ArtifactStored(name="out", blob=ref.digest, size=ref.size)
        return Planned(producer, [encode(event, source="test", trial=None, blobs=None)])

    def import_bundle(self, bundle: Path, brought: dict[str, list[bytes]]) -> None:
        """Import a bundle that brings these lines."""
        store = self.store()
        self.layer.note(notes.IMPORTING, (bundle, brought))
        self._tried(lambda: import_(store, bundle))
        self.layer.note(notes.IMPORTED, (bundle, brought))

    @contextlib.contextmanager
    def killed_after(self, changes: int) -> Iterator[None]:
        """A process that dies after so many changes from here on, if it makes that many."""
        self.layer.kill_after = self.layer.changes() + changes
        with contextlib.suppress(Killed):
            yield
        self._next_process()

    def _end_sealing(self) -> None:
        """A thread ends with its process: while that is dead, it can do nothing more."""
        if Sealer.waiting is not None:
            self.layer.die()
            Sealer.waiting.join()
            Sealer.waiting = None

    def _next_process(self) -> None:
        """What only the process before knew is forgotten."""
        self._end_sealing()
        self.layer.revive()
        self.turn = len(self.layer.trace.ops)
        disk._durable.clear()
