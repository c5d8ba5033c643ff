"""Bundles that must not be imported: each is refused by a clear error, and the store is as it was."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eventlog import bundle_export, bundle_format
from eventlog.bundle import export, import_
from eventlog.errors import BundleError
from eventlog.frames import pack_unit, walk
from eventlog.schemas.conversation import ArtifactStored, MessageRecorded
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter
from tests.eventlog.altered import SPAN_LIES, TRAILER_LIES, with_manifest, with_trailer

Files = dict[str, bytes]
SEGMENT = "streams/run/00000000000000000001.ndjson.zst"
MANIFEST = "streams/run/manifest.json"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A sound bundle of one run with two blobs."""
    store = Store.open(tmp_path_factory.mktemp("source") / "s", create=True)
    with StreamWriter.open(store, "run", create=True) as writer:
        for number in range(10):
            writer.append(MessageRecorded(role="user", text=f"message {number}"))
        writer.append(MessageRecorded(role="user", text="x" * 70_000))
        ref = store.blobs.put(b"artifact")
        writer.append(ArtifactStored(name="out", blob=ref.digest, size=ref.size))
        writer.finish()
    out = io.BytesIO()
    export(store, ["run"], out)
    return out.getvalue()


def unpacked(raw: bytes) -> Files:
    """Members of a bundle, in their order."""
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar.getmembers()}  # type: ignore[union-attr]


def tarred(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A tar of any members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def plain(
    name: str, content: bytes, kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    """One member."""
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(content), kind, link
    return info, content


def rebuilt(files: Files, change: Callable[[dict[str, Any]], None] | None = None) -> bytes:
    """A bundle of these files whose index is made to fit them, then changed."""
    index = json.loads(files["bundle.json"])
    index["members"] = [
        {"name": n, "size": len(c), "sha256": hashlib.sha256(c).hexdigest()}
        for n, c in files.items()
        if n != "bundle.json"
    ]
    if change is not None:
        change(index)
    rest = [plain(n, c) for n, c in files.items() if n != "bundle.json"]
    return tarred([plain("bundle.json", json.dumps(index).encode()), *rest])


def refused(raw: bytes, tmp_path: Path, match: str | None = None, **limits: int) -> None:
    """The bundle is refused, and the store is as empty as before."""
    store = Store.open(tmp_path / "target", create=True)
    with pytest.raises(BundleError, match=match):
        import_(store, io.BytesIO(raw), **limits)
    assert store.streams() == []
    assert {p.name for p in store.path.iterdir()} <= {"store.json", "log", "blobs", "cache", ".import.lock"}
    assert not list(store.blobs.root.rglob("*"))
    assert not list(tmp_path.glob("escaped*"))


def test_the_helpers_make_a_sound_bundle(good: bytes, tmp_path: Path) -> None:
    """If this failed, the tests below would refuse for another reason than the one they name."""
    store = Store.open(tmp_path / "target", create=True)
    assert import_(store, io.BytesIO(rebuilt(unpacked(good)))).changed


@pytest.mark.parametrize(
    "name",
    [
        "/tmp/escaped",
        "../escaped",
        "streams/run/../../../escaped",
        "streams/../escaped/manifest.json",
        "streams/run/anchor",
        "streams/run/lock",
        "streams/other/manifest.json",
        "streams/.hidden/manifest.json",
        "blobs/sha256/ab/short",
        "store.json",
        "blobs/sha256/../../store.json",
        "streams/run/00000000000000000001.ndjson.zst\n",
        "",
    ],
)
def test_names_that_no_bundle_holds(good: bytes, tmp_path: Path, name: str) -> None:
    """If this failed, a bundle could write outside its streams and blobs, or replace the store's own files."""
    files = unpacked(good)
    files[name] = b"escaped"
    refused(rebuilt(files), tmp_path)
    extra = [plain(n, c) for n, c in unpacked(good).items()] + [plain(name or "x", b"escaped")]
    refused(tarred(extra), tmp_path)


@pytest.mark.parametrize("name", ["catalog", "Catalog", "latest"])
def test_a_name_that_a_store_keeps_for_itself(good: bytes, tmp_path: Path, name: str) -> None:
    """If this failed, a bundle could be the store's catalog and forge its pins, or be the run that `latest` means."""
    files = {n.replace("streams/run/", f"streams/{name}/"): c for n, c in unpacked(good).items()}

    def named(index: dict[str, Any]) -> None:
        index["streams"][0]["name"] = name

    refused(rebuilt(files, named), tmp_path, match=f"{name!r}, a name that every store keeps for itself")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE,
             tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE, b"9"]
)  # fmt: skip
@pytest.mark.parametrize("place", ["bundle.json", SEGMENT])
def test_anything_but_plain_files(good: bytes, tmp_path: Path, kind: bytes, place: str) -> None:
    """If this failed, a link or device in a bundle could reach files outside."""
    members = [
        plain(
            n,
            b"" if n == place else c,
            kind if n == place else tarfile.REGTYPE,
            "/etc/passwd" if n == place else "",
        )
        for n, c in unpacked(good).items()
    ]
    refused(tarred(members), tmp_path, "stands where the plain file|no tar header")


