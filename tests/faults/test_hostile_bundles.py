"""Bundles that cost more than they say, are cut or go on, and two versions of one run; from the command line too."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import tracemalloc
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eventlog import anchor as anchors
from eventlog import bundle_limits, manifest, seal
from eventlog.bundle import export, import_
from eventlog.errors import BundleError
from eventlog.frames import MAX_FRAME, SeekTable, pack_trailer, pack_unit
from eventlog.reader import read_lines, stream_state
from eventlog.schemas.conversation import ArtifactStored, MessageRecorded
from eventlog.segments import Span, Trailer, list_segments, name_of
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from hemra.cli.main import main
from tests.eventlog.altered import with_manifest

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(tmp_path: Path) -> Store:
    """A store with a run that is not finished."""
    store = Store.open(tmp_path / "here", create=True)
    write(store, "first", 6, create=True)
    return store


@pytest.fixture
def there(tmp_path: Path) -> Store:
    """An empty store: the other machine."""
    return Store.open(tmp_path / "there", create=True)


@pytest.fixture
def hemra(capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs one command line on a store; returns exit code, stdout and stderr."""

    def run(store: Store, *arguments: str) -> tuple[int, str, str]:
        kept = os.dup(sys.stdout.fileno())  # a command that fails leaves nothing to write to
        code = main(["--store", str(store.path), *arguments])
        os.dup2(kept, sys.stdout.fileno())
        os.close(kept)
        out, err = capfd.readouterr()
        return code, out, err

    return run


def write(store: Store, text: str, events: int, *, create: bool = False, finish: bool = False) -> None:
    """Go on with the run `run`: some events, the last with a blob of its own."""
    with StreamWriter.open(store, "run", create=create) as writer:
        for number in range(events - 1):
            writer.append(MessageRecorded(role="user", text=f"{text} {number}"))
        ref = store.blobs.put(text.encode())
        writer.append(ArtifactStored(name="out", blob=ref.digest, size=ref.size))
        if finish:
            writer.finish()


def files(store: Store) -> dict[str, bytes]:
    """Every byte of a store but its locks."""
    return {
        str(p.relative_to(store.path)): p.read_bytes()
        for p in sorted(store.path.rglob("*"))
        if p.is_file() and not p.name.endswith("lock")
    }


def refused(store: Store, raw: bytes, match: str, **limits: int) -> None:
    """The bundle is refused, and every byte of the store is as it was."""
    before = files(store)
    with pytest.raises(BundleError, match=match):
        import_(store, io.BytesIO(raw), **limits)
    assert files(store) == before
    assert not list(store.path.glob(".import-*"))


def exported(store: Store) -> bytes:
    """The run as a bundle."""
    out = io.BytesIO()
    export(store, ["run"], out)
    return out.getvalue()


def repacked(raw: bytes, change: Callable[[dict[str, bytes], dict[str, Any]], None]) -> bytes:
    """A bundle whose files and index were changed, and whose sizes and digests are right all the same."""
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        members = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}  # type: ignore[union-attr]
    index = json.loads(members.pop("bundle.json"))
    change(members, index)
    index["members"] = [
        {"name": n, "size": len(b), "sha256": hashlib.sha256(b).hexdigest()} for n, b in members.items()
    ]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in {"bundle.json": json.dumps(index).encode(), **members}.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(content), 0o644, 0
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def bomb(frames: int) -> bytes:
    """A bundle of a few kilobytes whose one segment unpacks to `frames` times 8 MiB, with every digest right."""
    content = b" " * (MAX_FRAME - 1) + b"\n"
    stream, link, table, body = b"s" * 8, bytes(16), SeekTable(), b""
    running = hashlib.sha256()
    for number in range(frames):
        unit = pack_unit(content, stream=stream, first=number + 1, count=1, synced=number, prev=link, marks={},
                         sealed=True)  # fmt: skip
        body, link = body + unit.header + unit.frame, unit.link
        table.add_unit(len(unit.header), len(content), unit.frame)
        running.update(content)
    digest = running.hexdigest()
    span = Span(
        1,
        frames,
        frames,
        frames * MAX_FRAME,
        digest,
        manifest.chain(manifest.CHAIN_START, digest),
        link.hex(),
    )
    trailer = pack_trailer(Trailer([span], link.hex(), {}).to_json())
    table.add_skippable(len(trailer))
    segment = body + trailer + table.pack()
    written = {"schema": manifest.SCHEMA, "segments": [
        {"file": name_of(1), "size": len(segment), "spans": [_plain(span)]}
    ]}  # fmt: skip
    said = {
        "name": "run",
        "id": stream.hex(),
        "last": frames,
        "chain": span.chain,
        "link": link.hex(),
        "finished": True,
    }
    members = {
        f"streams/run/{name_of(1)}": segment,
        "streams/run/manifest.json": with_manifest(
            json.dumps({**written, "digest": ""}).encode(), lambda _: None
        ),
    }
    empty = {"schema": "hemra.bundle/1", "streams": [said], "members": []}
    return repacked(_tar({"bundle.json": json.dumps(empty).encode()}), lambda m, _: m.update(members))


