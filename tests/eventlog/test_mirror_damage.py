"""What comes damaged or from a source that lies is found before it counts, and leaves the copy as it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventlog.bus import address_of
from eventlog.bus_peer import Waker
from eventlog.errors import LogError
from eventlog.follow import follow
from eventlog.frames import NO_LINK
from eventlog.mirror import messages, sealed
from eventlog.mirror.checked import check_units
from eventlog.mirror.copying import Copying
from eventlog.mirror.errors import BadPeer
from eventlog.mirror.landing import Landing
from eventlog.mirror.messages import ANSWER, ASK, Head, SealedFile, Units
from eventlog.mirror.note import Note
from eventlog.mirror.source import PieceOf, StoreSource
from eventlog.mirror.wakes import Wakes
from eventlog.reader import read_lines
from eventlog.store import Store
from eventlog.stream import StreamWriter

from .mirroring import assert_identical, event, record, recorded, sound

OF = Note(of="a test", store="x")


@pytest.fixture
def there(tmp_path: Path) -> Store:
    """The source's store."""
    return Store.open(tmp_path / "there", create=True)


@pytest.fixture
def here(tmp_path: Path) -> Store:
    """The copy's store."""
    return Store.open(tmp_path / "here", create=True)


def test_every_byte_of_live_units_is_checked(there: Store) -> None:
    """One bit that flips on the way, or at the source, must never become part of an event."""
    record(there, "run", 4)
    source = StoreSource(there)
    units, data = source.units("run", 0, NO_LINK, wait=False)
    end = bytes.fromhex(units.end)
    stream = bytes.fromhex(source.head("run").id)
    source.close()
    assert check_units(data, stream=stream, after=0, link=NO_LINK, end=end).last == 4
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << (at % 8)
        with pytest.raises(BadPeer):
            check_units(bytes(damaged), stream=stream, after=0, link=NO_LINK, end=end)
    for at in range(1, len(data)):
        with pytest.raises(BadPeer):
            check_units(data[:at], stream=stream, after=0, link=NO_LINK, end=end)


def test_every_byte_of_a_sealed_file_is_checked(there: Store, here: Store) -> None:
    """A sealed file takes the place of good ones: no bit of it may be another."""
    recorded(there, parts=(3, 2))
    source = StoreSource(there)
    head = source.head("run")
    (file,) = head.sealed
    good = b"".join(source.sealed_pieces("run", file, 0, 1 << 30))
    source.close()
    landing = Landing.open(here, "run", head, OF)
    part = landing.part_of(file)
    part.write_bytes(good)
    assert sealed.check(landing, file, part, None, lambda: None) == set()
    for at in range(len(good)):
        damaged = bytearray(good)
        damaged[at] ^= 1 << (at % 8)
        part.write_bytes(damaged)
        with pytest.raises(BadPeer):
            sealed.check(landing, file, part, None, lambda: None)
        assert not part.exists()
    landing.close()


