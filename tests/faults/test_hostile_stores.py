"""Stores that cannot be written, are of a later hemra, or were rearranged by somebody: read, or refused by name."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eventlog import anchor as anchors
from eventlog import manifest
from eventlog.bundle import export, import_
from eventlog.envelope import encode
from eventlog.errors import BundleError, DamageError, LogError, StoreError
from eventlog.follow import follow
from eventlog.frames import TAG, pack_unit
from eventlog.lock import NAME as LOCK
from eventlog.reader import read, read_lines, resolve, stream_state
from eventlog.repair import examine
from eventlog.schemas import conversation as c
from eventlog.seal import seal
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter
from eventlog.verify import verify
from hemra.cli.main import main
from tests.eventlog.altered import with_manifest
from tests.eventlog.conftest import filled
from tests.projections.synthetic_runs import SyntheticRun

ROOT = Path(__file__).parents[2]
FINISHED, STOPPED, TORN = "20261130-194512-aa0001", "20261130-194513-aa0002", "20261130-194514-aa0003"
#: Runs a program in a mount namespace of its own in which the store is read-only.
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'


def made_run(store: Store, name: str) -> SyntheticRun:
    """A run with every trial done, one of them with a payload in a blob."""
    run = SyntheticRun(store, name).begin()
    for number, trial in enumerate(run.trials.values()):
        run.start(trial)
        run.event(c.MessageRecorded(role="user", text="x" * (70_000 if number == 0 else 7)), trial)
        run.score(trial, "PASS", 1.0)
        run.finish(trial, reward=1.0)
    return run


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with a finished run, one that was stopped, and one with a torn tail, all without a cache."""
    store = Store.open(tmp_path_factory.mktemp("full") / "s", create=True)
    made_run(store, FINISHED).end()
    for name in (STOPPED, TORN):
        run = made_run(store, name)
        run.commit()
        run.writer.close()
    with list_segments(store.stream_path(TORN))[-1].path.open("ab") as file:
        file.write(b"torn")
    return store


def namespaces() -> bool:
    """Whether this user may mount in a namespace of its own."""
    argv = ["unshare", *_user(), "-m", "sh", "-c", READ_ONLY, "sh", "/tmp", "true"]
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def _user() -> list[str]:
    return [] if os.geteuid() == 0 else ["-r"]


