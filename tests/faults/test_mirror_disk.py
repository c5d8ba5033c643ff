"""What a copy takes for durable: blobs and gathered files that a dead pull left, and files on which a sync failed."""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eventlog import disk
from eventlog.errors import LogError
from eventlog.mirror.blob_arrivals import Arrivals
from eventlog.mirror.copying import Copied, Copying
from eventlog.mirror.errors import MirrorError
from eventlog.mirror.source import StoreSource
from eventlog.reader import read_lines
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from tests.eventlog.mirroring import assert_identical, blobs, event, record, recorded
from tests.faults.filelayer import RecordingLayer
from tests.faults.trace import Killed, Op


@pytest.fixture
def there(tmp_path: Path) -> Store:
    """The store that is copied from."""
    return Store.open(tmp_path / "there", create=True)


def copied(here: Store, there: Store) -> Copied:
    """One pull, without a connection."""
    source, copying = StoreSource(there), Copying(here, "run")
    with contextlib.closing(source), contextlib.closing(copying):
        return copying.round(source, follow=False)


@contextlib.contextmanager
def layer_on(here: Store, fault: Callable[[str, str], None] | None = None) -> Iterator[RecordingLayer]:
    """Everything that changes the copy's store is written down."""
    disk._durable.clear()
    with RecordingLayer(here.path, fault=fault) as layer:
        yield layer
    disk._durable.clear()


def next_process(layer: RecordingLayer) -> None:
    """What only the process before knew is forgotten."""
    layer.revive()
    disk._durable.clear()


def unsynced_blobs(layer: RecordingLayer) -> list[str]:
    """Names of blobs whose folder was not synced after they got them."""
    open_names: dict[tuple[int, str], None] = {}
    for op in layer.trace.ops:
        if op.kind == "rename" and len(op.name2) == 62:
            open_names[op.parent2, op.name2] = None
        elif op.kind == "sync":
            open_names = {place: None for place in open_names if place[0] != op.node}
    return [name for _, name in open_names]


def renames(ops: list[Op]) -> list[int]:
    """After how many operations each blob got its name."""
    made = [op for op in ops if op.kind != "note"]
    return [n for n, op in enumerate(made, 1) if op.kind == "rename" and len(op.name2) == 62]


@pytest.mark.parametrize("finish", [False, True], ids=["live", "sealed"])
def test_the_name_of_a_blob_that_a_dead_pull_left(there: Store, tmp_path: Path, finish: bool) -> None:
    """If this failed, a power cut after a pull that was killed and started again would take payloads of whole runs."""
    record(there, "run", 12, blob_every=2, finish=finish)
    first = Store.open(tmp_path / "first", create=True)
    with layer_on(first) as layer:
        copied(first, there)
    kills = renames(layer.trace.ops)
    assert len(kills) == 6
    for after in kills:
        here = Store.open(tmp_path / f"here-{after}", create=True)
        with layer_on(here) as layer:
            layer.kill_after = after
            with contextlib.suppress(Killed):
                copied(here, there)
            next_process(layer)
            copied(here, there)
        assert list(read_lines(here, "run")) == list(read_lines(there, "run"))
        assert unsynced_blobs(layer) == []


@pytest.mark.parametrize("damage", [b"", b"another content", None], ids=["empty", "other", "a bit"])
@pytest.mark.parametrize("finish", [False, True], ids=["live", "sealed"])
def test_a_rotten_blob_that_is_here_is_brought_again(
    there: Store, tmp_path: Path, damage: bytes | None, finish: bool
) -> None:
    """If this failed, a pull would call a run whole and identical whose payload is not what its name says."""
    record(there, "run", 6, blob_every=3, finish=finish)
    here = Store.open(tmp_path / "here", create=True)
    for name, content in blobs(there).items():
        rotten = bytes([content[0] ^ 1]) + content[1:] if damage is None else damage
        place = here.blobs.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(rotten)
        place.chmod(0o444)
    assert copied(here, there).blobs == 2
    assert blobs(here) == blobs(there)
    assert [str(p) for p in verify(here, ["run"]).problems if p.severity == "error"] == []


