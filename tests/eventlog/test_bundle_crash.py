"""An import that is killed anywhere leaves a sound store, and the same import again completes it."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eventlog import bundle_pending, manifest, seal
from eventlog.bundle import export, import_
from eventlog.bundle_takeover import _steps
from eventlog.manifest import SealedFile
from eventlog.reader import read, stream_state
from eventlog.schemas.conversation import ArtifactStored, MessageRecorded
from eventlog.segments import Span, list_segments, name_of, visible_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify

ROOT = Path(__file__).parents[2]
#: Every point that an import passes; `replace` and `anchor` come several times in one.
POINTS = [
    "import.after_blobs", "import.after_segment", "import.after_anchor", "import.after_stream",
    "import.after_record", "replace.before_sync", "replace.before_rename", "replace.after_rename",
    "anchor.before_write", "anchor.after_sync", "commit.before_write", "commit.after_anchor",
    "seal.after_manifest",
]  # fmt: skip

#: Only a stream that exists is extended and sealed first, and only segments that are new are moved.
UNREACHED = {
    ("import.after_segment", "new"), ("import.after_anchor", "new"), ("seal.after_manifest", "new"),
    ("import.after_segment", "finished now"),
}  # fmt: skip

IMPORT = """
import sys
from pathlib import Path
from eventlog import Store, import_, seal
seal.GROUP_BYTES = seal.SMALL_BYTES = int(sys.argv[3])
import_(Store.open(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.fixture
def other(tmp_path: Path) -> Store:
    """A second, empty store."""
    return Store.open(tmp_path / "other", create=True)


def write(store: Store, name: str, events: int, *, finish: bool = False) -> None:
    """Append events, the last with a blob of its own."""
    with StreamWriter.open(store, name, create=not store.stream_path(name).exists()) as writer:
        for number in range(events - 1):
            writer.append(MessageRecorded(role="user", text=f"{name} {writer.last_seq} {number}"))
        ref = store.blobs.put(f"{name} {writer.last_seq}".encode())
        writer.append(ArtifactStored(name="out", blob=ref.digest, size=ref.size))
        if finish:
            writer.finish()


def lines(store: Store, name: str = "run") -> list[object]:
    """Every event of a stream."""
    return [(e.seq, e.id, e.type, e.data) for e in read(store, name)]


def killed(store: Store, bundle: Path, point: str, group: int) -> bool:
    """Import in a process that is killed at `point` (a name and how often); False when it is never passed."""
    environment = {**os.environ, "HEMRA_CRASH_AT": point, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", IMPORT, str(store.path), str(bundle), str(group)]
    died = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert died.returncode in (0, -9), died.stderr
    return died.returncode == -9


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("scene", ["new", "longer", "longer in many files", "finished now"])
def test_killed_at_every_point(
    store: Store, other: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scene: str, point: str
) -> None:
    """If this failed, a power cut in an import would leave a run half there, for ever, or recorded twice."""
    group = 1 if scene == "longer in many files" else 64 << 20
    monkeypatch.setattr(seal, "GROUP_BYTES", group)
    monkeypatch.setattr(seal, "SMALL_BYTES", group)
    write(store, "run", 5)
    export(store, ["run"], tmp_path / "short.tar")
    if scene != "new":
        import_(other, tmp_path / "short.tar")
    for _ in range(2 if scene.startswith("longer") else 0):
        write(store, "run", 4)
    if scene == "finished now":
        StreamWriter.open(store, "run").finish()
    write(store, "second", 3, finish=True)
    export(store, ["run", "second"], tmp_path / "all.tar")
    before = [] if scene == "new" else lines(other)
    for times in itertools.count(1):
        target = Store.open(shutil.copytree(other.path, tmp_path / f"killed {times}"))
        if not killed(target, tmp_path / "all.tar", f"{point}:{times}", group):
            assert (times == 1) == ((point, scene) in UNREACHED), f"{point} was passed {times - 1} times"
            break
        report = verify(target)
        assert report.ok, report.problems
        if "run" in target.streams():
            assert lines(target) in (before, lines(store))
        import_(target, tmp_path / "all.tar")
        assert complete(target, store)


def complete(target: Store, source: Store) -> bool:
    """Everything has arrived, and the catalog says so once."""
    for name in ("run", "second"):
        assert lines(target, name) == lines(source, name)
        assert stream_state(target, name).finished == stream_state(source, name).finished
    assert verify(target).problems == []
    assert not [
        p.name for p in target.path.iterdir() if p.name.startswith(".import") and "lock" not in p.name
    ]
    assert not list(target.path.rglob("*.tmp"))
    recorded = [e.data for e in read(target, "catalog", types=("import.recorded",))]
    assert sum(data["streams"].count("second") for data in recorded) == 1
    export(target, ["run", "second"], target.path / "again.tar")
    return True


def test_a_writer_may_come_before_the_second_try(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, a run that an import left half extended could not be written to, or exported."""
    write(store, "run", 5)
    export(store, ["run"], tmp_path / "short.tar")
    import_(other, tmp_path / "short.tar")
    write(store, "run", 4)
    export(store, ["run"], tmp_path / "long.tar")
    assert killed(other, tmp_path / "long.tar", "import.after_segment", 64 << 20)
    StreamWriter.open(other, "run").close()
    assert lines(other) == lines(store)
    assert verify(other).ok
    export(other, ["run"], tmp_path / "other.tar")
    assert import_(other, tmp_path / "long.tar").changed  # the catalog did not know of it yet
    assert not import_(other, tmp_path / "long.tar").changed
    assert len(list(read(other, "catalog"))) == 2


def files(*ends: int) -> list[SealedFile]:
    """Sealed files that end at these events."""
    begins = [1, *(end + 1 for end in ends)]
    return [
        SealedFile(name_of(a), 1, [Span(a, b, b - a + 1, 1, "0" * 64, "0" * 64, "0" * 32)])
        for a, b in zip(begins, ends, strict=False)
    ]


def seen(on_disk: dict[int, int]) -> list[int]:
    """The events that are visible among files (first -> last), as `visible_segments` passes over what is covered."""
    events: list[int] = []
    for first, last in sorted(on_disk.items()):
        if not events or first > events[-1]:
            events += range(first, last + 1)
    return events


def test_every_step_of_an_extension_keeps_what_there_was() -> None:
    """If this failed, files that are cut otherwise than the store's would hide events between two steps."""
    ends = [list(cut) for n in range(1, 4) for cut in itertools.combinations(range(1, 7), n)]
    tried = 0
    for ours, theirs in itertools.product(ends, ends):
        if theirs[-1] <= ours[-1]:
            continue
        disk = {f.first: f.last for f in files(*ours)}
        for step in _steps(files(*ours), files(*theirs)):
            disk[step.first] = step.last
            got = seen(disk)
            assert got == list(range(1, len(got) + 1))
            assert len(got) >= ours[-1], (ours, theirs, step.first)
        assert got == list(range(1, theirs[-1] + 1))
        tried += 1
    assert tried > 100
    assert _steps(files(6), files(3, 6)) == []


def test_files_that_are_cut_otherwise(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, a store that had merged its files could not take in the rest of its own run."""
    for events in (5, 4, 6):
        write(store, "run", events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seal, "GROUP_BYTES", 1)
        patch.setattr(seal, "SMALL_BYTES", 1)
        export(store, ["run"], tmp_path / "short.tar")
        write(store, "run", 3)
        export(store, ["run"], tmp_path / "long.tar")
        import_(other, tmp_path / "short.tar")
    seal.seal(other, "run")
    assert len(list_segments(other.stream_path("run"))) == 1
    import_(other, tmp_path / "long.tar")
    assert lines(other) == lines(store)
    assert verify(other).problems == []
    assert [s.path for s in visible_segments(other.stream_path("run"))] == [
        s.path for s in list_segments(other.stream_path("run"))
    ]
    assert manifest.load(other.stream_path("run")).last == 18


def test_two_imports_that_were_cut_short(store: Store, other: Store, tmp_path: Path) -> None:
    """If this failed, a second import would make the store forget what the first one had begun."""
    for name in ("a", "b"):
        write(store, name, 5)
        export(store, [name], tmp_path / f"{name} short.tar")
        import_(other, tmp_path / f"{name} short.tar")
        write(store, name, 4)
        export(store, [name], tmp_path / f"{name}.tar")
    for name in ("a", "b"):
        assert killed(other, tmp_path / f"{name}.tar", "import.after_segment", 64 << 20)
        assert verify(other).ok
    assert len(bundle_pending.load(other)) == 2
    for name in ("a", "b"):
        import_(other, tmp_path / f"{name}.tar")
        assert lines(other, name) == lines(store, name)
    assert bundle_pending.load(other) == {}
    assert verify(other).problems == []
