"""A repaired copy: everything that is left, nothing else, and exactly what is missing; the original is as it was."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from eventlog import anchor as anchors
from eventlog import manifest, seal
from eventlog import salvage as salvaging
from eventlog.bundle import export, import_
from eventlog.errors import LogError, RepairError, StreamBusy
from eventlog.frames import Header, find_header, pack_unit, walk_headers
from eventlog.reader import read, read_lines, stream_state
from eventlog.repair import examine, repair
from eventlog.repair_report import RepairReport
from eventlog.schemas.conversation import ArtifactStored, ToolCalled
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from hemra.cli.main import main
from tests.eventlog.conftest import incoming

EVENTS = 24


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A stream of 24 events in a sealed segment (1 to 8) and two live ones (9 to 16, 17 to 24), two a frame."""
    made = Store.open(tmp_path / "s", create=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            seal, "SEALED_CONTENT", 1
        )  # a frame a unit, so that a bad one costs two events here too
        with StreamWriter.open(made, "run", create=True) as writer:
            for first in range(1, 9, 2):
                writer.commit([incoming(1, first, 2)])
            writer.finish()
    for producer in (2, 3):
        with StreamWriter.open(made, "run") as writer:
            for first in range(1, 9, 2):
                writer.commit([incoming(producer, first, 2)])
    assert verify(made).problems == []
    return made


def files(store: Store) -> dict[str, bytes]:
    """Every byte of a store."""
    return {
        str(p.relative_to(store.path)): p.read_bytes() for p in sorted(store.path.rglob("*")) if p.is_file()
    }


def headers(store: Store, index: int) -> list[Header]:
    """The frames of a segment."""
    with list_segments(store.stream_path("run"))[index].path.open("rb") as file:
        return list(walk_headers(file))


def lines(store: Store) -> list[bytes]:
    """Every event as stored."""
    return list(read_lines(store, "run"))


def repaired(store: Store, lost: list[int], **kept: int) -> tuple[RepairReport, Store]:
    """Repair, and check what holds of every repair: only `lost` is missing, and everybody is told."""
    before = files(store)
    report = repair(store, "run", store.path.parent / "copy")
    target = Store.open(store.path.parent / "copy")
    assert files(store) == before
    assert verify(target).ok, verify(target).problems
    got = {event.seq: event for event in read(target, "run")}
    assert list(got) == list(range(1, report.last + 2))
    assert got[report.last + 1].type == "stream.repaired"
    assert [seq for seq in got if got[seq].type == "event.lost"] == lost
    assert [
        seq for lost_range in report.ranges for seq in range(lost_range.first, lost_range.last + 1)
    ] == lost
    assert (report.lost, report.kept) == (len(lost), report.last - len(lost))
    assert any("repaired copy" in p.cause for p in verify(target).problems)
    assert report.target == str(target.path)
    return report, target


def kept_as_they_were(original: list[bytes], copy: Store, lost: list[int]) -> bool:
    """Every event that is left has its number and its bytes."""
    return all(
        a == b for seq, (a, b) in enumerate(zip(original, lines(copy), strict=False), 1) if seq not in lost
    )


def flip(path: Path, offset: int, bits: int = 2) -> None:
    """One bit, and that of the byte after it: one alone is given back."""
    raw = bytearray(path.read_bytes())
    for place in range(offset, offset + bits):
        raw[place] ^= 4
    path.chmod(0o644)
    path.write_bytes(raw)


@pytest.mark.parametrize(("segment", "frame"), list(itertools.product(range(3), range(4))))
@pytest.mark.parametrize("part", ["header", "frame"])
def test_a_damaged_frame_costs_its_own_events(store: Store, segment: int, frame: int, part: str) -> None:
    """If this failed, one bit would cost more than its frame, or the copy would not say what."""
    whole, place = lines(store), headers(store, segment)[frame]
    path = list_segments(store.stream_path("run"))[segment].path
    flip(path, place.offset + (30 if part == "header" else place.size + 12))
    lost = [place.first, place.last]
    report, copy = repaired(store, lost)
    assert kept_as_they_were(whole, copy, lost)
    (missing,) = report.ranges
    assert (missing.file, missing.offset) == (path.name, place.offset)
    assert missing.frames == (None if part == "header" else 1)
    (damage,) = [d for d in report.damage if d.offset == place.offset]
    assert (damage.file, damage.bytes) == (path.name, place.end - place.offset)