def on_read_only(store: Store, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One command line on the store, which nothing in that process can write to."""
    argv = ["unshare", *_user(), "-m", "sh", "-c", READ_ONLY, "sh", str(store.path)]
    argv += [sys.executable, "-m", "hemra.cli.main", "--store", str(store.path), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return subprocess.run(argv, env=environment, cwd=cwd, capture_output=True, text=True, check=False)


READING = [
    ["runs"], ["show", FINISHED], ["show", STOPPED], ["show", TORN], ["report", FINISHED, "--format", "json"],
    ["report", STOPPED], ["report", TORN], ["compare", f"{FINISHED}:alpha", f"{FINISHED}:beta"], ["replay", FINISHED],
    ["tail", FINISHED], ["tail", TORN], ["log", "list"], ["log", "cat", FINISHED, "--resolve"], ["log", "cat", TORN],
    ["log", "verify"], ["log", "stats", STOPPED], ["log", "repair", TORN, "-n"],
    ["log", "export", FINISHED, "-o", "finished.tar"], ["log", "export", STOPPED, TORN, "-o", "others.tar"],
]  # fmt: skip


def test_every_reading_command_works_on_a_read_only_mount(full: Store, tmp_path: Path) -> None:
    """If this failed, a store on a snapshot, a CD or somebody else's disk could not be looked at or carried away."""
    if not namespaces():
        pytest.skip("needs unshare and the right to mount in a namespace of its own")
    refused = on_read_only(full, "log", "seal", STOPPED, cwd=tmp_path)
    assert (refused.returncode, "Read-only file system" in refused.stderr) == (1, True), (
        "the mount is not read-only"
    )
    for arguments in READING:
        done = on_read_only(full, *arguments, cwd=tmp_path)
        assert done.returncode == 0, (arguments, done.stderr)
        assert done.stdout or "export" in arguments, arguments
    for bundle, names in (("finished.tar", [FINISHED]), ("others.tar", [STOPPED, TORN])):
        target = Store.open(tmp_path / f"{bundle}.store", create=True)
        import_(target, tmp_path / bundle)
        for name in names:
            assert list(read_lines(target, name)) == list(read_lines(full, name))
        assert verify(target).ok


@pytest.mark.parametrize("refusal", [PermissionError, OSError])
def test_an_export_from_a_store_of_somebody_else(
    full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: type[OSError]
) -> None:
    """If this failed, only the owner of a store could carry a run away."""
    whole = io_bytes(
        full, [FINISHED, STOPPED, TORN], tmp_path / "own.tar", shutil.copytree(full.path, tmp_path / "c")
    )

    def refuse(*_: object, **__: object) -> None:
        raise refusal(30, "Read-only file system")

    monkeypatch.setattr("eventlog.bundle_hold.Lock", refuse)
    export(full, [FINISHED, STOPPED, TORN], tmp_path / "view.tar")
    assert (tmp_path / "view.tar").read_bytes() == whole


def io_bytes(full: Store, names: list[str], out: Path, copied: Path) -> bytes:
    """What an export in a store that can be written gives."""
    export(Store.open(copied), names, out)
    assert full.path != copied
    return out.read_bytes()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A small stream: a sealed segment and a live one."""
    made = Store.open(tmp_path / "s", create=True)
    filled(made, commits=2, size=2)
    StreamWriter.open(made, "run").finish()
    with StreamWriter.open(made, "run") as writer:
        writer.append(c.NoteRecorded(level="info", code="x", text="y"))
    return made


def reversioned(raw: bytes, at: int, start: int, end: int) -> bytes:
    """A header, trailer or slot with version 9 at byte `at` and its checksum (over `start` to `end`) right."""
    changed = bytearray(raw)
    changed[at : at + 2] = struct.pack("<H", 9)
    changed[end : end + 4] = struct.pack("<I", zlib.crc32(bytes(changed[start:end])))
    return bytes(changed)


def newer_header(store: Store, index: int) -> None:
    """The first header of a segment, of a later version."""
    path = list_segments(store.stream_path("run"))[index].path
    raw = path.read_bytes()
    assert raw[8:12] == TAG
    path.write_bytes(reversioned(raw, 12, 0, 4 + struct.unpack_from("<I", raw, 4)[0]))


def newer_trailer(store: Store) -> None:
    """The trailer of the sealed segment, of a later version."""
    path = list_segments(store.stream_path("run"))[0].path
    raw = path.read_bytes()
    at = raw.index(b"HMRT")
    path.write_bytes(reversioned(raw, at + 4, at, at + struct.unpack_from("<I", raw, at - 4)[0] - 4))


def newer_anchor(store: Store) -> None:
    """Both slots of a later version."""
    path = store.stream_path("run") / anchors.NAME
    raw = path.read_bytes()
    path.write_bytes(b"".join(reversioned(raw[a : a + 512], 4, 0, 508) for a in (0, 512)))


def newer_manifest(store: Store) -> None:
    """A manifest of a later version, with its digest right and a key that this hemra does not know."""
    path = store.stream_path("run") / manifest.NAME
    path.write_bytes(
        with_manifest(path.read_bytes(), lambda body: body.update(schema="hemra.manifest/2", more=1))
    )


def newer_store(store: Store) -> None:
    """The store's own marker."""
    meta = store.path / "store.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text("utf-8")), "schema": "hemra.store/2"}), "utf-8")


LATER: dict[str, Callable[[Store], None]] = {
    "first header": lambda store: newer_header(store, 0),
    "live header": lambda store: newer_header(store, 1),
    "trailer": newer_trailer,
    "anchor": newer_anchor,
    "store": newer_store,
}


@pytest.mark.parametrize("what", LATER)
def test_a_store_of_a_later_hemra_is_refused_by_name(store: Store, what: str) -> None:
    """If this failed, an old hemra would call a newer store damaged, or read it wrongly."""
    LATER[what](store)

    def everything() -> None:
        list(read(Store.open(store.path), "run"))

    def past_damage() -> None:
        list(read(Store.open(store.path), "run", on_damage=lambda _: None))

    def repairing() -> None:
        examine(Store.open(store.path), "run")

    for use in (everything, past_damage, repairing):
        with pytest.raises(StoreError, match="upgrade hemra") as told:
            use()
        assert str(store.path) in str(told.value)
        assert not isinstance(told.value, DamageError)
    if what != "store":
        assert any("upgrade hemra" in p.cause for p in verify(store).problems)
        assert not verify(store).ok


def test_a_live_segment_of_a_later_hemra_is_told_to_a_writer(store: Store) -> None:
    """If this failed, a writer would call it damage, or copy acknowledged events aside as a torn write."""
    newer_header(store, -1)
    before = [s.path.read_bytes() for s in list_segments(store.stream_path("run"))]
    with pytest.raises(StoreError, match="upgrade hemra"):
        StreamWriter.open(store, "run")
    assert [s.path.read_bytes() for s in list_segments(store.stream_path("run"))] == before


def test_a_manifest_of_a_later_hemra(store: Store) -> None:
    """If this failed, it would be called damaged, and sealed over."""
    newer_manifest(store)
    with pytest.raises(StoreError, match=r"hemra\.manifest/2.*upgrade hemra"):
        manifest.load(store.stream_path("run"))
    with pytest.raises(StoreError, match="upgrade hemra"):
        examine(store, "run")
    assert any("upgrade hemra" in p.cause for p in verify(store).problems)
    path = store.stream_path("run") / manifest.NAME
    path.write_bytes(path.read_bytes().replace(b"manifest/2", b"manifest/3"))
    with pytest.raises(DamageError, match=r"digest|read as one"):
        manifest.load(store.stream_path("run"))


def test_a_bundle_of_a_later_hemra(store: Store, tmp_path: Path) -> None:
    """If this failed, it would be called damaged."""
    export(store, ["run"], tmp_path / "b.tar")
    raw = (tmp_path / "b.tar").read_bytes()
    (tmp_path / "b.tar").write_bytes(raw.replace(b"hemra.bundle/1", b"hemra.bundle/2"))
    with pytest.raises(BundleError, match="upgrade hemra"):
        import_(Store.open(tmp_path / "t", create=True), tmp_path / "b.tar")


def test_an_event_of_a_later_version(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, its fields would be taken for what they meant before."""
    with monkeypatch.context() as patch:
        patch.setattr(c.NoteRecorded, "v", 2)
        line = encode(c.NoteRecorded(level="info", code="x", text="y"), source="s", trial=None, blobs=None)
    with StreamWriter.open(store, "run") as writer:
        writer.commit([Incoming(b"p" * 16, 1, [line])])
    with pytest.raises(StoreError, match=r"run holds a note\.recorded event of version 2.*upgrade hemra"):
        list(read(store, "run"))
    assert len(list(read(store, "run", types=("tool.*",)))) == 4
    assert any("upgrade hemra" in p.cause for p in verify(store).problems)
    assert len(list(read_lines(store, "run"))) == 6


def test_an_event_of_a_later_version_in_a_follow(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a tail would show fields of a later version as if they were its own, or call them damaged."""
    with monkeypatch.context() as patch:
        patch.setattr(c.NoteRecorded, "v", 2)
        line = encode(c.NoteRecorded(level="info", code="x", text="y"), source="s", trial=None, blobs=None)
    plain = encode(c.NoteRecorded(level="info", code="x", text="y"), source="s", trial=None, blobs=None)
    with StreamWriter.open(store, "run") as writer:
        writer.commit([Incoming(b"p" * 16, 1, [plain])])
        last = writer.last_seq
        following = follow(store, "run", start=last)
        assert next(following).seq == last
        writer.commit([Incoming(b"p" * 16, 2, [line])])
        with pytest.raises(StoreError, match=r"note\.recorded event of version 2.*upgrade hemra"):
            next(following)


def test_a_type_that_is_not_known_is_no_later_version(store: Store) -> None:
    """If this failed, a type that was added later would bar all of the log."""
    line = encode(c.NoteRecorded(level="info", code="x", text="y"), source="s", trial=None, blobs=None)
    with StreamWriter.open(store, "run") as writer:
        writer.commit([Incoming(b"p" * 16, 1, [line.replace(b"note.recorded", b"new.occurred")])])
    assert [e.type for e in read(store, "run")][-1] == "new.occurred"


def test_a_segment_of_a_later_version_is_refused_by_the_writer_too(store: Store) -> None:
    """If this failed, a writer would take a newer segment for a torn one, or call it damaged without a remedy."""
    newer_header(store, 1)
    before = {p: p.read_bytes() for p in store.stream_path("run").iterdir() if p.name != LOCK}
    with pytest.raises(LogError, match="newer than this hemra reads"):
        StreamWriter.open(store, "run")
    assert {p: p.read_bytes() for p in store.stream_path("run").iterdir() if p.name != LOCK} == before


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Store, list[bytes], list[Path]]:
    """A stream of five segments of four events, the first sealed; its lines and files."""
    made = Store.open(tmp_path / "s", create=True)
    filled(made, commits=2, size=2)
    StreamWriter.open(made, "run").finish()
    for number in range(4):
        with StreamWriter.open(made, "run") as writer:
            for text in "abcd":
                writer.append(c.NoteRecorded(level="info", code=text, text=str(number)))
    files = [segment.path for segment in list_segments(made.stream_path("run"))]
    assert len(files) == 5
    return made, list(read_lines(made, "run")), files


Parts = tuple[Store, list[bytes], list[Path]]


def named(store: Store, lines: list[bytes]) -> list[bytes]:
    """Strict reading, verifier, follower and writer all refuse; what can be read past it, is given back."""
    with pytest.raises(DamageError):
        list(read_lines(store, "run"))
    with pytest.raises(DamageError):
        list(follow(store, "run"))
    assert not verify(store).ok
    with pytest.raises(DamageError):
        StreamWriter.open(store, "run")
    rest = list(read_lines(store, "run", on_damage=lambda _: None))
    left = iter(lines)
    assert all(line in left for line in rest)
    return rest


@pytest.mark.parametrize("index", range(5))
def test_a_missing_segment_is_named(parts: Parts, index: int) -> None:
    """If this failed, a run without its middle would read as a shorter run."""
    store, lines, files = parts
    files[index].unlink()
    assert named(store, lines) == lines[: 4 * index] + lines[4 * index + 4 :]


@pytest.mark.parametrize("name", ["00000000000000000010.ndjson.zst", "00000000000000000003.ndjson.zst",
                                  "00000000000000000099.ndjson.zst", "segment.zst"])  # fmt: skip
def test_a_renamed_segment_is_named(parts: Parts, name: str) -> None:
    """If this failed, events would be read under other numbers."""
    store, lines, files = parts
    files[2].rename(files[2].with_name(name))
    rest = named(store, lines)
    assert set(lines) - set(rest) <= set(lines[8:12])


@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, 2), (1, 4), (3, 4)])
def test_swapped_segments_are_named(parts: Parts, a: int, b: int) -> None:
    """If this failed, events would be read in another order."""
    store, lines, files = parts
    first, second = files[a].read_bytes(), files[b].read_bytes()
    files[a].write_bytes(second)
    files[b].write_bytes(first)
    rest = named(store, lines)
    lost = {*lines[4 * a : 4 * a + 4], *lines[4 * b : 4 * b + 4]}
    assert set(lines) - set(rest) <= lost