def test_a_blob_is_weighed_once_in_a_pull(
    there: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, a run that names one payload in many batches would read it again for each of them."""
    here = Store.open(tmp_path / "here", create=True)
    with StreamWriter.open(there, "run", create=True) as writer:
        for _ in range(30):
            writer.append(event(1, 90_000))
    for name, content in blobs(there).items():
        (here.blobs.root / name).parent.mkdir(parents=True)
        (here.blobs.root / name).write_bytes(content)
    weighed: list[str] = []
    real = Arrivals._is_sound
    monkeypatch.setattr(Arrivals, "_is_sound", lambda self, d: (weighed.append(d), real(self, d))[1])
    monkeypatch.setattr("eventlog.mirror.tail.BATCH_BYTES", 1)
    assert copied(here, there).last == 30
    assert len(weighed) == 1


def no_second_sync(layer: RecordingLayer) -> None:
    """No file is synced again after a sync of it failed: the kernel would say that all is well."""
    files = {op.node for op in layer.trace.ops if op.kind == "write"}
    failed: dict[int, str] = {}
    for op in layer.trace.ops:
        if op.kind == "sync_failed" and op.node in files:
            failed[op.node] = op.site
        assert not (op.kind == "sync" and op.node in failed), f"{failed[op.node]}, then {op.site}"


class Failing:
    """Makes the sync number `place`, and `also` calls of any kind after it, fail."""

    def __init__(self, place: int, also: int = 0) -> None:
        self.syncs, self._place, self._left = 0, place, also

    def __call__(self, kind: str, what: str) -> None:
        failed = self.syncs > self._place
        self.syncs += kind == "sync"
        if failed and self._left > 0:
            self._left -= 1
        elif failed or self.syncs <= self._place:
            return
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("also", [0, 1, 6], ids=["once", "and the next call", "and six calls"])
@pytest.mark.parametrize("case", ["new live", "new sealed", "longer live", "sealed over live"])
def test_no_file_of_a_copy_is_synced_again_after_a_sync_failed(
    there: Store, quick: Path, case: str, also: int
) -> None:
    """If this failed, the kernel would call written what it had dropped, and a power cut would take it."""
    before = Store.open(quick / "before", create=True)
    record(there, "run", 6, blob_every=3)
    if case in ("longer live", "sealed over live"):
        copied(before, there)
    if case != "new live":
        record(there, "run", 6, start=7, create=False, blob_every=3, finish="sealed" in case)
    for place in range(100):
        here = Store.open(shutil.copytree(before.path, quick / str(place)))
        fault = Failing(place, also)
        with layer_on(here, fault) as layer:
            for _ in range(2):  # what was left to fail may fail in the second
                with contextlib.suppress(OSError, MirrorError):
                    copied(here, there)
                next_process(layer)
            layer.fault = None
            copied(here, there)
        no_second_sync(layer)
        assert list(read_lines(here, "run")) == list(read_lines(there, "run"))
        if "sealed" in case:
            assert_identical(here, there)
        if fault.syncs <= place:
            assert place > 5
            return
        shutil.rmtree(here.path)
    raise AssertionError("the pull has more syncs than were tried")


def test_a_whole_part_of_a_dead_pull_is_not_trusted_to_a_second_sync(there: Store, quick: Path) -> None:
    """If this failed, a process killed right after a failed sync would leave a file that the next one believes."""
    recorded(there, parts=(6, 6), blob_every=3)
    for place in range(100):
        here = Store.open(quick / f"here-{place}", create=True)
        fault = Failing(place)
        with layer_on(here, fault) as layer:

            def dying(kind: str, what: str, fault: Failing = fault, layer: RecordingLayer = layer) -> None:
                try:
                    fault(kind, what)
                except OSError:
                    layer.die()
                    raise

            layer.fault = dying
            with contextlib.suppress(OSError, MirrorError, Killed):
                copied(here, there)
            next_process(layer)
            layer.fault = None
            copied(here, there)
        no_second_sync(layer)
        assert_identical(here, there)
        if fault.syncs <= place:
            return
    raise AssertionError("the pull has more syncs than were tried")


def test_what_a_source_has_behind_its_anchor_goes_into_a_new_file_first(there: Store, tmp_path: Path) -> None:
    """If this failed, a source would give what a power cut takes from it: a sync that failed, asked again."""
    with layer_on(there) as layer:
        writer = StreamWriter.open(there, "run", create=True)
        for number in range(1, 6):
            writer.append(event(number))
        layer.fault = Failing(0, 1 << 30)
        with contextlib.suppress(OSError, LogError):
            writer.append(event(6))
        next_process(layer)
        layer.fault = None
        writer._lock._fd = -1
        copied(Store.open(tmp_path / "here", create=True), there)
    no_second_sync(layer)
