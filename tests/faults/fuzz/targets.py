"""The fuzz targets: each hands bytes to one part of the log, which may return or raise the log's own error.

Whatever else a target raises, or an assertion of its own, is a finding. Targets whose input stands behind a
checksum get the checksum made right, so that what is behind it is reached too.
"""

from __future__ import annotations

import io
import json
import shutil
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from eventlog import anchor as anchors
from eventlog import manifest, salvage
from eventlog.bundle import export, import_
from eventlog.bus_messages import (
    Answer,
    BadRequest,
    Kind,
    Status,
    pack_answer,
    pack_append,
    pack_hello,
    pack_plain,
    unpack_answer,
    unpack_request,
)
from eventlog.envelope import decode_lines, encode, with_seq
from eventlog.errors import LogError
from eventlog.frames import (
    NotAUnit,
    content_of,
    find_header,
    pack_unit,
    read_trailer,
    walk,
    walk_headers,
)
from eventlog.reader import read, read_lines, resolve, stream_state
from eventlog.recovery import recover
from eventlog.repair import examine
from eventlog.schemas.conversation import ArtifactStored, MessageRecorded, ToolCalled
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter
from eventlog.verify import verify
from tests.eventlog.altered import with_trailer

#: The log's own errors. The last two stay inside it: the callers of frames and messages answer them.
OWN = (LogError, NotAUnit, BadRequest)


class Target(NamedTuple):
    """`run` takes the input and a folder of its own that holds `template`; `seeds` are inputs to begin with."""

    name: str
    run: Callable[[bytes, Path], None]
    seeds: Callable[[], list[bytes]]


def template(place: Path) -> Store:
    """A store at `place` with one stream: a sealed segment, a live one, payloads, and all kinds of odd values."""
    store = Store.open(place, create=True)
    with StreamWriter.open(store, "run", create=True) as writer:
        writer.append(MessageRecorded(role="user", text="hello"), source="t")
        ref = store.blobs.put(b"bytes")
        writer.append(ArtifactStored(name="o", blob=ref.digest, size=ref.size), source="t")
        writer.append(
            ToolCalled(call="c", name="n", arguments={"a": float("nan"), "$b": [b"\xff", 1 << 70]}),
            source="t",
        )
        writer.append(
            ToolCalled(call="c", name="n", arguments={"t": "y" * 70_000, "u": "\udcff"}), source="t"
        )
        writer.finish()
    with StreamWriter.open(store, "run") as writer:
        for number in range(2):
            line = encode(
                MessageRecorded(role="user", text=str(number)), source="t", trial="0001", blobs=None
            )
            writer.commit([Incoming(b"p" * 16, number + 1, [line])])
    return store


def fresh(place: Path) -> Store:
    """The template again, whatever the last input left of it."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(_kept(place.parent), place)
    return Store.open(place)


@cache
def _kept(parent: Path) -> Path:
    """The template, made once beside the folder that is worked in."""
    kept = parent / "template"
    shutil.rmtree(kept, ignore_errors=True)
    return template(kept).path


def own(call: Callable[[], object]) -> bool:
    """Whether `call` returned; one of the log's own errors is the only other way out."""
    try:
        call()
    except OWN:
        return False
    return True


def use(store: Store) -> None:
    """Everything that reads a stream, strictly and past damage."""
    own(lambda: stream_state(store, "run"))
    own(lambda: list(read_lines(store, "run")))
    own(lambda: [resolve(store, event.data) for event in read(store, "run")])
    seen: list[int] = []
    own(lambda: seen.extend(event.seq for event in read(store, "run", on_damage=lambda _: None)))
    report = verify(store, ["run"])
    assert report.streams[0].events >= 0


def _frames(data: bytes, place: Path) -> None:
    file = io.BytesIO(data)
    own(lambda: [content_of(unit) for unit in walk(file)])
    own(lambda: list(walk_headers(file)))
    own(lambda: find_header(file, 0))
    own(lambda: read_trailer(place, file, 0))


def _segment(index: int) -> Callable[[bytes, Path], None]:
    def run(data: bytes, place: Path) -> None:
        store = fresh(place)
        list_segments(store.stream_path("run"))[index].path.write_bytes(data)
        use(store)

    return run