class Lying(StoreSource):
    """A source some of whose answers are made up."""

    lie = ""

    def head(self, stream: str) -> Head:
        """Of another stream, or one that claims more than there is."""
        head = super().head(stream)
        if self.lie == "id":
            return msgspec.structs.replace(head, id="00" * 8)
        if self.lie == "longer":
            return msgspec.structs.replace(head, last=head.last + 5)
        if self.lie == "chain" and head.sealed:
            file = head.sealed[0]
            span = msgspec.structs.replace(file.spans[0], chain="0" * 64)
            return msgspec.structs.replace(
                head, sealed=[msgspec.structs.replace(file, spans=[span, *file.spans[1:]])]
            )
        return head

    def units(self, stream: str, after: int, link: bytes, *, wait: bool) -> tuple[Units, bytes]:
        """Twice the same, with a hole, or nothing although there is more."""
        units, data = super().units(stream, after, link, wait=wait)
        if self.lie == "twice":
            return units, data + data
        if self.lie == "hole":
            return units, data[len(data) // 2 :]
        if self.lie == "nothing":
            return units, b""
        return units, data

    def sealed_pieces(self, stream: str, file: SealedFile, offset: int, most: int) -> Iterator[bytes]:
        """Too much, too little, or something else."""
        for data in super().sealed_pieces(stream, file, offset, most):
            yield {"more": data + b"x", "less": data[:-1], "other": bytes(len(data))}.get(self.lie, data)
            if self.lie == "less":
                return

    def blob_pieces(self, wanted: Sequence[tuple[str, int]]) -> Iterator[PieceOf]:
        """Another blob, one without an end, or one that is longer than it says."""
        for size, data in super().blob_pieces(wanted):
            if self.lie == "blob":
                yield PieceOf(size, bytes(len(data)))
            elif self.lie == "endless":
                yield PieceOf(1 << 40, b"")
            elif self.lie == "overlong":
                yield PieceOf(10, data)
            else:
                yield PieceOf(size, data)


LIVE_LIES = ["id", "longer", "twice", "hole", "nothing", "blob", "endless", "overlong"]
SEALED_LIES = ["id", "chain", "more", "less", "other", "blob", "endless", "overlong"]


@pytest.mark.parametrize(
    ("finish", "lie"), [(False, x) for x in LIVE_LIES] + [(True, x) for x in SEALED_LIES]
)
def test_a_source_that_lies_is_refused(there: Store, here: Store, finish: bool, lie: str) -> None:
    """The digests decide, not the source: what it makes up does not get in, and an honest source can go on."""
    record(there, "run", 30, blob_every=10, finish=finish)
    source = Lying(there)
    source.lie = lie
    copying = Copying(here, "run")
    with pytest.raises(BadPeer):
        copying.round(source, follow=False)
    copying.close()
    source.close()
    sound(here)
    whole = list(read_lines(there, "run"))
    got = list(read_lines(here, "run"))
    assert got == whole[: len(got)]
    if lie == "id":
        return  # the copy was begun as one of another stream: see the test of runs that share a name
    honest = StoreSource(there)
    copying = Copying(here, "run")
    copied = copying.round(honest, follow=False)
    copying.close()
    honest.close()
    assert copied.last == 30
    assert list(read_lines(here, "run")) == whole
    if finish:
        assert_identical(here, there)


_bytes = st.binary(max_size=400)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_names = st.sampled_from(
    ["ask", "answer", "stream", "seq", "first", "last", "bytes", "head", "push", "gethead"]
)


@settings(max_examples=300, deadline=None)
@given(_bytes | st.dictionaries(_names, _json | _names, max_size=5).map(msgspec.json.encode))
def test_no_message_does_more_than_fail(content: bytes) -> None:
    """Whatever a peer sends is a message or is refused: nothing else may come out of reading it."""
    for decoder in (ASK, ANSWER):
        try:
            found = decoder.decode(content)
        except ValueError:
            continue
        assert isinstance(found, messages.Ask | messages.Answer)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=600))
def test_no_bytes_pass_for_units(content: bytes) -> None:
    """Bytes that nobody wrote are refused, whatever they are."""
    if content:
        with pytest.raises(BadPeer):
            check_units(content, stream=bytes(8), after=0, link=NO_LINK, end=NO_LINK)


def test_followers_of_a_copy_are_woken(here: Store) -> None:
    """Without wake-ups a tail of a copy lags by the file system's notice, tens of milliseconds."""
    record(here, "run", 1)
    wakes = Wakes(here, "run")
    waker = Waker(address_of(here.path, "run").wakes)
    assert not waker.wait(0.05)
    woken = threading.Event()
    thread = threading.Thread(target=lambda: woken.set() if waker.wait(5) else None)
    thread.start()
    while not woken.is_set():
        wakes.wake()
        woken.wait(0.01)
    thread.join()
    wakes.close()
    wakes.close()
    waker.close()
    assert not address_of(here.path, "run").wakes.exists()


def test_a_recorder_takes_over_where_wake_ups_came_from(here: Store) -> None:
    """A copy that was killed leaves its socket: the next holder must not stumble over it."""
    record(here, "run", 2)
    first, second = Wakes(here, "run"), Wakes(here, "run")
    second.close()
    first.close()
    with StreamWriter.open(here, "run") as writer:
        writer.append(event(3))
        writer.finish()
    assert [e.seq for e in follow(here, "run")] == [1, 2, 3]


def test_a_blob_that_the_source_lacks_is_named(there: Store, here: Store) -> None:
    """An event without its payload must not get in as if it were whole; the line says which blob is missing."""
    record(there, "run", 10, blob_every=10)
    for blob in there.blobs.root.rglob("*"):
        if blob.is_file():
            blob.unlink()
    source, copying = StoreSource(there), Copying(here, "run")
    with pytest.raises(LogError, match=r"blob sha256:.* is not in this store"):
        copying.round(source, follow=False)
    copying.close()
    source.close()
    sound(here)
    assert list(read_lines(here, "run")) == []
