"""Damage is always found and named; torn tails are cut only where nothing acknowledged is lost."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from eventlog import anchor as anchors
from eventlog.errors import DamageError
from eventlog.frames import NotAUnit, SeekTable, pack_unit, walk_headers
from eventlog.lock import is_held
from eventlog.reader import read
from eventlog.recovery import CUT, DAMAGE, verdict
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from tests.eventlog.conftest import filled, incoming


def calls(store: Store) -> list[str]:
    """The `call` of every event in the stream."""
    return [e.data["call"] for e in read(store, "run")]


@pytest.mark.parametrize(
    ("last", "durable", "following", "expected"),
    [
        (last, durable, following, expected)
        for last, durable, (following, expected) in (
            *itertools.product([5], [3, 5, 8], [(6, CUT), (7, DAMAGE), (5, DAMAGE), (9, DAMAGE)]),
            *((5, d, (None, CUT if d <= 5 else DAMAGE)) for d in (0, 4, 5, 6, 9)),
        )
    ],
)
def test_the_recovery_table(last: int, durable: int, following: int | None, expected: str) -> None:
    """If this failed, recovery would cut what was acknowledged, or refuse what is only torn."""
    assert verdict(last=last, durable=durable, next_first=following) == expected


def test_units_missing_doubled_or_swapped_are_named(store: Store) -> None:
    """If this failed, zstd's blindness to whole frames would be ours."""
    expected = filled(store, commits=6, size=2)
    (segment,) = list_segments(store.stream_path("run"))
    raw = segment.path.read_bytes()
    with segment.path.open("rb") as file:
        cuts = [h.offset for h in walk_headers(file)] + [len(raw)]
    units = [raw[a:b] for a, b in itertools.pairwise(cuts)]
    orders = [[*units[:i], *units[i + 1 :]] for i in range(6)]
    orders += [[*units[: i + 1], *units[i:]] for i in range(5)]  # a doubled last one lies above the mark
    for i, j in itertools.combinations(range(6), 2):
        swapped = list(units)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        orders.append(swapped)
    for order in orders:
        segment.path.write_bytes(b"".join(order))
        with pytest.raises(DamageError):
            calls(store)
        with pytest.raises(DamageError):
            StreamWriter.open(store, "run")
        assert not is_held(store.stream_path("run") / "lock")
    segment.path.write_bytes(raw)
    assert calls(store) == expected


def test_a_unit_from_another_stream_is_refused(store: Store) -> None:
    """If this failed, a segment copied from another run would be read as this one's."""
    filled(store, "run")
    filled(store, "other")
    (ours,), (theirs,) = (list_segments(store.stream_path(n)) for n in ("run", "other"))
    shutil.copy(theirs.path, ours.path)
    with pytest.raises(DamageError):
        StreamWriter.open(store, "run")
    assert not verify(store, ["run"]).ok


def test_the_rest_is_readable_past_damage(store: Store) -> None:
    """If this failed, one bad frame would cost every event after it."""
    expected = filled(store, commits=5, size=4)
    (segment,) = list_segments(store.stream_path("run"))
    with segment.path.open("rb") as file:
        third = list(walk_headers(file))[2]
    raw = bytearray(segment.path.read_bytes())
    raw[third.offset + third.size + 5] ^= 1
    segment.path.write_bytes(raw)
    found: list[DamageError] = []
    got = [e.data["call"] for e in read(store, "run", on_damage=found.append)]
    assert got == expected[:8] + expected[12:]
    assert any(d.path == segment.path and d.offset == third.offset for d in found)
    with pytest.raises(DamageError, match=str(third.offset)):
        calls(store)