def test_an_extension_header_is_refused_unread(good: bytes, tmp_path: Path) -> None:
    """If this failed, a header could claim another name, size or gigabytes of attributes."""
    members = [plain(n, c) for n, c in unpacked(good).items()]
    members[1][0].pax_headers = {"path": "../escaped", "comment": "x" * 10_000}
    refused(tarred(members), tmp_path, "stands where the plain file")


def test_doubled_missing_swapped_and_extra_members(good: bytes, tmp_path: Path) -> None:
    """If this failed, what is checked could differ from what is stored."""
    members = [plain(n, c) for n, c in unpacked(good).items()]
    refused(tarred([*members, members[1]]), tmp_path, "more than")
    refused(tarred([members[0], members[1], members[1], *members[2:]]), tmp_path)
    refused(tarred([members[0], members[2], members[1], *members[3:]]), tmp_path)
    refused(tarred([members[0], *members[2:]]), tmp_path)
    refused(tarred(members[1:]), tmp_path)
    refused(tarred([]), tmp_path)

    def twice(index: dict[str, Any]) -> None:
        index["members"].append(index["members"][0])

    refused(rebuilt(unpacked(good), twice), tmp_path, "twice")


def test_half_a_bundle(good: bytes, tmp_path: Path) -> None:
    """If this failed, a broken download would bring in half a run."""
    end = good.rstrip(b"\0")
    for cut in [*range(0, len(end), 509), len(end) - 1]:
        refused(good[:cut], tmp_path, "cut|no tar header")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_flipped_bit(good: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """If this failed, a damaged bundle would be imported as if it were sound."""
    raw = bytearray(good)
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    refused(bytes(raw), tmp_path_factory.mktemp("flip"))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=3000))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    """If this failed, some file that is no bundle would crash the import."""
    refused(raw, tmp_path_factory.mktemp("any"))


