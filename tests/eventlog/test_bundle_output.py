"""Where an export is written: whole or not at all, as the user's other files are, and never in place of a device."""

from __future__ import annotations

import errno
import io
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventlog import bundle_hold, disk
from eventlog.bundle import export, import_
from eventlog.errors import BundleError, StoreError
from eventlog.reader import read_lines
from eventlog.seal import seal
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from tests.eventlog.conftest import filled, incoming
from tests.eventlog.mirroring import hemra


@pytest.fixture
def made(store: Store) -> Store:
    """A store with one sealed run."""
    filled(store)
    seal(store, "run")
    return store


@pytest.fixture
def whole(made: Store) -> bytes:
    """Its bundle."""
    out = io.BytesIO()
    export(made, ["run"], out)
    return out.getvalue()


@pytest.fixture(params=[0o077, 0o027, 0o022], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """This process's umask."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    """A file's permissions."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_bundle_has_the_mode_that_the_umask_leaves(made: Store, tmp_path: Path, umask: int) -> None:
    """If this failed, who keeps files private would give away all that was said in a run."""
    export(made, ["run"], tmp_path / "x.tar")
    assert mode(tmp_path / "x.tar") == 0o666 & ~umask


def test_a_bundle_in_the_place_of_another_keeps_its_mode(made: Store, tmp_path: Path) -> None:
    """If this failed, a file that was made private would be readable for all after the next export."""
    out = tmp_path / "x.tar"
    out.write_bytes(b"before")
    out.chmod(0o600)
    export(made, ["run"], out)
    assert mode(out) == 0o600


def test_nothing_in_a_store_is_more_open_than_the_umask(tmp_path: Path, umask: int) -> None:
    """If this failed, sealing or an import would open files to others that the umask keeps from them."""
    store, copy = (Store.open(tmp_path / name, create=True) for name in ("s", "c"))
    store.blobs.put(b"a payload")
    filled(store)
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(2, 1, 1)])
        writer.finish()
    export(store, ["run"], tmp_path / "x.tar")
    import_(copy, tmp_path / "x.tar")
    files = [path for made in (store, copy) for path in made.path.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [(path, oct(mode(path))) for path in files if mode(path) & umask] == []


def test_what_no_bundle_may_bring_is_not_exported(made: Store, tmp_path: Path) -> None:
    """If this failed, an export would write a bundle that every import refuses."""
    filled(made, "catalog")
    with pytest.raises(BundleError, match="'catalog' is a name that every store keeps for itself"):
        export(made, ["run", "catalog"], tmp_path / "x.tar")
    assert not (tmp_path / "x.tar").exists()


def test_a_fifo_is_written_into(made: Store, whole: bytes, tmp_path: Path) -> None:
    """If this failed, an export to a named pipe would put a file in its place, and its reader would wait for ever."""
    fifo, got = tmp_path / "pipe", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()), daemon=True)
    reader.start()
    export(made, ["run"], fifo)
    reader.join(10)
    assert got == [whole]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_device_is_written_into(made: Store, tmp_path: Path) -> None:
    """If this failed, `-o /dev/null` as root would replace the device by a file for everybody on the machine."""
    link = tmp_path / "nothing"
    link.symlink_to(os.devnull)
    export(made, ["run"], link)
    assert link.is_symlink()
    assert stat.S_ISCHR(link.stat().st_mode)
    with pytest.raises(BundleError, match=r"cannot write /dev/full: No space left on device"):
        export(made, ["run"], Path("/dev/full"))


@pytest.mark.parametrize("there", [True, False], ids=["over a file", "a new file"])
def test_a_symlink_stays_and_its_target_is_written(
    made: Store, whole: bytes, tmp_path: Path, there: bool
) -> None:
    """If this failed, an export to a link would leave what the link names as it was."""
    target, link = tmp_path / "elsewhere" / "x.tar", tmp_path / "x.tar"
    target.parent.mkdir()
    if there:
        target.write_bytes(b"before")
    link.symlink_to(target)
    export(made, ["run"], link)
    assert link.is_symlink()
    assert target.read_bytes() == whole
    assert [path.name for path in target.parent.iterdir()] == ["x.tar"]


