"""Verification finds what is lost beside the frames too: anchors and manifests that are old, odd or gone."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from eventlog import anchor as anchors
from eventlog import bundle_pending, manifest, seal, segments
from eventlog import verify as verifying
from eventlog.bundle_pending import Pending
from eventlog.errors import DamageError, StreamNotFound
from eventlog.reader import read
from eventlog.schemas.conversation import ToolCalled
from eventlog.segments import is_sealed, list_segments, trailer_of, visible_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from eventlog.verify_report import VerifyReport
from tests.eventlog.altered import SPAN_LIES, TRAILER_LIES, with_manifest, with_trailer
from tests.eventlog.conftest import filled, incoming


def checked(store: Store, name: str = "run") -> VerifyReport:
    """The report on one stream."""
    return verify(store, [name])


def errors(store: Store) -> list[str]:
    """The causes of all errors, each after the name of its file."""
    return [f"{p.path.name}: {p.cause}" for p in checked(store).problems if p.severity == "error"]


def notes(store: Store) -> list[str]:
    """The causes of all notes."""
    return [p.cause for p in checked(store).problems if p.severity == "note"]


def sealed(store: Store, parts: int = 1) -> Path:
    """A finished stream whose last part of 4 events was added `parts - 1` times; returns its directory."""
    filled(store, commits=2, size=2)
    for producer in range(2, parts + 1):
        with StreamWriter.open(store, "run") as writer:
            writer.commit([incoming(producer, 1, 4)])
    StreamWriter.open(store, "run").finish()
    return store.stream_path("run")


def in_files(store: Store, monkeypatch: pytest.MonkeyPatch, parts: int = 3) -> Path:
    """As `sealed`, with one file a part."""
    monkeypatch.setattr(seal, "SMALL_BYTES", 1)
    monkeypatch.setattr(seal, "GROUP_BYTES", 1)
    directory = sealed(store, parts)
    assert len(list_segments(directory)) == parts
    return directory


def test_an_old_anchor_over_sealed_events(store: Store) -> None:
    """If this failed, an anchor from a backup would hide acknowledged events from every reader, called sound."""
    filled(store, commits=3, size=2)
    path = store.stream_path("run") / anchors.NAME
    old = path.read_bytes()
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(2, 1, 9)])
        writer.finish()
    assert checked(store).problems == []
    path.write_bytes(old)
    (found,) = errors(store)
    assert found.startswith("anchor: it is older than the stream: events 7 to 15 were acknowledged")
    with StreamWriter.open(store, "run") as writer:
        assert writer.last_seq == 15  # what the error names is there to be had again
    assert checked(store).ok


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("garbage", [b"", b"\0" * 100])
def test_an_old_anchor_over_events_that_later_headers_prove(store: Store, live: bool, garbage: bytes) -> None:
    """If this failed, the same, in a stream that nobody sealed yet."""
    filled(store, commits=1, size=2)
    path = store.stream_path("run") / anchors.NAME
    old = path.read_bytes()
    with StreamWriter.open(store, "run") as writer:
        for number in range(4):
            writer.commit([incoming(2, 1 + 2 * number, 2)])
    raw = list_segments(store.stream_path("run"))[1].path.read_bytes()
    with StreamWriter.open(store, "run") as writer:
        path.write_bytes(old)
        list_segments(store.stream_path("run"))[1].path.write_bytes(garbage + raw)
        if not live:
            writer.close()
            path.write_bytes(old)
        # The last header says that event 8 was durable; of 9 and 10 nobody says so.
        (found,) = [e for e in errors(store) if "older" in e]
        assert "events 3 to 8 were acknowledged, and it stands at 2" in found
        assert not any("never acknowledged" in n for n in notes(store))


def test_one_commit_above_the_anchor_is_only_noted(store: Store) -> None:
    """If this failed, every crash between a sync and its anchor would be called damage."""
    filled(store, commits=2, size=2)
    path = store.stream_path("run") / anchors.NAME
    old = path.read_bytes()
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(2, 1, 2)])
    path.write_bytes(old)
    assert errors(store) == []
    (found,) = notes(store)
    assert "above the anchor were never acknowledged" in found


def test_a_missing_manifest(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, the one file that chains all digests could be deleted unseen."""
    directory = sealed(store)
    (directory / manifest.NAME).unlink()
    assert errors(store) == ["manifest.json: the manifest is missing, and events up to 4 are sealed"]
    other = Store.open(tmp_path / "other", create=True)
    directory = in_files(other, monkeypatch)
    StreamWriter.open(other, "run").close()
    mark = anchors.load(directory)
    assert mark is not None
    anchors.Anchor(directory, mark._replace(state=anchors.OPEN)).close()
    (directory / manifest.NAME).unlink()
    assert errors(other) == ["manifest.json: the manifest is missing, and events up to 12 are sealed"]