def test_sizes_that_lie_or_exceed_the_limit(
    good: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, a bundle could fill the disk or the memory."""
    refused(good, tmp_path, "limit of 1000 bytes", max_bytes=1000)

    def larger(index: dict[str, Any]) -> None:
        index["members"][0]["size"] += 512

    def negative(index: dict[str, Any]) -> None:
        index["members"][0]["size"] = -1

    refused(rebuilt(unpacked(good), larger), tmp_path, "bytes, not what was announced")
    refused(rebuilt(unpacked(good), negative), tmp_path, "does not read as one")
    monkeypatch.setattr(bundle_format, "MAX_INDEX_BYTES", 100)
    refused(good, tmp_path, "bundle.json has")
    monkeypatch.setattr(bundle_format, "MAX_INDEX_BYTES", 1 << 20)
    monkeypatch.setattr(bundle_format, "MAX_MEMBERS", 2)
    refused(good, tmp_path, "2 is the limit")


INDEX_LIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another version": lambda i: i.update(schema="hemra.bundle/2"),
    "no version": lambda i: i.pop("schema"),
    "no streams": lambda i: i.update(streams=[]),
    "a stream twice": lambda i: i["streams"].append(i["streams"][0]),
    "a key too many": lambda i: i.update(more=1),
    "a stream name that escapes": lambda i: i["streams"][0].update(name="../run"),
    "fewer events": lambda i: i["streams"][0].update(last=11),
    "more events": lambda i: i["streams"][0].update(last=13),
    "another chain": lambda i: i["streams"][0].update(chain="0" * 64),
    "another link": lambda i: i["streams"][0].update(link="0" * 32),
    "a last event beyond all numbers": lambda i: i["streams"][0].update(last=2**64),
    "a last event below nought": lambda i: i["streams"][0].update(last=-1),
    "a last event as text": lambda i: i["streams"][0].update(last="12"),
    "another id": lambda i: i["streams"][0].update(id="0" * 16),
    "an id that is no hex": lambda i: i["streams"][0].update(id="zz"),
    "members that are no list": lambda i: i.update(members={}),
}


@pytest.mark.parametrize("lie", INDEX_LIES)
def test_an_index_that_lies(good: bytes, tmp_path: Path, lie: str) -> None:
    """If this failed, the anchor would be made of what is not true of the segments."""
    refused(rebuilt(unpacked(good), INDEX_LIES[lie]), tmp_path)


def test_segments_that_were_tampered_with(good: bytes, tmp_path: Path) -> None:
    """If this failed, right digests over changed events would be believed."""
    files = unpacked(good)
    units = list(walk(io.BytesIO(files[SEGMENT])))
    header = units[0].header
    from eventlog.frames import content_of

    content = content_of(units[0]).replace(b"message 3", b"message 8")
    forged = pack_unit(content, stream=header.stream, first=1, count=header.events, synced=header.synced,
                       prev=header.prev, marks={}, sealed=True)  # fmt: skip
    rest = files[SEGMENT][header.end :]
    refused(rebuilt({**files, SEGMENT: forged.header + forged.frame + rest}), tmp_path, "not sound")
    refused(rebuilt({**files, SEGMENT: files[SEGMENT][: header.end]}), tmp_path, "not sound")
    refused(rebuilt({n: c for n, c in files.items() if n != SEGMENT}), tmp_path)
    refused(rebuilt({n: c for n, c in files.items() if not n.endswith("manifest.json")}), tmp_path)


def test_blobs_that_are_missing_or_that_nobody_names(good: bytes, tmp_path: Path) -> None:
    """If this failed, a run would arrive without its payloads, or with somebody else's bytes beside it."""
    files = unpacked(good)
    for blob in [n for n in files if n.startswith("blobs/")]:
        refused(rebuilt({n: c for n, c in files.items() if n != blob}), tmp_path, "sha256:|blob")
    digest = hashlib.sha256(b"stowaway").hexdigest()
    files[f"blobs/sha256/{digest[:2]}/{digest[2:]}"] = b"stowaway"
    refused(rebuilt(files), tmp_path, "named by no event")
    wrong = f"blobs/sha256/{'0' * 2}/{'0' * 62}"
    refused(rebuilt({**unpacked(good), wrong: b"x"}), tmp_path, "another digest than its own")


@pytest.mark.parametrize("lie", TRAILER_LIES)
def test_a_trailer_that_lies(good: bytes, tmp_path: Path, lie: str) -> None:
    """If this failed, a bundle could make an import loop, break, or believe what no segment can say."""
    files = unpacked(good)
    change = TRAILER_LIES[lie]
    segment = with_trailer(files[SEGMENT], change)

    def agree(body: dict[str, Any]) -> None:
        body["segments"][0]["size"] = len(segment)
        if lie in SPAN_LIES:
            change(body["segments"][0])

    refused(rebuilt({**files, SEGMENT: segment}), tmp_path, "not sound")
    both = {**files, SEGMENT: segment, MANIFEST: with_manifest(files[MANIFEST], agree)}
    refused(rebuilt(both), tmp_path, "not sound")


@pytest.mark.parametrize("lie", SPAN_LIES)
def test_a_manifest_that_lies(good: bytes, tmp_path: Path, lie: str) -> None:
    """If this failed, a bundle's manifest could break the import, or every later reader of it."""
    files = unpacked(good)
    files[MANIFEST] = with_manifest(files[MANIFEST], lambda body: SPAN_LIES[lie](body["segments"][0]))
    refused(rebuilt(files), tmp_path, "not sound")


#: Type and data of events whose blobs cannot be told; BLOB stands for a blob that is there and is no JSON.
ODD_EVENTS = {
    "an artifact without a blob": ("artifact.stored", "{}"),
    "an artifact whose blob is a number": ("artifact.stored", '{"blob":5}'),
    "an artifact whose blob is a list": ("artifact.stored", '{"blob":["sha256:"]}'),
    "an artifact whose blob is a path": ("artifact.stored", '{"blob":"sha256:../../../etc/passwd"}'),
    "a payload that is no JSON": (
        "tool.called",
        '{"arguments":{"$blob":"BLOB","size":1,"kind":"json","head":"{"}}',
    ),
}


@pytest.mark.parametrize("odd", ODD_EVENTS)
def test_events_whose_blobs_cannot_be_told(tmp_path: Path, odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, an event of a harness that names its blob by nonsense would be a stack trace."""
    store = Store.open(tmp_path / "source", create=True)
    blob = store.blobs.put(b"{").digest
    kind, data = ODD_EVENTS[odd]
    line = (
        '{"id":"0190f7a2-0000-7000-8000-000000000001","time":"2026-11-30T19:38:06.000000001Z","mono":1,'
        f'"type":"{kind}","v":1,"source":"p","trial":null,"data":{data.replace("BLOB", blob)}}}'
    )
    with StreamWriter.open(store, "run", create=True) as writer:
        writer.commit([Incoming(b"p" * 16, 1, [line.encode()])])
        writer.finish()
    with pytest.raises(BundleError):
        export(store, ["run"], io.BytesIO())
    named = {blob} if "BLOB" in data else set()
    monkeypatch.setattr(bundle_export, "all_blobs", lambda *_, **__: named)
    out = io.BytesIO()
    export(store, ["run"], out)
    refused(out.getvalue(), tmp_path, "not sound")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """If this failed, a typo in the name would be a stack trace."""
    store = Store.open(tmp_path / "target", create=True)
    with pytest.raises(BundleError, match=r"cannot read .*missing.tar"):
        import_(store, tmp_path / "missing.tar")