@pytest.mark.parametrize("segment", range(3))
@pytest.mark.parametrize("frame", [0, 3])
def test_one_flipped_bit_costs_nothing(store: Store, segment: int, frame: int) -> None:
    """If this failed, the most frequent damage would cost a whole frame: in a sealed file, thousands of events."""
    whole, place = lines(store), headers(store, segment)[frame]
    path = list_segments(store.stream_path("run"))[segment].path
    raw = path.read_bytes()
    for offset in (place.offset, place.offset + 30, place.offset + place.size + 12, place.end - 1):
        flip(path, offset, 1)
        report, copy = repaired(store, [])
        assert kept_as_they_were(whole, copy, [])
        (damage,) = [d for d in report.damage if d.offset == place.offset]
        assert "one bit was flipped" in damage.cause
        shutil.rmtree(copy.path)
        path.write_bytes(raw)


def test_trying_for_bits_has_an_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a large damaged frame would keep a repair busy for hours."""
    flip(list_segments(store.stream_path("run"))[1].path, headers(store, 1)[1].offset + 30, 1)
    monkeypatch.setattr(salvaging, "MOST_WORK", 1000)
    assert repaired(store, [11, 12])[0].lost == 2


@pytest.mark.parametrize("index", range(3))
def test_a_missing_segment(store: Store, index: int) -> None:
    """If this failed, events behind a missing file would be lost with it, or their numbers would change."""
    whole = lines(store)
    list_segments(store.stream_path("run"))[index].path.unlink()
    lost = list(range(1 + 8 * index, 9 + 8 * index))
    report, copy = repaired(store, lost)
    assert kept_as_they_were(whole, copy, lost)
    (missing,) = report.ranges
    assert (missing.cause, missing.file) == ("no segment holds them", None)


@pytest.mark.parametrize("name", [anchors.NAME, manifest.NAME])
@pytest.mark.parametrize("how", ["gone", "zeros", "one slot"])
def test_a_lost_anchor_or_manifest_costs_no_event(store: Store, name: str, how: str) -> None:
    """If this failed, a file beside the events would cost events."""
    whole, path = lines(store), store.stream_path("run") / name
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(bytes(1024) if how == "zeros" else bytes(512) + path.read_bytes()[512:])
    report, copy = repaired(store, [])
    assert kept_as_they_were(whole, copy, [])
    lost_anchor = name == anchors.NAME and how != "one slot"
    assert (report.end is not None) == lost_anchor
    assert stream_state(copy, "run").finished is False


def test_a_damaged_seal_costs_no_event(store: Store) -> None:
    """If this failed, a bad trailer or seek table would cost the events before it."""
    whole = lines(store)
    path = list_segments(store.stream_path("run"))[0].path
    raw = path.read_bytes()
    end = headers(store, 0)[-1].end
    for place in (end + 30, len(raw) - 3, end + 2):
        flip(path, place)
        report, copy = repaired(store, [])
        assert kept_as_they_were(whole, copy, [])
        assert any(d.file == path.name for d in report.damage) or report.problems
        shutil.rmtree(copy.path)
        path.write_bytes(raw)
    path.write_bytes(raw[:end])
    assert kept_as_they_were(whole, repaired(store, [])[1], [])


def test_files_that_have_each_others_names(store: Store) -> None:
    """If this failed, a store whose files a tool renamed would be lost although every byte is there."""
    whole = lines(store)
    paths = [segment.path for segment in list_segments(store.stream_path("run"))]
    contents = [path.read_bytes() for path in paths]
    for order in itertools.permutations(range(3)):
        if order != (0, 1, 2):
            for path, index in zip(paths, order, strict=True):
                path.write_bytes(contents[index])
            _, copy = repaired(store, [])
            assert kept_as_they_were(whole, copy, [])
            shutil.rmtree(copy.path)


def test_frames_out_of_their_place_are_found(store: Store) -> None:
    """If this failed, frames that were written to a wrong place would be given up."""
    whole = lines(store)
    path = list_segments(store.stream_path("run"))[1].path
    raw = path.read_bytes()
    cuts = [header.offset for header in headers(store, 1)] + [len(raw)]
    units = [raw[a:b] for a, b in itertools.pairwise(cuts)]
    for order in itertools.permutations(range(4)):
        if order != (0, 1, 2, 3):
            path.write_bytes(b"".join(units[index] for index in order))
            _, copy = repaired(store, [])
            assert kept_as_they_were(whole, copy, [])
            shutil.rmtree(copy.path)


def test_what_nobody_acknowledged_is_not_taken_for_what_is_missing(store: Store) -> None:
    """If this failed, the rest of a failed write would stand in for the events that came instead of it."""
    directory = store.stream_path("run")
    second, third = (segment.path for segment in list_segments(directory)[1:])
    mark = anchors.load(directory)
    assert mark is not None
    last = headers(store, 1)[-1]
    with second.open("rb") as file:
        from eventlog.frames import read_unit

        link = read_unit(file, last.offset).link
    line = b'{"seq":17,"id":"x","time":"t","mono":1,"type":"t","v":1,"source":"s","trial":null,"data":{}}\n'
    refused = pack_unit(line, stream=mark.stream, first=17, count=1, synced=16, prev=link, marks={})
    second.write_bytes(second.read_bytes() + refused.header + refused.frame)
    flip(third, headers(store, 2)[0].offset + 30)
    _, copy = repaired(store, [17, 18])
    assert b'"id":"x"' not in b"".join(lines(copy))


def test_frames_of_another_stream_are_none(store: Store) -> None:
    """If this failed, another run's events would be taken into this one."""
    with StreamWriter.open(store, "other", create=True) as writer:
        for first in range(1, 17, 2):
            writer.commit([incoming(9, first, 2)])
    (theirs,) = list_segments(store.stream_path("other"))
    shutil.copy(theirs.path, list_segments(store.stream_path("run"))[1].path)
    report, _ = repaired(store, list(range(9, 17)))
    assert "another stream" in report.ranges[0].cause


