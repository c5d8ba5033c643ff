"""Bundles: a run arrives whole and equal, twice is once, and a longer version extends a shorter one."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from eventlog.bundle import export, import_
from eventlog.errors import BundleError, StreamBusy, StreamNotFound
from eventlog.reader import read, resolve, stream_state
from eventlog.schemas.conversation import ArtifactStored, MessageRecorded, ToolCalled
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify


@pytest.fixture
def other(tmp_path: Path) -> Store:
    """A second, empty store."""
    return Store.open(tmp_path / "other", create=True)


def fill(store: Store, name: str = "run", *, finish: bool = True) -> None:
    """A stream with small events, large payloads in blobs (one inside another), and an artifact."""
    with StreamWriter.open(store, name, create=not store.stream_path(name).exists()) as writer:
        for number in range(20):
            writer.append(MessageRecorded(role="user", text=f"{name} {number}"))
        writer.append(MessageRecorded(role="user", text="x" * 200_000))
        writer.append(ToolCalled(call="c", name="t", arguments={str(n): "y" * 3000 for n in range(300)}))
        ref = store.blobs.put(f"the artifact of {name}".encode())
        writer.append(ArtifactStored(name="out", blob=ref.digest, size=ref.size))
        if finish:
            writer.finish()


def grow(store: Store, name: str = "run") -> None:
    """Some events more."""
    with StreamWriter.open(store, name) as writer:
        for number in range(5):
            writer.append(MessageRecorded(role="user", text=f"more {number}"))


def whole(store: Store, name: str = "run") -> list[object]:
    """Everything a stream says, payloads included."""
    return [(e.seq, e.id, e.time, e.type, resolve(store, e.data)) for e in read(store, name)]


def files(store: Store) -> dict[str, tuple[int, int]]:
    """Size and change time of every file of a store but the locks."""
    return {
        str(p.relative_to(store.path)): (p.stat().st_size, p.stat().st_mtime_ns)
        for p in store.path.rglob("*")
        if p.is_file() and "lock" not in p.name
    }


def test_a_run_arrives_as_it_was(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, a run carried to another machine would not be the same run."""
    fill(store)
    made = export(store, ["run"], tmp_path / "run.tar")
    brought = import_(other, tmp_path / "run.tar")
    assert (brought.digest, brought.blobs, brought.changed) == (made.digest, made.blobs, True)
    assert [(s.stream, s.events, s.what) for s in brought.streams] == [("run", 23, "added")]
    assert whole(other) == whole(store)
    assert stream_state(other, "run").finished
    assert verify(other).problems == []
    (record,) = read(other, "catalog")
    assert record.type == "import.recorded"
    assert (record.data["streams"], record.data["events"]) == (["run"], 23)
    assert record.data["origin"] == "run.tar"
    assert record.data["digest"] == made.digest