@pytest.mark.parametrize("tail", [b"", b"\0" * 4096, b"\x50\x2a\x4d\x18rubbish", b"(\xb5/\xfd"])
def test_torn_tail_at_every_byte(store: Store, tmp_path: Path, tail: bytes) -> None:
    """If this failed, a power cut in mid-commit would lose an acknowledged event or invent one."""
    expected = filled(store, commits=2, size=2)
    directory = store.stream_path("run")
    (segment,) = list_segments(directory)
    durable = segment.path.read_bytes()
    saved_anchor = (directory / anchors.NAME).read_bytes()
    mark = anchors.load(directory)
    assert mark is not None
    packed = pack_unit(
        b'{"seq":5,"id":"i","time":"t","mono":1,"type":"t","v":1,"source":"s","trial":null,"data":{"call":"new"}}\n',
        stream=mark.stream, first=5, count=1, synced=4, prev=mark.link, marks={b"q" * 16: 1},
    )  # fmt: skip
    unit = packed.header + packed.frame
    for cut in range(len(unit) + 1):
        for leftover in directory.glob("*.zst"):
            leftover.unlink()
        segment.path.write_bytes(durable + unit[:cut] + tail)
        (directory / anchors.NAME).write_bytes(saved_anchor)
        shutil.rmtree(directory / "torn", ignore_errors=True)
        assert calls(store) == expected
        with StreamWriter.open(store, "run") as writer:
            whole = cut == len(unit)
            assert writer.last_seq == (5 if whole else 4)
            assert len(writer.recovered.cut) == (1 if (0 < cut < len(unit) or tail) else 0)
            writer.commit([incoming(9, 1, 1)])
        assert calls(store) == expected + (["new"] if whole else []) + ["9:1"]
        torn = b"".join(p.read_bytes() for p in sorted((directory / "torn").glob("*")) if p.is_file())
        assert torn == (tail if whole else unit[:cut] + tail)
    assert verify(store, ["run"]).ok


def test_damage_below_the_mark_is_never_cut(store: Store) -> None:
    """If this failed, rot in acknowledged events would be mistaken for a torn write and removed."""
    filled(store, commits=3, size=2)
    (segment,) = list_segments(store.stream_path("run"))
    raw = segment.path.read_bytes()
    for end in range(0, len(raw), 11):
        segment.path.write_bytes(raw[:end])
        with pytest.raises(DamageError):
            StreamWriter.open(store, "run")
        assert segment.path.read_bytes() == raw[:end]
    segment.path.write_bytes(raw)


def test_a_lost_anchor_still_protects_all_but_the_last_commit(store: Store) -> None:
    """If this failed, deleting the anchor would turn damage in the middle into a torn tail."""
    filled(store, commits=4, size=2)
    directory = store.stream_path("run")
    (directory / anchors.NAME).unlink()
    (segment,) = list_segments(directory)
    with segment.path.open("rb") as file:
        second = list(walk_headers(file))[1]
    raw = bytearray(segment.path.read_bytes())
    raw[second.offset + second.size + 4] ^= 1
    segment.path.write_bytes(raw)
    with pytest.raises(DamageError):
        StreamWriter.open(store, "run")


def test_newer_versions_are_refused_by_name(store: Store) -> None:
    """If this failed, an old hemra would misread a newer store."""
    from eventlog.errors import StoreError

    (store.path / "store.json").write_text('{"schema": "hemra.store/9", "id": "x"}')
    with pytest.raises(StoreError, match="upgrade"):
        Store.open(store.path)


def test_seek_table_matches_the_published_format() -> None:
    """If this failed, other zstd seekable readers could not open a sealed segment."""
    table = SeekTable()
    table.add_unit(100, 5000, b"frame-bytes-\x01\x02\x03\x04")
    table.add_skippable(40)
    raw = table.pack()
    assert raw[:4] == bytes.fromhex("5e2a4d18")
    assert int.from_bytes(raw[4:8], "little") == len(raw) - 8 == 3 * 12 + 9
    assert raw[8:20] == (100).to_bytes(4, "little") + bytes(4) + bytes.fromhex("99e9d851")
    assert raw[20:32] == (16).to_bytes(4, "little") + (5000).to_bytes(4, "little") + b"\x01\x02\x03\x04"
    assert raw[-9:] == (3).to_bytes(4, "little") + b"\x80" + bytes.fromhex("b1ea928f")