def test_events_that_were_altered_are_lost(store: Store) -> None:
    """If this failed, a sealed file with right checksums over other content would be believed."""
    from eventlog.frames import SeekTable, content_of, pack_trailer, read_trailer, walk

    path = list_segments(store.stream_path("run"))[0].path
    out, table, link = b"", SeekTable(), bytes(16)
    with path.open("rb") as file:
        for unit in walk(file):
            header, content = unit.header, content_of(unit).replace(b'"call":"1:3"', b'"call":"9:9"')
            packed = pack_unit(content, stream=header.stream, first=header.first, count=header.events,
                               synced=header.synced, prev=link, marks={}, sealed=True)  # fmt: skip
            out, link = out + packed.header + packed.frame, packed.link
            table.add_unit(len(packed.header), len(content), packed.frame)
        body, _ = read_trailer(path, file, header.end)
    trailer = pack_trailer({**body, "link": link.hex()})
    table.add_skippable(len(trailer))
    path.write_bytes(out + trailer + table.pack())
    report, copy = repaired(store, list(range(1, 9)))
    assert "do not match the digest" in report.ranges[0].cause
    assert b'"9:9"' not in b"".join(lines(copy))


def blobs(store: Store) -> dict[str, Path]:
    """Blobs by what they are: an artifact's, and the payload of a large event."""
    with StreamWriter.open(store, "run") as writer:
        ref = store.blobs.put(b"artifact")
        writer.append(ArtifactStored(name="out", blob=ref.digest, size=ref.size))
        writer.append(ToolCalled(call="c", name="t", arguments={"text": "y" * 70_000}))
        writer.append(ToolCalled(call="c", name="t", arguments={str(n): "z" * 3000 for n in range(300)}))
    paths = [p for p in store.blobs.root.rglob("*") if p.is_file()]
    text = next(p for p in paths if p.read_bytes() == b"y" * 70_000)
    nested = max((p for p in paths if p.read_bytes().startswith(b"{")), key=lambda p: p.stat().st_size)
    return {"artifact": store.blobs.path(ref.digest), "text": text, "nested": nested}


