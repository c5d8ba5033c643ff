"""Every bit and every byte of a small store: whatever becomes of it is found, named, and never read as an event.

The bytes that carry no meaning, and what is therefore no error there, stand in `EXCUSED`, one by one.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from eventlog import anchor as anchors
from eventlog.blobs import BlobNotFound
from eventlog.errors import DamageError
from eventlog.frames import is_trailer, walk_headers
from eventlog.reader import read, read_lines, resolve
from eventlog.schemas.conversation import ArtifactStored
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from eventlog.verify_report import Problem
from tests.eventlog.conftest import incoming

#: What is done to a file -> why what it touches is no error in that file (a note at most).
EXCUSED = {
    ("live", "append"): "bytes above the anchor were never acknowledged: a torn write looks like this",
    (
        "manifest",
        "space",
    ): "white space between the tokens of JSON carries no meaning; its digest is over the content",
}
#: What strict reading need not notice, because it does not touch it; the verifier has to.
UNTOUCHED = {
    "manifest": "the manifest is for the verifier; a reader goes by the segments",
    "anchor": "two slots: the other one stands for the same events, or reading is refused",
    "seek table": "it is for other programs; a reader uses its last entry and its footer only",
}


@dataclass
class Scene:
    """A store with one stream: a sealed segment, a live one, and a blob. `lines` are its events."""

    store: Store
    files: dict[str, Path]
    lines: list[bytes]
    kept: dict[str, bytes]

    def restore(self, name: str) -> None:
        """Put one file back."""
        self.files[name].unlink(missing_ok=True)
        self.files[name].write_bytes(self.kept[name])

    def put(self, name: str, content: bytes) -> None:
        """Other content for a file. Never cut to nothing first: some file systems then write to the disk at once."""
        fd = os.open(self.files[name], os.O_WRONLY)
        os.pwrite(fd, content, 0)
        os.ftruncate(fd, len(content))
        os.close(fd)

    def found(self) -> list[Problem]:
        """What the verifier says."""
        return verify(self.store, ["run"]).problems

    def strict(self, *, payloads: bool = True) -> DamageError | BlobNotFound | None:
        """What strict reading of all events and payloads raises. It gives all events, or a beginning of them."""
        got = []
        try:
            for line in read_lines(self.store, "run"):
                got.append(line)
            for event in read(self.store, "run", types=("artifact.stored",)) if payloads else ():
                self.store.blobs.get(event.data["blob"])
                resolve(self.store, event.data)
        except (DamageError, BlobNotFound) as error:
            assert got == self.lines[: len(got)]
            return error
        assert got == self.lines
        return None

    def passes_over(self) -> None:
        """Reading past damage gives nothing but events, in order."""
        left = iter(self.lines)
        for line in read_lines(self.store, "run", on_damage=lambda _: None):
            assert line in left


@pytest.fixture
def scene(quick: Path) -> Scene:
    """The store; tests change one file at a time."""
    store = Store.open(quick / "s", create=True)
    with StreamWriter.open(store, "run", create=True) as writer:
        ref = store.blobs.put(b"artifact of some bytes")
        writer.append(ArtifactStored(name="o", blob=ref.digest, size=ref.size), source="t")
        writer.finish()
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(1, 1, 1)])
        writer.commit([incoming(1, 2, 1)])
    directory = store.stream_path("run")
    sealed, live = (segment.path for segment in list_segments(directory))
    files = {"sealed": sealed, "live": live, "manifest": directory / "manifest.json",
             "anchor": directory / anchors.NAME, "blob": store.blobs.path(ref.digest)}  # fmt: skip
    files["blob"].chmod(0o644)
    kept = {name: path.read_bytes() for name, path in files.items()}
    made = Scene(store, files, list(read_lines(store, "run")), kept)
    assert made.found() == []
    assert made.strict() is None
    return made


def seek_table(scene: Scene) -> int:
    """Where the sealed segment's seek table begins."""
    with scene.files["sealed"].open("rb") as file:
        end = max(h.end for h in walk_headers(file))
        assert is_trailer(file, end)
        return end + 8 + int.from_bytes(scene.kept["sealed"][end + 4 : end + 8], "little")


def check(scene: Scene, name: str, changed: bytes, place: int, table: int) -> str | None:
    """What went wrong after `name` was changed at `place` to `changed`; None when it was found and named."""
    path = scene.files[name]
    scene.put(name, changed)
    excused = name == "live" and changed.startswith(scene.kept[name]) and bool(EXCUSED["live", "append"])
    problems = [p for p in scene.found() if p.severity == ("note" if excused else "error")]
    if not any(p.path == path and p.stream == "run" and 0 <= p.offset <= len(changed) for p in problems):
        return f"the verifier does not name it: {problems}"
    if name == "manifest":
        return None
    raised = scene.strict(payloads=name == "blob")
    untouched = name in UNTOUCHED or (name == "sealed" and place >= table)
    if raised is None:
        return None if untouched or excused else "strict reading does not see it"
    if isinstance(raised, DamageError) and (raised.path != path or str(raised.offset) not in str(raised)):
        return f"strict reading names something else: {raised}"
    if place % 3 == 0 and name in ("sealed", "live", "anchor"):
        scene.passes_over()
    return None