def test_header_claims_are_not_believed(tmp_path: Path) -> None:
    """If this failed, a hostile header could make a reader allocate what it asks for."""
    from eventlog.frames import read_header

    packed = pack_unit(b"{}\n", stream=b"s" * 8, first=1, count=1, synced=0, prev=bytes(16), marks={})
    path = tmp_path / "x"
    path.write_bytes(packed.header[:40] + b"\xff\xff\xff\x7f" + packed.header[44:] + packed.frame)
    with path.open("rb") as file, pytest.raises(NotAUnit):
        read_header(file, 0)


def test_the_rest_is_readable_around_missing_units(store: Store) -> None:
    """If this failed, a missing frame or segment would cost sound events beside it."""
    expected = filled(store, commits=6, size=2)
    for producer in (2, 3):
        with StreamWriter.open(store, "run") as writer:
            writer.commit([incoming(producer, 1, 4)])
            writer.commit([incoming(producer, 5, 4)])
        expected += [f"{producer}:{n}" for n in range(1, 9)]
    segments = list_segments(store.stream_path("run"))

    def rest() -> list[str]:
        found: list[DamageError] = []
        got = [e.data["call"] for e in read(store, "run", on_damage=found.append)]
        assert found
        return got

    raw = segments[0].path.read_bytes()
    with segments[0].path.open("rb") as file:
        third = list(walk_headers(file))[2]
    segments[0].path.write_bytes(raw[: third.offset] + raw[third.end :])
    assert rest() == expected[:4] + expected[6:]
    segments[0].path.write_bytes(raw)
    bounds = [s.first for s in segments] + [len(expected) + 1]
    for index, segment in enumerate(segments):
        kept = segment.path.read_bytes()
        segment.path.unlink()
        assert rest() == expected[: bounds[index] - 1] + expected[bounds[index + 1] - 1 :]
        segment.path.write_bytes(kept)
    assert calls(store) == expected


def test_a_bad_seek_table_costs_no_event(store: Store) -> None:
    """If this failed, one bit beside the frames of a sealed file would hide everything after it."""
    expected = filled(store)
    StreamWriter.open(store, "run").finish()
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(2, 1, 4)])
    expected += [f"2:{n}" for n in range(1, 5)]
    sealed = list_segments(store.stream_path("run"))[0].path
    raw = bytearray(sealed.read_bytes())
    raw[-3] ^= 1
    sealed.write_bytes(raw)
    found: list[DamageError] = []
    assert [e.data["call"] for e in read(store, "run", on_damage=found.append)] == expected
    assert found


def test_sealing_without_an_anchor_keeps_everything(store: Store) -> None:
    """If this failed, sealing a stream whose anchor was lost would throw its events away."""
    from eventlog.seal import seal

    expected = filled(store)
    (store.stream_path("run") / anchors.NAME).unlink()
    seal(store, "run")
    assert calls(store) == expected
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(2, 1, 1)])
    assert calls(store) == [*expected, "2:1"]
    assert verify(store, ["run"]).ok


def test_sealing_keeps_whole_units_above_the_mark(store: Store) -> None:
    """If this failed, sealing after a crash would drop events that the next writer would have kept."""
    from eventlog.seal import seal

    filled(store, commits=1, size=2)
    directory = store.stream_path("run")
    stale = (directory / anchors.NAME).read_bytes()
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(2, 1, 3)])
    (directory / anchors.NAME).write_bytes(stale)
    seal(store, "run")
    assert calls(store) == ["1:1", "1:2", "2:1", "2:2", "2:3"]


def test_sealing_refuses_a_sealed_file_that_was_altered(store: Store) -> None:
    """If this failed, merging would give altered events a clean new file."""
    from eventlog.frames import pack_trailer
    from eventlog.seal import seal
    from eventlog.segments import trailer_of

    filled(store)
    StreamWriter.open(store, "run").finish()
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(2, 1, 1)])
    segment = list_segments(store.stream_path("run"))[0]
    trailer = trailer_of(segment).to_json()
    raw = segment.path.read_bytes()
    trailer["spans"][0]["sha256"] = "0" * 64
    old = pack_trailer(trailer_of(segment).to_json())
    segment.path.write_bytes(raw.replace(old, pack_trailer(trailer)))
    with pytest.raises(DamageError, match="digest"):
        seal(store, "run")