@pytest.mark.parametrize("which", ["artifact", "text", "nested"])
@pytest.mark.parametrize("how", ["rotten", "gone", "cut"])
def test_a_lost_payload_is_named_with_its_events(store: Store, which: str, how: str) -> None:
    """If this failed, a rotten payload would be carried on as good, or the copy would be unsound for its lack."""
    path = blobs(store)[which]
    whole = lines(store)
    if how == "rotten":
        flip(path, 3)
    elif how == "gone":
        path.unlink()
    else:
        path.chmod(0o644)
        path.write_bytes(path.read_bytes()[:-1])
    report, copy = repaired(store, [])
    assert kept_as_they_were(whole, copy, [])
    (lost,) = report.lost_blobs
    assert lost.digest == f"sha256:{path.parent.name}{path.name}"
    assert lost.events == [{"artifact": 25, "text": 26, "nested": 27}[which]]
    assert (store.path / lost.file) == path
    assert not (copy.path / lost.file).exists()
    assert any("payload" in p.cause for p in verify(copy).problems)
    export(copy, ["run"], copy.path / "b.tar")
    other = Store.open(store.path.parent / "other", create=True)
    import_(other, copy.path / "b.tar")
    assert verify(other).ok


def test_a_copy_can_be_gone_on_with_carried_and_repaired_again(store: Store) -> None:
    """If this failed, a rescued run would be a dead end."""
    flip(list_segments(store.stream_path("run"))[1].path, headers(store, 1)[1].offset + 30)
    _, copy = repaired(store, [11, 12])
    with StreamWriter.open(copy, "run") as writer:
        writer.commit([incoming(4, 1, 4)])
        writer.finish()
    export(copy, ["run"], copy.path / "b.tar")
    with pytest.raises(LogError, match="part at event 11"):
        import_(store_sound_again(store), copy.path / "b.tar")
    again = Store.open(store.path.parent / "again", create=True)
    import_(again, copy.path / "b.tar")
    (again.stream_path("run") / manifest.NAME).unlink()
    report = repair(again, "run", store.path.parent / "last")
    last = Store.open(store.path.parent / "last")
    assert (report.lost, report.last) == (0, 29)
    assert verify(last).ok
    assert stream_state(last, "run").finished
    assert [e.seq for e in read(last, "run", types=("event.lost",))] == [11, 12]


def store_sound_again(store: Store) -> Store:
    """The damage undone."""
    place = find_first_bad(store)
    flip(list_segments(store.stream_path("run"))[1].path, place + 30)
    assert verify(store).ok
    return store


def find_first_bad(store: Store) -> int:
    """Offset of the frame that was damaged: what follows the first whole one."""
    with list_segments(store.stream_path("run"))[1].path.open("rb") as file:
        first = find_header(file, 0)
        assert first is not None
        return first.end


def test_a_sound_stream_is_left_alone(store: Store) -> None:
    """If this failed, a copy that says that it is repaired would stand beside a sound original."""
    report = repair(store, "run", store.path.parent / "copy")
    assert (report.sound, report.target, report.lost) == (True, None, 0)
    assert not (store.path.parent / "copy").exists()