@pytest.mark.parametrize("content", [b"", b"99999999\n", b"1\n", b"rubbish", b"\xff" * 5000])
def test_a_lock_that_a_dead_process_left(parts: Parts, content: bytes) -> None:
    """If this failed, a crash, or a process id that is in use again, would bar a run for ever."""
    store, lines, _ = parts
    (store.stream_path("run") / LOCK).write_bytes(content)
    state = stream_state(store, "run")
    assert (state.live, state.writer) == (False, None)
    assert list(read_lines(store, "run")) == lines
    with StreamWriter.open(store, "run") as writer:
        writer.append(c.NoteRecorded(level="info", code="x", text="y"))
        assert stream_state(store, "run").writer == os.getpid()


def test_frames_that_repeat_events_of_a_good_frame(parts: Parts) -> None:
    """If this failed, events would be counted twice."""
    store, lines, files = parts
    raw = files[1].read_bytes()
    files[1].write_bytes(raw + raw)
    got: list[Any] = list(read_lines(store, "run", on_damage=lambda _: None))
    assert got == lines


def test_a_forged_frame_with_another_stream_id(parts: Parts) -> None:
    """If this failed, a frame that somebody made would stand in for one of the run's own."""
    store, lines, files = parts
    forged = pack_unit(
        lines[4] + b"\n", stream=b"otherone", first=5, count=1, synced=4, prev=bytes(16), marks={}
    )
    files[1].write_bytes(forged.header + forged.frame)
    assert set(named(store, lines)) == set(lines[:4] + lines[8:])