def test_a_first_seal_that_was_killed_or_goes_on_is_only_noted(store: Store) -> None:
    """If this failed, a crash in a seal would be called tampering."""
    directory = sealed(store)
    (directory / manifest.NAME).unlink()
    mark = anchors.load(directory)
    assert mark is not None
    anchors.Anchor(directory, mark._replace(state=anchors.OPEN)).close()
    assert errors(store) == []
    assert len(notes(store)) == 1
    with StreamWriter.open(store, "run"):
        assert errors(store) == []


def test_a_manifest_that_a_killed_seal_left_behind_is_only_noted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, a crash between a rename and the manifest would make a store unsound."""
    directory = in_files(store, monkeypatch, parts=2)
    path = directory / manifest.NAME
    before = path.read_bytes()
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(7, 1, 4)])
        writer.finish()
    path.write_bytes(before)  # more was sealed
    assert (errors(store), len(notes(store))) == ([], 1)
    seal.seal(store, "run")
    assert checked(store).problems == []
    before = path.read_bytes()
    monkeypatch.undo()
    seal.seal(store, "run")
    assert len(list_segments(directory)) == 1
    path.write_bytes(before)  # the same was merged
    assert (errors(store), len(notes(store))) == ([], 1)


def test_a_manifest_of_other_segments(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a sealed file that was lost or exchanged would go unseen."""
    directory = in_files(store, monkeypatch)
    path = directory / manifest.NAME
    whole = path.read_bytes()
    list_segments(directory)[2].path.unlink()
    assert any("names other sealed segments" in e for e in errors(store))
    path.write_bytes(with_manifest(whole, lambda body: body["segments"][0].update(size=7)))
    assert any("names other sealed segments" in e for e in errors(store))
    path.write_bytes(
        with_manifest(whole, lambda body: body["segments"][1]["spans"][0].update(chain="0" * 64))
    )
    assert "manifest.json: the chain breaks at events 5 to 8" in errors(store)