def test_a_reader_that_goes_away_is_a_failure(made: Store, tmp_path: Path) -> None:
    """If this failed, `export -o - | ssh host` would be called done when the connection broke."""
    with StreamWriter.open(made, "big", create=True) as writer:
        for number in range(1, 200):
            writer.commit([incoming(os.getpid(), number, 1)])
        made.blobs.put(os.urandom(1000))
    argv = ["-m", "hemra.cli.main", "log", "export", "run", "big", "-o", "-", "--store"]
    environment = {**os.environ, "HOME": str(tmp_path), "NO_COLOR": "1"}
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, *argv, str(made.path)], stdout=write, stderr=subprocess.PIPE, text=True, env=environment,
        check=False,
    )  # fmt: skip
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == (
        "hemra: stdout was closed before the whole bundle was written: what its reader has is no bundle\n"
    )


@pytest.mark.parametrize(
    ("closed", "arguments", "told"),
    [
        ("<&-", "import -", "stdin is closed: name a file, or pipe a bundle in"),
        (">&-", "export run -o -", "stdout is closed: name a file with -o, or pipe it"),
    ],
)
def test_a_stream_that_is_closed(made: Store, tmp_path: Path, closed: str, arguments: str, told: str) -> None:
    """If this failed, a job without stdin or stdout would get a traceback, or be told that all was exported."""
    command = f"{sys.executable} -m hemra.cli.main log {arguments} {closed}"
    environment = {**os.environ, "HOME": str(tmp_path), "NO_COLOR": "1", "HEMRA_STORE": str(made.path)}
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"hemra: {told}\n")


def test_what_is_there_is_replaced_only_when_asked(made: Store, whole: bytes, tmp_path: Path) -> None:
    """If this failed, an export could take a file's place unasked, or ask where nothing is replaced."""
    file, store = tmp_path / "x.tar", str(made.path)
    file.write_bytes(b"before")
    refused = hemra(tmp_path, "log", "export", "run", "-o", str(file), "--store", store)
    assert (refused.returncode, file.read_bytes()) == (2, b"before")
    for arguments in (("-f", "-o", str(file)), ("-o", os.devnull)):
        done = hemra(tmp_path, "log", "export", "run", *arguments, "--store", store)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert file.read_bytes() == whole


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT], ids=["full", "quota"])
def test_a_run_is_carried_away_from_a_full_disk(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """If this failed, a full disk would keep the runs on it from being carried to another one."""
    filled(store)
    before = {path: path.read_bytes() for path in store.stream_path("run").iterdir()}
    os.mkfifo(store.stream_path("run") / "odd")  # whatever is not the log's own is left alone
    real = disk.os.open

    def full(path: object, flags: int, *more: int, **named: int) -> int:
        if flags & os.O_CREAT and str(path).startswith(f"{store.path}/") and not os.path.exists(str(path)):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, flags, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(disk.os, "open", full)
    with pytest.raises(OSError, match=os.strerror(number)):
        seal(store, "run")
    export(store, ["run"], tmp_path / "x.tar")
    monkeypatch.undo()
    assert {path: path.read_bytes() for path in before} == before
    copy = Store.open(tmp_path / "copy", create=True)
    import_(copy, tmp_path / "x.tar")
    assert list(read_lines(copy, "run")) == list(read_lines(store, "run"))
    assert verify(copy).ok


def test_the_copy_to_export_from_lies_where_there_is_room(
    made: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, /tmp on the same full disk would keep a run from being carried to the free one."""
    monkeypatch.setattr(bundle_hold.tempfile, "gettempdir", lambda: str(tmp_path / "tiny"))
    free = {tmp_path / "tiny": 10, tmp_path: 1 << 30}
    monkeypatch.setattr(
        bundle_hold.shutil, "disk_usage", lambda path: type("Usage", (), {"free": free[Path(path)]})()
    )
    assert bundle_hold.roomy(made, ["run"], tmp_path / "x.tar") == str(tmp_path)
    assert bundle_hold.roomy(made, ["run"], None) is None
    free[tmp_path / "tiny"] = 1 << 30
    assert bundle_hold.roomy(made, ["run"], tmp_path / "x.tar") is None


def test_a_log_that_is_no_folder_is_refused(made: Store, tmp_path: Path) -> None:
    """If this failed, a store whose log was replaced by a file would pass for an empty one."""
    made.log.rename(tmp_path / "away")
    made.log.write_bytes(b"")
    with pytest.raises(StoreError, match=r"log is no folder"):
        made.streams()


def test_a_store_that_cannot_be_made_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a full disk would be told with a number that nobody knows."""

    def full(_path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("eventlog.store.make_dir", full)
    with pytest.raises(StoreError) as told:
        Store.open(tmp_path / "new", create=True)
    assert str(told.value) == f"cannot make a store at {tmp_path / 'new'}: No space left on device"