def _content(data: bytes, place: Path) -> None:
    """The events of a frame whose every checksum is right."""
    store = fresh(place)
    directory = store.stream_path("run")
    mark = anchors.load(directory)
    assert mark is not None
    data = (data.rstrip(b"\n") or b"{}") + b"\n"
    count = data.count(b"\n")
    packed = pack_unit(
        data, stream=mark.stream, first=mark.last + 1, count=count, synced=0, prev=mark.link, marks={}
    )
    path = list_segments(directory)[-1].path
    path.write_bytes(path.read_bytes() + packed.header + packed.frame)
    slot = mark._replace(segment=0, offset=0, last=mark.last + count, link=packed.link)
    anchors.Anchor(directory, slot).close()
    use(store)


def _trailer(data: bytes, place: Path) -> None:
    """A sealed segment whose trailer's JSON is anything, with its checksum and the seek table right."""
    store = fresh(place)
    path = list_segments(store.stream_path("run"))[0].path
    path.write_bytes(with_trailer(path.read_bytes(), lambda _: data))
    use(store)


def _manifest(data: bytes, place: Path) -> None:
    store = fresh(place)
    directory = store.stream_path("run")
    (directory / manifest.NAME).write_bytes(data)
    own(lambda: manifest.load(directory))
    try:
        body = json.loads(data)
        canonical = json.dumps(
            {k: v for k, v in body.items() if k != "digest"}, sort_keys=True, separators=(",", ":")
        )
    except (ValueError, AttributeError, RecursionError):
        canonical = None
    if canonical is not None:  # the same with its digest right
        import hashlib

        digest = hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
        (directory / manifest.NAME).write_text(json.dumps({**body, "digest": digest}), "utf-8")
        own(lambda: manifest.load(directory))
    verify(store, ["run"])


def slot(data: bytes) -> bytes:
    """An anchor's slot with its checksum right; numbers stay below 2^63 (test_numbers_beyond_all_files has those)."""
    body = bytearray(data.ljust(508, b"\0"))
    for top in (15, 31, 39, 47):
        body[top] &= 0x7F
    return bytes(body) + struct.pack("<I", zlib.crc32(body))


def _anchor(data: bytes, place: Path) -> None:
    store = fresh(place)
    path = store.stream_path("run") / anchors.NAME
    path.write_bytes(data)
    use(store)
    path.write_bytes(slot(data[:508]) + slot(data[512:1020]))
    use(store)


def _recovery(data: bytes, place: Path) -> None:
    """What a writer finds behind its last commit; the first byte says where the segment is cut before."""
    store = fresh(place)
    directory = store.stream_path("run")
    before = list(read_lines(store, "run"))
    path = list_segments(directory)[-1].path
    raw = path.read_bytes()
    keep = len(raw) - (data[0] if data else 0)
    path.write_bytes(raw[: max(0, keep)] + data[1:])
    left = path.read_bytes()
    if own(lambda: recover(directory)):
        assert list(read_lines(store, "run"))[: len(before)] == before
        with StreamWriter.open(store, "run") as writer:
            writer.append(MessageRecorded(role="user", text="on"))
        assert verify(store, ["run"]).ok
    else:
        assert path.read_bytes() == left  # what is damaged is never touched


def _repair(data: bytes, place: Path) -> None:
    salvage.MOST_WORK = 10**8  # trying for flipped bits is bounded; here by less than a minute an input
    store = fresh(place)
    segments = list_segments(store.stream_path("run"))
    segments[(data[0] if data else 0) % 2].path.write_bytes(data[1:])
    own(lambda: examine(store, "run"))


def _bundle(data: bytes, place: Path) -> None:
    store = fresh(place)
    before = store.streams()
    if not own(lambda: import_(store, io.BytesIO(data))):
        assert store.streams() == before
    assert not list(store.path.glob(".import-*"))
    assert verify(store).ok


def _bundle_index(data: bytes, place: Path) -> None:
    """A bundle whose index is anything, in a tar header that fits."""
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        info = tarfile.TarInfo("bundle.json")
        info.size, info.mode, info.mtime = len(data), 0o644, 0
        tar.addfile(info, io.BytesIO(data))
    _bundle(out.getvalue(), place)


def _bus_request(data: bytes, _: Path) -> None:
    """What is taken must be readable afterwards: no producer may make a segment unreadable."""
    try:
        request = unpack_request(data)
    except BadRequest:
        return
    if request.kind == Kind.APPEND:
        content = b"".join(with_seq(line, seq) + b"\n" for seq, line in enumerate(request.lines, 1))
        assert [event.seq for event in decode_lines(content)] == list(range(1, len(request.lines) + 1))