def test_a_chain_that_breaks_in_the_trailers(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a segment from elsewhere could be put in together with a manifest left behind."""
    directory = in_files(store, monkeypatch)
    path = list_segments(directory)[2].path
    path.write_bytes(
        with_trailer(path.read_bytes(), lambda trailer: trailer["spans"][0].update(chain="0" * 64))
    )
    written = (directory / manifest.NAME).read_bytes()
    (directory / manifest.NAME).write_bytes(with_manifest(written, lambda body: body["segments"].pop()))
    assert errors(store) == ["manifest.json: the chain breaks at events 9 to 12"]


def test_a_stream_whose_maker_died_at_once(store: Store) -> None:
    """If this failed, a kill between making the folder and the anchor would make the whole store unsound."""
    store.stream_path("run").mkdir(parents=True)
    assert (errors(store), len(notes(store))) == ([], 1)
    (store.stream_path("run") / "lock").touch()
    assert (errors(store), len(notes(store))) == ([], 1)
    directory = sealed_in_another(store)
    for name in (manifest.NAME, list_segments(directory)[0].path.name):
        shutil.copy(directory / name, store.stream_path("run") / name)
        assert any("anchor is missing" in e for e in errors(store))
        (store.stream_path("run") / name).unlink()


def sealed_in_another(store: Store) -> Path:
    """The directory of a sound stream beside `run`."""
    filled(store, "other")
    StreamWriter.open(store, "other").finish()
    return store.stream_path("other")


@pytest.mark.parametrize("lie", TRAILER_LIES)
def test_a_trailer_that_says_what_cannot_be(store: Store, lie: str) -> None:
    """If this failed, a reader or the verifier would loop, break, or believe it."""
    directory = sealed(store)
    (segment,) = list_segments(directory)
    segment.path.write_bytes(with_trailer(segment.path.read_bytes(), TRAILER_LIES[lie]))
    with pytest.raises(DamageError):
        trailer_of(segment)
    with pytest.raises(DamageError):
        visible_segments(directory)
    assert any(e.startswith(segment.path.name) for e in errors(store))


@pytest.mark.parametrize("lie", SPAN_LIES)
def test_a_manifest_that_says_what_cannot_be(store: Store, lie: str) -> None:
    """If this failed, a manifest could name what no segment can hold."""
    directory = sealed(store)
    path = directory / manifest.NAME
    path.write_bytes(with_manifest(path.read_bytes(), lambda body: SPAN_LIES[lie](body["segments"][0])))
    with pytest.raises(DamageError):
        manifest.load(directory)
    assert any(e.startswith(manifest.NAME) for e in errors(store))


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"5", b"null", b"[" * 100_000, b"\xff\xfe", b'{"segments":[]}', b'{"schema":5}',
     b'{"schema":"hemra.manifest/9"}', b'{"schema":"hemra.manifest/1","segments":[],"digest":5}',
     b'{"schema":"hemra.manifest/1","segments":[{"file":"../x","size":1,"spans":[]}],"digest":""}'],
)  # fmt: skip
def test_a_file_that_is_no_manifest(store: Store, content: bytes) -> None:
    """If this failed, an odd manifest would be a stack trace."""
    directory = sealed(store)
    (directory / manifest.NAME).write_bytes(content)
    with pytest.raises(DamageError):
        manifest.load(directory)
    assert errors(store)


def test_a_manifest_with_a_gap_or_another_beginning(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, the spans of a manifest could leave events out."""
    directory = in_files(store, monkeypatch)
    path = directory / manifest.NAME
    whole = path.read_bytes()
    for index in (0, 1):
        path.write_bytes(with_manifest(whole, lambda body, index=index: body["segments"].pop(index)))  # type: ignore[misc]
        with pytest.raises(DamageError, match="should follow"):
            manifest.load(directory)


def test_spans_that_share_their_events_otherwise(store: Store) -> None:
    """If this failed, a trailer could say of a range that it holds events of the next one."""
    directory = sealed(store, parts=2)
    (segment,) = list_segments(directory)

    def shift(trailer: dict[str, Any]) -> None:
        first, second = trailer["spans"]
        first.update(last=5, events=5)
        second.update(first=6, events=3)

    segment.path.write_bytes(with_trailer(segment.path.read_bytes(), shift))
    assert any("events 1 to 5 do not match" in e for e in errors(store))


def test_a_trailer_of_fewer_or_more_events_than_there_are(store: Store) -> None:
    """If this failed, a sealed file could hold events that no span stands for, or lack some."""
    directory = sealed(store, parts=2)
    (segment,) = list_segments(directory)
    raw = segment.path.read_bytes()
    segment.path.write_bytes(with_trailer(raw, lambda trailer: trailer["spans"].pop()))
    assert any("the frames end at event 8" in e for e in errors(store))
    more = {"first": 9, "last": 9, "events": 1, "bytes": 1}
    segment.path.write_bytes(
        with_trailer(raw, lambda trailer: trailer["spans"].append({**trailer["spans"][0], **more}))
    )
    assert any("the frames end at event 8" in e for e in errors(store))


def test_a_trailer_that_names_another_last_frame(store: Store) -> None:
    """If this failed, the last frame of a sealed file could be another one with the same content."""
    directory = sealed(store)
    (segment,) = list_segments(directory)
    raw = segment.path.read_bytes()
    segment.path.write_bytes(with_trailer(raw, lambda trailer: trailer.update(link="0" * 32)))
    assert any("not the one that the trailer names" in e for e in errors(store))


@pytest.mark.parametrize("name", ["segment", manifest.NAME, anchors.NAME])
def test_files_cut_anywhere(store: Store, name: str) -> None:
    """If this failed, a file that a full disk or a copy cut short would be a stack trace, or sound."""
    directory = sealed(store)
    path = list_segments(directory)[0].path if name == "segment" else directory / name
    raw = path.read_bytes()
    for end in range(len(raw) - 1):
        path.write_bytes(raw[:end])
        assert errors(store), end


#: A pipe is left out where it would have to stand under a fixed name: opening one waits for its writer.
IN_PLACE = [(n, k) for n in ("segment", manifest.NAME, anchors.NAME, "lock") for k in ("folder", "link")]


@pytest.mark.parametrize(("name", "kind"), [*IN_PLACE, ("segment", "pipe")])
def test_what_stands_in_place_of_a_file(store: Store, name: str, kind: str) -> None:
    """If this failed, a folder, dangling link or pipe among the files would be a stack trace or a standstill."""
    directory = sealed(store)
    path = list_segments(directory)[0].path if name == "segment" else directory / name
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(directory / "nowhere")
    else:
        os.mkfifo(path)
    report = checked(store)
    assert report.ok == (name == "lock"), report.problems


def test_an_anchor_of_a_newer_version_is_a_problem_and_no_exception(store: Store) -> None:
    """If this failed, one stream of a newer hemra would hide what is wrong with all others."""
    directory = sealed(store)
    with StreamWriter.open(store, "zzz", create=True) as writer:
        writer.append(ToolCalled(call="c", name="t", arguments=None))
    path = directory / anchors.NAME
    mark = anchors.load(directory)
    assert mark is not None
    body = bytearray(anchors._pack(mark)[:-4])
    body[4] = 9
    slot = bytes(body) + struct.pack("<I", zlib.crc32(body))
    path.write_bytes(slot * 2)
    report = verify(store)
    assert [s.stream for s in report.streams] == ["run", "zzz"]
    assert [p.cause for p in report.problems if "upgrade" in p.cause]
    assert {p.stream for p in report.problems} == {"run"}


def test_a_stream_that_is_sealed_meanwhile(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, verifying while a run ends would raise, or call sound segments damaged."""
    filled(store, commits=2, size=2)
    for producer in (2, 3):
        with StreamWriter.open(store, "run") as writer:
            writer.commit([incoming(producer, 1, 4)])
    original, looks = verifying.visible_segments, []

    def then_merge(directory: Path) -> list[segments.Segment]:
        found = original(directory)
        looks.append(found)
        if len(looks) == 1:
            seal.seal(store, "run")
        return found

    monkeypatch.setattr(verifying, "visible_segments", then_merge)
    report = checked(store)
    assert [len(found) for found in looks] == [3, 1]
    assert report.problems == []
    assert (report.streams[0].segments, report.streams[0].events) == (1, 12)


def test_segments_that_vanish_while_they_are_listed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, whoever looks at a stream in the instant of a merge would get an error."""
    filled(store, commits=2, size=2)
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(2, 1, 4)])
    directory = store.stream_path("run")
    stale = list_segments(directory)
    seal.seal(store, "run")
    answers = [stale, stale]
    original = segments.list_segments
    monkeypatch.setattr(segments, "list_segments", lambda d: answers.pop() if answers else original(d))
    assert len(visible_segments(directory)) == 1
    assert is_sealed(visible_segments(directory)[0])
    shutil.rmtree(directory)
    answers.append(stale)
    with pytest.raises(StreamNotFound, match="no longer"):
        visible_segments(directory)