def test_what_cannot_be_repaired_says_why_and_leaves_nothing(store: Store, tmp_path: Path) -> None:
    """If this failed, a refused repair would touch the original or leave half a copy."""
    list_segments(store.stream_path("run"))[1].path.unlink()
    before = files(store)
    with pytest.raises(RepairError, match="never touched"):
        repair(store, "run", store.path)
    (tmp_path / "link").symlink_to(store.path)
    with pytest.raises(RepairError, match="never touched"):
        repair(store, "run", tmp_path / "link")
    target = Store.open(tmp_path / "t", create=True)
    StreamWriter.open(target, "run", create=True).close()
    with pytest.raises(RepairError, match="has a stream run already"):
        repair(store, "run", target.path)
    for segment in list_segments(store.stream_path("run")):
        segment.path.write_bytes(b"rubbish")
    with pytest.raises(RepairError, match="nothing is left of run"):
        repair(store, "run", tmp_path / "e")
    assert not (tmp_path / "e").exists()
    assert set(files(store)) == set(before)


def test_a_stream_that_is_being_written_is_not_repaired(store: Store, tmp_path: Path) -> None:
    """If this failed, half a commit would be taken for damage."""
    (store.stream_path("run") / manifest.NAME).unlink()
    with StreamWriter.open(store, "run"), pytest.raises(StreamBusy, match="when the run has ended"):
        repair(store, "run", tmp_path / "t")


def test_a_claim_of_endless_events_is_refused(store: Store, tmp_path: Path) -> None:
    """If this failed, a forged header could make a repair write for ever."""
    directory = store.stream_path("run")
    mark = anchors.load(directory)
    assert mark is not None
    forged = pack_unit(
        b"{}\n", stream=mark.stream, first=1 << 60, count=1, synced=0, prev=bytes(16), marks={}
    )
    (directory / f"{1 << 60:020d}.ndjson.zst").write_bytes(forged.header + forged.frame)
    with pytest.raises(RepairError, match="10000000 at most"):
        examine(store, "run")


@pytest.fixture
def run(store: Store, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., tuple[int, bytes, bytes]]:
    """The command line, on the store."""

    def ran(*arguments: str) -> tuple[int, bytes, bytes]:
        kept = os.dup(sys.stdout.fileno())  # a command that fails leaves nothing to write to
        code = main(["--store", str(store.path), *arguments])
        os.dup2(kept, sys.stdout.fileno())
        os.close(kept)
        out, err = capfdbinary.readouterr()
        return code, out, err

    return ran


def test_the_command(store: Store, run: Callable[..., tuple[int, bytes, bytes]]) -> None:
    """If this failed, nobody could repair a run without writing a program."""
    assert run("log", "repair", "run", "-n")[0] == 0
    code, out, _ = run("log", "repair", "run", "--json")
    assert (code, json.loads(out)["sound"], json.loads(out)["schema"]) == (0, True, "hemra.repair/1")
    flip(list_segments(store.stream_path("run"))[1].path, headers(store, 1)[1].offset + 30)
    before = files(store)
    code, out, _ = run("log", "repair", "run", "-n")
    assert code == 1
    assert b"missing: events 11 to 12: header checksum is wrong [00000000000000000009.ndjson.zst: byte" in out
    assert not (store.path.parent / "s.repaired").exists()
    code, out, err = run("log", "repair", "run")
    assert (code, b"22 of 24 events" in out, b"s.repaired" in err) == (0, True, True)
    assert files(store) == before
    code, out, _ = run("log", "verify", "--store", str(store.path.parent / "s.repaired"), "--json")
    assert (code, json.loads(out)["ok"]) == (0, True)
    code, _, err = run("log", "repair", "run")
    assert (code, err.count(b"\n")) == (1, 1)
    code, out, _ = run("log", "repair", "run", "-o", str(store.path.parent / "else where"), "--json")
    document = json.loads(out)
    assert (code, document["lost"], document["ranges"][0]["first"]) == (0, 2, 11)
    code, _, err = run("log", "repair", "run", "-o", str(store.path))
    assert (code, b"never touched" in err) == (1, True)
    assert run("log", "repair", "nothing")[0] == 5