def _bus_lines(data: bytes, place: Path) -> None:
    """An append of any lines, with its head right."""
    lines = data.split(b"\n")
    _bus_request(pack_append(b"p" * 16, 1, lines), place)


def _bus_answer(data: bytes, _: Path) -> None:
    own(lambda: unpack_answer(data))


def _bus_stream(data: bytes, _: Path) -> None:
    """What a connection sends, in one piece and in two: the same requests, or both times no peer of ours."""
    from eventlog import bus_server

    def taken(pieces: list[bytes]) -> list[tuple[bytes, bytes]] | None:
        peer = bus_server._Peer(None)  # type: ignore[arg-type]
        found: list[tuple[bytes, bytes]] = []
        try:
            for piece in pieces:
                peer.unfinished += piece
                found += [(request.body, request.way_back) for request in bus_server._requests(peer)]
        except bus_server._Hostile:
            return None
        return found

    cut = data[0] if data else 0
    assert taken([data[1:]]) == taken([data[1:][:cut], data[1:][cut:]])


def _connections() -> list[bytes]:
    """A greeting and two requests, as nng frames them."""
    greeting = bytes.fromhex("0053500000300000")
    framed = [struct.pack(">BQI", 1, len(raw) + 4, 0x80000001) + raw for raw in _requests()]
    return [bytes([9]) + greeting + b"".join(framed)]


def _files(name: str) -> Callable[[], list[bytes]]:
    """The template's own files of one kind as seeds."""

    def seeds() -> list[bytes]:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            store = template(Path(folder) / "s")
            directory = store.stream_path("run")
            if name == "bundle":
                out = io.BytesIO()
                export(store, ["run"], out)
                return [out.getvalue()]
            if name == "index":
                out = io.BytesIO()
                export(store, ["run"], out)
                raw = out.getvalue()
                return [raw[512:].split(b"\n}\n")[0] + b"\n}\n"]
            if name == "segments":
                return [segment.path.read_bytes() for segment in list_segments(directory)]
            if name == "trailer":
                path = list_segments(directory)[0].path
                raw = path.read_bytes()
                start = raw.index(b"HMRT")
                return [raw[start + 8 : start + struct.unpack_from("<I", raw, start - 4)[0] - 4]]
            if name == "lines":
                return [b"\n".join(read_lines(store, "run")), *read_lines(store, "run")]
            return [(directory / name).read_bytes()]

    return seeds


def _prefixed(seeds: Callable[[], list[bytes]]) -> Callable[[], list[bytes]]:
    """The seeds behind a byte that chooses."""
    return lambda: [b"\0" + seed for seed in seeds()]


def _requests() -> list[bytes]:
    line = encode(MessageRecorded(role="user", text="x"), source="t", trial=None, blobs=None)
    odd = encode(ToolCalled(call="c", name="n", arguments={"$a": [b"\xff", float("inf")]}), source="t", trial="1",
                 blobs=None)  # fmt: skip
    return [pack_append(b"p" * 16, 1, [line, odd]), pack_hello(b"h" * 16, 77), pack_plain(Kind.STATUS)]


def _bare_lines() -> list[bytes]:
    return [raw[30:] for raw in _requests()[:1]]


def _answers() -> list[bytes]:
    return [pack_answer(Answer(Status.OK, 1, 2, 0, "text")), pack_answer(Answer(Status.BAD, text="no"))]


TARGETS = {
    target.name: target
    for target in (
        Target("frames", _frames, _files("segments")),
        Target("sealed", _segment(0), _files("segments")),
        Target("live", _segment(1), _files("segments")),
        Target("content", _content, _files("lines")),
        Target("trailer", _trailer, _files("trailer")),
        Target("manifest", _manifest, _files(manifest.NAME)),
        Target("anchor", _anchor, _files(anchors.NAME)),
        Target("recovery", _recovery, _prefixed(_files("segments"))),
        Target("repair", _repair, _prefixed(_files("segments"))),
        Target("bundle", _bundle, _files("bundle")),
        Target("bundle_index", _bundle_index, _files("index")),
        Target("bus_request", _bus_request, _requests),
        Target("bus_lines", _bus_lines, _bare_lines),
        Target("bus_stream", _bus_stream, _connections),
        Target("bus_answer", _bus_answer, _answers),
    )
}