def test_payloads_inside_payloads_are_checked(store: Store) -> None:
    """If this failed, a run would be called sound that can be neither shown whole nor exported."""
    with StreamWriter.open(store, "run", create=True) as writer:
        writer.append(ToolCalled(call="c", name="t", arguments={str(n): "y" * 3000 for n in range(300)}))
        writer.append(ToolCalled(call="c", name="t", arguments=[["z" * 70_000]]))
    whole = checked(store)
    assert whole.ok
    blobs = [p for p in store.blobs.root.rglob("*") if p.is_file()]
    assert whole.streams[0].blobs == len(blobs) > 1
    for blob in blobs:
        kept = blob.read_bytes()
        blob.unlink()
        assert any(blob.name in e for e in errors(store))
        blob.write_bytes(kept)
    assert checked(store).ok


def test_an_import_that_was_cut_short_is_told_from_an_old_anchor(store: Store) -> None:
    """If this failed, a killed import would read as damage, or an old anchor as a killed import."""
    filled(store, commits=1, size=4)
    path = store.stream_path("run") / anchors.NAME
    old = path.read_bytes()
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(2, 1, 4)])
        writer.finish()
    path.write_bytes(old)
    bundle_pending.begin(store, "sha256:x", Pending(streams={"run": 7}, catalog_last=0))
    assert errors(store)
    bundle_pending.begin(store, "sha256:x", Pending(streams={"run": 8}, catalog_last=0))
    assert errors(store) == []
    assert any("import the bundle again" in n for n in notes(store))
    bundle_pending.end(store, "sha256:x")
    assert errors(store)
    (store.path / bundle_pending.NAME).write_bytes(b"{")
    assert errors(store)