def test_one_damaged_run_hides_no_other(
    full: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, nobody could see what else is in a store, or find the name to repair."""
    store = Store.open(shutil.copytree(full.path, tmp_path / "s"))
    path = list_segments(store.stream_path(FINISHED))[0].path
    path.write_bytes(path.read_bytes()[:-5])
    monkeypatch.setenv("HEMRA_STORE", str(store.path))
    assert main(["log", "list"]) == 0
    out, err = capfd.readouterr()
    assert [name in out for name in (FINISHED, STOPPED, TORN)] == [True] * 3
    assert "unreadable" in out
    assert f"{FINISHED}: {path}: damaged at byte" in err
    assert main(["log", "list", "--json"]) == 0
    listed = json.loads(capfd.readouterr().out)["streams"]
    assert [s["stream"] for s in listed if "error" in s] == [FINISHED]


def test_events_whose_payload_is_lost_are_printed_when_asked(
    full: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, one lost payload would keep all events after it from being printed whole."""
    store = Store.open(shutil.copytree(full.path, tmp_path / "s"))
    for blob in (p for p in store.blobs.root.rglob("*") if p.is_file()):
        blob.unlink()
    monkeypatch.setenv("HEMRA_STORE", str(store.path))
    assert main(["log", "cat", FINISHED, "--resolve", "--allow-damaged"]) == 0
    out, err = capfd.readouterr()
    assert out.encode().splitlines() == list(read_lines(store, FINISHED))
    assert "is as stored: blob sha256:" in err
    assert main(["log", "cat", FINISHED, "--resolve"]) == 1


def test_a_payload_that_is_not_of_its_kind(store: Store) -> None:
    """If this failed, an event that names a text as JSON would be a stack trace."""
    ref = store.blobs.put(b"\xff{")
    mark = '{"$blob":"%s","size":2,"kind":"%s","head":"x"}'
    with StreamWriter.open(store, "run") as writer:
        for number, kind in enumerate(("json", "text"), 1):
            line = encode(
                c.NoteRecorded(level="info", code="x", text="HERE"), source="s", trial=None, blobs=None
            )
            line = line.replace(b'"HERE"', (mark % (ref.digest, kind)).encode())
            writer.commit([Incoming(b"p" * 16, number, [line])])
    for event in read(store, "run", start=6):
        with pytest.raises(DamageError, match="does not read as one"):
            resolve(store, event.data)


def test_sealing_makes_a_bad_slot_good(store: Store) -> None:
    """If this failed, `hemra log verify` would call a stream unsound for ever after a torn slot."""
    StreamWriter.open(store, "run").close()
    path = store.stream_path("run") / anchors.NAME
    path.write_bytes(bytes(512) + path.read_bytes()[512:])
    seal(store, "run")
    assert verify(store, ["run"]).problems == []