def _plain(span: Span) -> dict[str, Any]:
    return {name: getattr(span, name) for name in span.__struct_fields__}


def _tar(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def test_a_bomb_is_refused_before_it_is_unpacked(there: Store) -> None:
    """If this failed, a few kilobytes from somewhere could fill the memory or keep the machine busy for hours."""
    raw = bomb(40)
    assert len(raw) < 100_000
    tracemalloc.start()
    refused(
        there,
        raw,
        r"events unpack to more than the limit of 100000000 bytes; .*--max-size",
        max_bytes=100_000_000,
    )
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    # Within the limit it is unpacked one frame at a time, and refused for what is in it.
    tracemalloc.reset_peak()
    refused(there, raw, "not sound")
    assert tracemalloc.get_traced_memory()[1] < 6 * MAX_FRAME
    tracemalloc.stop()


def test_more_events_than_the_manifest_declares(here: Store, there: Store) -> None:
    """If this failed, what is unpacked could be more than was declared."""

    def lie(members: dict[str, bytes], _: dict[str, Any]) -> None:
        name = "streams/run/manifest.json"
        members[name] = with_manifest(
            members[name], lambda body: body["segments"][0]["spans"][0].update(bytes=7)
        )

    refused(there, repacked(exported(here), lie), "unpacks to .* bytes of events, and its manifest declares")


def test_a_disk_without_room(here: Store, there: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, an import would fill the disk before it failed."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(bundle_limits.shutil, "disk_usage", lambda _: usage(1000, 900, 100))
    refused(there, exported(here), "unpacks to .* bytes, and 100 are free")


def test_half_a_download_then_the_whole(here: Store, there: Store) -> None:
    """If this failed, a broken download would have to be cleaned up by hand before the next try."""
    raw = exported(here)
    end = len(raw.rstrip(b"\0"))
    for part in (0, 1, 511, 512, 700, len(raw) // 2, end - 1):
        refused(there, raw[:part], "cut|no tar header")
    import_(there, io.BytesIO(raw))
    assert list(read_lines(there, "run")) == list(read_lines(here, "run"))
    assert verify(there).problems == []


@pytest.mark.parametrize("tail", [b"x", b"\0" * 511 + b"x", b"rubbish" * 2000])
def test_trailing_bytes(here: Store, there: Store, tail: bytes) -> None:
    """If this failed, something could ride along unseen."""
    refused(there, exported(here) + tail, "more than bundle.json names")
    assert import_(there, io.BytesIO(exported(here) + b"\0" * 4096)).changed  # padding is no content


def test_refused_bundles_change_no_run_that_is_there(here: Store, there: Store) -> None:
    """If this failed, a bad bundle of a run would damage the good one."""
    raw = exported(here)
    import_(there, io.BytesIO(raw))
    write(here, "more", 5)
    longer = exported(here)
    for place in range(600, len(longer.rstrip(b"\0")), 397):
        bad = bytearray(longer)
        bad[place] ^= 16
        refused(there, bytes(bad), ".")
    import_(there, io.BytesIO(longer))
    assert list(read_lines(there, "run")) == list(read_lines(here, "run"))


def test_a_rotten_blob_comes_back_with_its_bundle(here: Store, there: Store) -> None:
    """If this failed, a payload that rotted would stay so although the good one was brought."""
    raw = exported(here)
    import_(there, io.BytesIO(raw))
    (blob,) = [p for p in there.blobs.root.rglob("*") if p.is_file()]
    blob.chmod(0o644)
    blob.write_bytes(b"FIRST")
    assert not verify(there).ok
    import_(there, io.BytesIO(raw))
    assert verify(there).problems == []


# Merging: a run that was resumed on another machine.


def test_a_run_that_went_on_elsewhere_comes_home(
    here: Store, there: Store, tmp_path: Path, hemra: Command
) -> None:
    """If this failed, a run that was resumed on another machine could not come back."""
    assert hemra(here, "log", "export", "run", "-o", str(tmp_path / "out.tar"))[0] == 0
    assert hemra(there, "log", "import", str(tmp_path / "out.tar"))[0] == 0
    write(there, "resumed", 5, finish=True)
    assert hemra(there, "log", "export", "run", "-o", str(tmp_path / "home.tar"))[0] == 0
    code, _, err = hemra(here, "log", "import", str(tmp_path / "home.tar"))
    assert (code, "run: 11 events extended" in err) == (0, True)
    assert list(read_lines(here, "run")) == list(read_lines(there, "run"))
    assert stream_state(here, "run").finished
    code, _, err = hemra(here, "log", "import", str(tmp_path / "home.tar"))
    assert (code, "run: 11 events same" in err) == (0, True)
    code, _, err = hemra(there, "log", "import", str(tmp_path / "out.tar"))
    assert (code, "run: 6 events older" in err) == (0, True)
    assert verify(here).problems == []
    assert verify(there).problems == []


@pytest.mark.parametrize("more", [0, 3])
def test_runs_that_parted_are_refused_and_say_where(
    here: Store, there: Store, tmp_path: Path, hemra: Command, more: int
) -> None:
    """If this failed, one of two continuations would overwrite the other, or nobody would know where they part."""
    export(here, ["run"], tmp_path / "out.tar")
    import_(there, tmp_path / "out.tar")
    write(here, "went on here", 4)
    write(there, "went on there", 4 + more, finish=True)
    export(there, ["run"], tmp_path / "home.tar")
    export(here, ["run"], tmp_path / "own.tar")
    mine, theirs = (list(read_lines(s, "run"))[6] for s in (here, there))
    before = files(here)
    code, out, err = hemra(here, "log", "import", str(tmp_path / "home.tar"))
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "share the events 1 to 6 and part at event 7" in err
    assert f"sha256:{hashlib.sha256(mine).hexdigest()} here" in err
    assert f"sha256:{hashlib.sha256(theirs).hexdigest()} in the bundle" in err
    assert files(here) == before
    both = Store.open(tmp_path / "both", create=True)
    import_(both, tmp_path / "home.tar")
    assert list(read_lines(both, "run")) == list(read_lines(there, "run"))


def test_other_runs_of_the_name_part_at_once(here: Store, there: Store, tmp_path: Path) -> None:
    """If this failed, two machines' runs of one name would be mixed."""
    write(there, "first", 6, create=True)
    export(here, ["run"], tmp_path / "own.tar")  # sealed, as an import that looks at it leaves it too
    refused(here, exported(there), "share no event and part at event 1")


@pytest.mark.parametrize("pieces", [1, 1 << 20])
@pytest.mark.parametrize("copied_after", [1, 2, 3])
def test_copies_that_were_sealed_at_other_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copied_after: int, pieces: int
) -> None:
    """If this failed, a copy of a run that was made while it went on could not be brought up to date."""
    monkeypatch.setattr(seal, "GROUP_BYTES", pieces)
    monkeypatch.setattr(seal, "SMALL_BYTES", pieces)
    here = Store.open(tmp_path / "here", create=True)
    copy = None
    with StreamWriter.open(here, "run", create=True) as writer:
        for commit in range(1, 5):
            writer.append(MessageRecorded(role="user", text=f"{commit}"))
            writer.append(MessageRecorded(role="user", text="x"))
            if commit == copied_after:
                copy = Store.open(shutil.copytree(here.path, tmp_path / "copy"))
    assert copy is not None
    StreamWriter.open(copy, "run").finish()
    write(here, "later", 3, finish=True)
    ours, theirs = (manifest.load(s.stream_path("run")).spans for s in (copy, here))
    assert ours[0] != theirs[0]
    longer, shorter = exported(here), exported(copy)
    assert [s.what for s in import_(here, io.BytesIO(shorter)).streams] == ["older"]
    assert [s.what for s in import_(copy, io.BytesIO(longer)).streams] == ["extended"]
    assert list(read_lines(copy, "run")) == list(read_lines(here, "run"))
    assert verify(copy).problems == []
    assert exported(copy) == longer
    assert [s.path.name for s in list_segments(copy.stream_path("run"))] == [
        s.path.name for s in list_segments(here.stream_path("run"))
    ]
    assert anchors.load(copy.stream_path("run")) is not None