EXPORTING = """
import io, sys
from eventlog import Store, export
export(Store.open(sys.argv[1]), ["run"], io.BytesIO())
"""


@pytest.mark.parametrize("point", ["seal.before_rename", "seal.after_rename", "seal.after_manifest"])
def test_a_first_seal_for_an_export_that_is_killed_leaves_a_sound_store(store: Store, point: str) -> None:
    """If this failed, killing an export would make a run unsound: sealed, and without a manifest."""
    filled(store)
    environment = {**os.environ, "HEMRA_CRASH_AT": point, "PYTHONPATH": str(Path(__file__).parents[2])}
    died = subprocess.run([sys.executable, "-c", EXPORTING, str(store.path)], env=environment, check=False)
    assert died.returncode == -9
    assert errors(store) == []
    seal.seal(store, "run")
    assert checked(store).problems == []


SEALING = """
import sys
from eventlog import Store
from eventlog.stream import StreamWriter
StreamWriter.open(Store.open(sys.argv[1]), "run").finish()
"""


@pytest.mark.parametrize("point", ["seal.before_rename", "seal.after_rename", "seal.after_manifest"])
def test_a_later_seal_that_is_killed_leaves_a_sound_store(store: Store, point: str) -> None:
    """If this failed, killing a recorder at its end would make its run unsound."""
    sealed(store)
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(2, 1, 4)])
    environment = {**os.environ, "HEMRA_CRASH_AT": point, "PYTHONPATH": str(Path(__file__).parents[2])}
    died = subprocess.run([sys.executable, "-c", SEALING, str(store.path)], env=environment, check=False)
    assert died.returncode == -9
    assert errors(store) == []
    assert [e.seq for e in read(store, "run")] == list(range(1, 9))
    seal.seal(store, "run")
    assert checked(store).problems == []