def test_the_same_content_gives_the_same_bytes_anywhere(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, two copies of a run could not be compared by their digest."""
    fill(store)
    first = io.BytesIO()
    export(store, ["run"], first)
    export(store, ["run"], tmp_path / "again.tar")
    import_(other, tmp_path / "again.tar")
    export(other, ["run"], tmp_path / "from other.tar")
    assert (tmp_path / "again.tar").read_bytes() == first.getvalue()
    assert (tmp_path / "from other.tar").read_bytes() == first.getvalue()


def test_it_is_an_ordinary_tar_with_its_index_first(store: Store, tmp_path: Path) -> None:
    """If this failed, nobody could look into a bundle with plain tools."""
    fill(store)
    export(store, ["run"], tmp_path / "run.tar")
    with tarfile.open(tmp_path / "run.tar") as tar:
        members = tar.getmembers()
    assert members[0].name == "bundle.json"
    assert {(m.type, m.mtime, m.uid, m.gid, m.mode) for m in members} == {(tarfile.REGTYPE, 0, 0, 0, 0o644)}
    assert any(m.name == "streams/run/00000000000000000001.ndjson.zst" for m in members)


def test_only_what_the_runs_name_is_carried(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, a bundle would give away other runs' content, or lack its own."""
    fill(store, "run")
    fill(store, "secret")
    export(store, ["run"], tmp_path / "run.tar")
    assert b"artifact of secret" not in (tmp_path / "run.tar").read_bytes()
    import_(other, tmp_path / "run.tar")
    assert other.streams() == ["catalog", "run"]
    two = export(store, ["secret", "run", "run"], tmp_path / "both.tar")
    assert [s.stream for s in two.streams] == ["secret", "run"]
    assert [s.what for s in import_(other, tmp_path / "both.tar").streams] == ["added", "same"]
    assert whole(other, "secret") == whole(store, "secret")


def test_the_same_bundle_again_changes_nothing(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, importing twice would double events or records."""
    fill(store)
    export(store, ["run"], tmp_path / "run.tar")
    import_(other, tmp_path / "run.tar")
    before = files(other)
    again = import_(other, tmp_path / "run.tar")
    assert ([s.what for s in again.streams], again.changed) == (["same"], False)
    after = files(other)
    assert {k: v for k, v in after.items() if "anchor" not in k and "manifest" not in k} == {
        k: v for k, v in before.items() if "anchor" not in k and "manifest" not in k
    }
    assert len(list(read(other, "catalog"))) == 1


def test_a_longer_version_extends_a_shorter_one(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, a run that was carried half-way could never be completed, or would be replaced by less."""
    fill(store, finish=False)
    export(store, ["run"], tmp_path / "short.tar")
    grow(store)
    fill(store)
    export(store, ["run"], tmp_path / "long.tar")
    import_(other, tmp_path / "short.tar")
    assert not stream_state(other, "run").finished
    assert [s.what for s in import_(other, tmp_path / "long.tar").streams] == ["extended"]
    assert whole(other) == whole(store)
    assert stream_state(other, "run").finished
    assert verify(other).problems == []
    assert [s.what for s in import_(other, tmp_path / "short.tar").streams] == ["older"]
    assert whole(other) == whole(store)
    export(other, ["run"], tmp_path / "back.tar")
    assert (tmp_path / "back.tar").read_bytes() == (tmp_path / "long.tar").read_bytes()


def test_a_run_that_went_on_differently_is_refused_whole(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, an import would overwrite a run, or bring half of a bundle in."""
    fill(store, finish=False)
    export(store, ["run"], tmp_path / "short.tar")
    import_(other, tmp_path / "short.tar")
    grow(store)
    grow(other)
    fill(store, "new")
    export(store, ["new", "run"], tmp_path / "long.tar")
    before = whole(other)
    with pytest.raises(BundleError, match=r"stream run exists .* with another content"):
        import_(other, tmp_path / "long.tar")
    assert other.streams() == ["catalog", "run"]
    assert whole(other) == before
    assert verify(other).problems == []


def test_another_run_of_the_same_name_is_refused(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, two machines' runs of one id would be mixed."""
    fill(store)
    fill(other)
    export(store, ["run"], tmp_path / "run.tar")
    with pytest.raises(BundleError, match="another content"):
        import_(other, tmp_path / "run.tar")


def test_a_live_stream_is_neither_exported_nor_overwritten(
    store: Store, other: Store, tmp_path: Path
) -> None:
    """If this failed, a bundle would hold half a run, or an import would write under a live one."""
    fill(store, finish=False)
    with StreamWriter.open(store, "run"), pytest.raises(StreamBusy, match="when the run has ended"):
        export(store, ["run"], tmp_path / "run.tar")
    assert not (tmp_path / "run.tar").exists()
    export(store, ["run"], tmp_path / "run.tar")
    import_(other, tmp_path / "run.tar")
    with StreamWriter.open(other, "run"), pytest.raises(StreamBusy):
        import_(other, tmp_path / "run.tar")
    with pytest.raises(StreamNotFound, match="nowhere"):
        export(store, ["nowhere"], tmp_path / "x.tar")
    with pytest.raises(BundleError, match="no stream"):
        export(store, [], tmp_path / "x.tar")


def test_a_missing_blob_is_named_at_export(store: Store, tmp_path: Path) -> None:
    """If this failed, a bundle would be made that cannot be imported anywhere."""
    fill(store)
    (gone,) = [e.data["blob"] for e in read(store, "run", types=("artifact.stored",))]
    store.blobs.path(gone).unlink()
    with pytest.raises(BundleError, match=gone):
        export(store, ["run"], tmp_path / "run.tar")
    assert not (tmp_path / "run.tar").exists()


def test_an_empty_stream_and_a_pipe_work(store: Store, other: Store) -> None:
    """If this failed, `hemra log export | ssh … hemra log import` would not work."""
    StreamWriter.open(store, "run", create=True).close()
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as out:
        export(store, ["run"], out)
    with os.fdopen(reading, "rb") as file:
        assert [s.what for s in import_(other, file).streams] == ["added"]
    assert list(read(other, "run")) == []


def test_what_dead_processes_left_is_removed(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, killed imports, recoveries and blob writers would fill the disk little by little."""
    fill(store)
    export(store, ["run"], tmp_path / "run.tar")
    import_(other, tmp_path / "run.tar")
    torn = other.stream_path("run") / "torn"
    torn.mkdir()
    (other.path / ".import-dead").mkdir()
    left = [torn / ".x.bin.1.tmp", other.blobs.root / ".blob.1.tmp", other.path / "..import.pending.1.tmp"]
    # Temp files of a recovery go whatever their age: whoever holds the lock knows that nobody writes them.
    fresh = torn / ".y.bin.2.tmp"
    kept = [torn / "00000000000000000001-5.bin", other.blobs.root / ".blob.2.tmp"]
    for path in [*left, *kept, fresh]:
        path.write_bytes(b"x")
    for path in left:
        os.utime(path, (0, 0))
    import_(other, tmp_path / "run.tar")
    assert [p for p in [*left, fresh] if p.exists()] == []
    assert [p for p in kept if not p.exists()] == []
    assert not (other.path / ".import-dead").exists()


def test_a_blob_that_the_store_lost_comes_back(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, a run whose payload was lost could not be made whole from its own bundle."""
    fill(store)
    export(store, ["run"], tmp_path / "run.tar")
    import_(other, tmp_path / "run.tar")
    gone, cut = sorted(p for p in other.blobs.root.rglob("*") if p.is_file())[:2]
    gone.unlink()
    cut.chmod(0o644)
    cut.write_bytes(b"")
    assert not verify(other).ok
    import_(other, tmp_path / "run.tar")
    assert verify(other).problems == []
    assert len(list(read(other, "catalog"))) == 1


def test_a_stream_that_was_made_and_never_written_is_filled(
    store: Store, other: Store, tmp_path: Path
) -> None:
    """If this failed, a writer that died at once would bar its run's name for ever."""
    fill(store)
    export(store, ["run"], tmp_path / "run.tar")
    other.stream_path("run").mkdir(parents=True)
    assert [s.what for s in import_(other, tmp_path / "run.tar").streams] == ["extended"]
    assert whole(other) == whole(store)
    assert verify(other).problems == []