def bits(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Each bit flipped."""
    for index, bit in itertools.product(range(len(raw)), range(8)):
        yield index, raw[:index] + bytes([raw[index] ^ (1 << bit)]) + raw[index + 1 :]


def cuts(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Cut at each offset."""
    return ((end, raw[:end]) for end in range(len(raw)))


def edits(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Each byte removed, doubled, zeroed, or swapped with the next; what changes nothing is left out."""
    for index in range(len(raw)):
        byte, rest = raw[index : index + 1], raw[index + 1 :]
        yield index, raw[:index] + rest
        yield index, raw[:index] + byte + byte + rest
        yield index, raw[:index] + b"\0" + rest
        yield index, raw[:index] + rest[:1] + byte + rest[1:]


@pytest.mark.parametrize("name", ["sealed", "live", "manifest", "anchor", "blob"])
@pytest.mark.parametrize("damage", [bits, cuts, edits])
def test_every_byte(scene: Scene, name: str, damage: Callable[[bytes], Iterator[tuple[int, bytes]]]) -> None:
    """If this failed, some damage of one byte would go unseen, be named wrongly, or be read as an event."""
    raw, table, wrong, tried = scene.kept[name], seek_table(scene), [], {scene.kept[name]}
    for place, changed in damage(raw):
        if changed in tried or (name == "manifest" and _same_tokens(raw, changed)):
            continue
        tried.add(changed)
        if (told := check(scene, name, changed, place, table)) is not None:
            wrong.append((place, changed[max(0, place - 3) : place + 3], told))
    assert wrong[:3] == []
    assert len(tried) > len(set(raw))
    scene.restore(name)
    assert scene.found() == []


def _same_tokens(raw: bytes, changed: bytes) -> bool:
    """Whether two JSON texts differ in white space between tokens only: hemra's own writes none inside texts."""
    assert EXCUSED["manifest", "space"]
    return raw.split() == changed.split() or b"".join(raw.split()) == b"".join(changed.split())


GARBAGE = [b"\0", b"\0" * 512, b"rubbish", b"\n", bytes.fromhex("502a4d18"), bytes.fromhex("28b52ffd")]


@pytest.mark.parametrize("name", ["sealed", "live", "manifest", "anchor", "blob"])
@pytest.mark.parametrize("garbage", GARBAGE)
def test_appended_bytes(scene: Scene, name: str, garbage: bytes) -> None:
    """If this failed, bytes behind a file would go unseen."""
    raw = scene.kept[name]
    if name == "manifest" and garbage.isspace():
        assert EXCUSED["manifest", "space"]
        return
    assert check(scene, name, raw + garbage, len(raw), seek_table(scene)) is None
    if name == "live":
        assert scene.strict() is None  # what stands above the anchor is no event, and no harm


@pytest.mark.parametrize("name", ["sealed", "live", "manifest", "anchor", "blob"])
def test_removed_emptied_and_zeroed_files(scene: Scene, name: str) -> None:
    """If this failed, a file that is gone, or that a crashed file system filled with zeros, would go unseen."""
    raw, table = scene.kept[name], seek_table(scene)
    for content in (b"", bytes(len(raw)), bytes(4096)):
        assert check(scene, name, content, 0, table) is None
    scene.files[name].unlink()
    assert any(p.severity == "error" for p in scene.found())
    raised = scene.strict()
    assert (raised is None) == (name == "manifest"), raised
    scene.passes_over() if name != "blob" else None
    scene.restore(name)
    assert scene.found() == []


def test_files_swapped_and_doubled(scene: Scene) -> None:
    """If this failed, a segment under another's name would be read as that one's events."""
    sealed, live = scene.kept["sealed"], scene.kept["live"]
    later = scene.files["live"].with_name("00000000000000000009.ndjson.zst")
    for a, b in ((live, sealed), (sealed, sealed), (live, live)):
        scene.put("sealed", a)
        scene.put("live", b)
        assert {p.path for p in scene.found() if p.severity == "error"} & set(scene.files.values())
        assert isinstance(scene.strict(), DamageError)
        scene.passes_over()
    scene.put("sealed", sealed)
    scene.put("live", live)
    later.write_bytes(sealed)
    assert any(p.path == later and p.severity == "error" for p in scene.found())
    assert isinstance(scene.strict(), DamageError)
    later.write_bytes(live)
    assert [p.path for p in scene.found() if p.severity == "error"] == [later]
    assert scene.strict() is None  # above the anchor: not read, and not what a writer leaves either


@pytest.mark.parametrize("ending", ["killed", "killed in a new segment", "closed"])
@pytest.mark.parametrize("index", [0, 1])
def test_a_slot_that_is_lost_hides_no_event(scene: Scene, quick: Path, ending: str, index: int) -> None:
    """If this failed, the older slot would make a stream shorter, and nobody would be told."""
    writer = StreamWriter.open(scene.store, "run")
    writer.commit([incoming(2, 1, 1)])
    if ending == "killed in a new segment":
        writer._roll()
        writer.commit([incoming(2, 2, 1)])
    if ending == "closed":
        writer.close()
    copy = Store.open(
        shutil.copytree(scene.store.path, quick / "copy")
    )  # as a kill leaves it: nobody has the lock
    whole = list(read_lines(copy, "run"))
    writer.close()
    path = copy.stream_path("run") / anchors.NAME
    broken = bytearray(path.read_bytes())
    broken[512 * index + 40] ^= 1
    path.write_bytes(broken)
    told: list[DamageError] = []
    assert list(read_lines(copy, "run", on_damage=told.append)) == whole
    if told:  # what stands above the other slot: refused, and not left out
        with pytest.raises(
            DamageError, match=f"damaged at byte {512 * index}: a slot is damaged, and whether event"
        ):
            list(read_lines(copy, "run"))
    else:
        assert list(read_lines(copy, "run")) == whole
    assert any(p.path == path and p.offset == 512 * index for p in verify(copy, ["run"]).problems)
