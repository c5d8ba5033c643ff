"""The real recorder process on disks that fail and beside others that want its stream."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from eventlog.bus_messages import Kind, Status, pack_append, pack_plain
from eventlog.client import Client
from eventlog.errors import RecorderRefused, RecorderUnavailable, StreamBusy
from eventlog.lock import NAME as LOCK
from eventlog.lock import holder, is_held
from eventlog.reader import read, stream_state
from eventlog.schemas.conversation import ToolCalled
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from tests.eventlog.conftest import line
from tests.faults.live import Bystander, Live, until

ROOT = Path(__file__).parents[2]
P = b"producer".ljust(16)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store.open(tmp_path / "s", create=True)


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB and 60 files."""
    place = tmp_path / "tiny"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=60", "tmpfs", str(place)], capture_output=True, check=False
    )  # fmt: skip
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a tmpfs")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def event(text: str, size: int = 0) -> ToolCalled:
    """An event that does not compress."""
    return ToolCalled(call=text, name="t", arguments={"x": os.urandom(size // 2).hex()} if size else None)


def calls(store: Store) -> list[str]:
    """What is recorded."""
    return [e.data["call"] for e in read(store, "run")]


@pytest.mark.parametrize(
    "fault",
    ["fdatasync EIO", "fdatasync ENOSPC", "fsync EIO", "write EDQUOT", "write EIO", "pwrite EIO", "open EMFILE",
     "open EROFS", "replace EIO"],
)  # fmt: skip
def test_a_failing_disk_is_said_and_survived(store: Store, tmp_path: Path, fault: str) -> None:
    """If this failed, the recorder would acknowledge what is not on disk, or be of no use when it is well again."""
    StreamWriter.open(store, "run", create=True).close()
    control = tmp_path / "control"
    argv = [sys.executable, "-m", "tests.faults.faulty_recorder", str(control), "--store", str(store.path),
            "--stream", "run", "--holder-pid", str(os.getpid())]  # fmt: skip
    call, error = fault.split()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=ROOT) as recorder:
        try:
            assert recorder.stdout is not None
            assert "ready" in recorder.stdout.readline()
            client = Client.connect(store, "run", source="test", start_recorder=False)
            assert client.append(event("before")) == 1
            # Opening and renaming come only where a new segment begins: after a first failure.
            control.write_text(
                fault if call in ("fdatasync", "write", "pwrite") else f"fdatasync EIO {fault}", "ascii"
            )
            with pytest.raises(RecorderRefused, match="cannot write to"):
                client.append(event("refused"))
            control.write_text(fault, "ascii")
            with pytest.raises(RecorderRefused, match=os.strerror(getattr(errno, error))):
                client.append(event("refused too"))
            assert calls(store) == ["before"]
            control.unlink()
            assert client.append(event("after")) == 2
            client.finish()
            client.close()
            assert recorder.wait(30) == 0
        finally:
            recorder.kill()
    assert calls(store) == ["before", "after"]
    assert verify(store).problems == []


def test_a_disk_that_is_full_for_real(tiny: Path) -> None:
    """If this failed, a full disk would lose acknowledged events, pass for recording, or need more than room."""
    store = Store.open(tiny / "s", create=True)
    with Live(store) as live:
        client = Client.connect(store, "run", source="test")
        acknowledged: list[str] = []

        def fill() -> None:
            for number in range(1000):
                client.append(event(f"{number}", 20_000))
                acknowledged.append(f"{number}")

        with pytest.raises(RecorderRefused, match=r"No space left|bytes could be written"):
            fill()
        assert len(acknowledged) > 10
        assert calls(store)[: len(acknowledged)] == acknowledged
        assert live.ask(pack_plain(Kind.STATUS)).status is Status.OK
        with pytest.raises(RecorderRefused):
            client.append(event("still full", 20_000))
        subprocess.run(["mount", "-o", "remount,size=8m", str(tiny)], check=True)
        client.append(event("room again"))
        acknowledged.append("room again")
        client.finish()
        client.close()
    assert calls(store) == acknowledged
    assert stream_state(store, "run").finished
    assert verify(store).problems == []


def test_a_disk_without_inodes(tiny: Path) -> None:
    """If this failed, a disk that can hold bytes but no more files would end a stream for good."""
    store = Store.open(tiny / "s", create=True)
    with Live(store) as live:
        assert live.ask(pack_append(P, 1, [line("a")])).status is Status.OK
        filler: list[Path] = []

        def fill() -> None:
            while True:
                filler.append(tiny / f"filler {len(filler)}")
                filler[-1].touch()

        with pytest.raises(OSError, match="No space"):
            fill()
        assert live.ask(pack_append(P, 2, [line("b")])).status is Status.OK  # the segment is open
        assert live.ask(pack_plain(Kind.FINISH)).status is Status.NO_ROOM
        live.gone()
        for path in filler[:-1]:
            path.unlink()
        live.start()
        assert live.ask(pack_append(P, 3, [line("c")])).status is Status.OK
        assert live.ask(pack_plain(Kind.FINISH)).status is Status.OK
    assert calls(store) == ["a", "b", "c"]
    assert verify(store).problems == []


def test_a_limit_that_cuts_a_write_short(store: Store) -> None:
    """If this failed, half a group on disk would be taken for all of it."""
    with Live(store) as live:
        assert live.ask(pack_append(P, 1, [line("a")])).status is Status.OK
        (segment,) = list_segments(store.stream_path("run"))
        # The kernel takes what fits below the limit and says so; the next write gets EFBIG.
        live.process.rlimit(psutil.RLIMIT_FSIZE, (segment.size + 100, resource.RLIM_INFINITY))
        big = [line(os.urandom(4000).hex())]
        refused = live.ask(pack_append(P, 2, big))
        assert refused.status is Status.NO_ROOM
        assert "100 of" in refused.text
        assert live.ask(pack_append(b"other".ljust(16), 1, big)).status is Status.NO_ROOM
        live.process.rlimit(psutil.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert live.ask(pack_append(b"third".ljust(16), 1, [line("b")])).last == 2
        assert live.ask(pack_plain(Kind.FINISH)).status is Status.OK
    assert calls(store) == ["a", "b"]
    assert verify(store).problems == []


def test_a_second_recorder_is_refused(store: Store) -> None:
    """If this failed, two recorders would write one stream, and each would cut off what the other wrote."""
    argv = [sys.executable, "-m", "eventlog.recorder", "--store", str(store.path), "--stream", "run",
            "--holder-pid", str(os.getpid())]  # fmt: skip
    with Live(store) as live, Bystander(live) as bystander:
        for _ in range(3):
            second = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=False, timeout=60)
            assert second.returncode == 1
            assert "StreamBusy" in second.stdout
            assert str(live.process.pid) in second.stdout
        with pytest.raises(StreamBusy, match=str(live.process.pid)):
            StreamWriter.open(store, "run")
        # Even where its socket is gone, the lock keeps a second one out.
        live.address.requests.unlink()
        second = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=False, timeout=60)
        assert "StreamBusy" in second.stdout
    bystander.unhindered()
    assert verify(store).ok


def test_a_lock_left_by_the_dead(store: Store) -> None:
    """If this failed, a recorder that was killed would keep its stream locked, or look alive."""
    with Live(store) as live:
        assert live.ask(pack_append(P, 1, [line("a")])).status is Status.OK
        lock = store.stream_path("run") / LOCK
        assert holder(lock) == live.process.pid
        live.kill()
        assert lock.read_text("ascii") == f"{live.process.pid}\n"
        assert not is_held(lock)
        assert holder(lock) is None
        assert not stream_state(store, "run").live
        # The process id may be another's by now, the file not writable, or not one at all.
        lock.write_text(f"{os.getpid()}\n", "ascii")
        assert not stream_state(store, "run").live
        live.start()
        assert live.ask(pack_append(P, 1, [line("a")])).duplicates == 1
        assert live.ask(pack_append(P, 2, [line("b")])).last == 2
    assert calls(store) == ["a", "b"]


def test_a_recorder_that_is_stopped(store: Store) -> None:
    """If this failed, a suspended recorder would hang its producers for ever, or double events when it goes on."""
    with Live(store) as live:
        patient = Client.connect(store, "run", source="patient")
        hasty = Client.connect(store, "run", source="hasty", timeout_s=1.0)
        patient.append(event("first"))
        live.process.send_signal(signal.SIGSTOP)
        done: list[int | None] = []
        waiting = threading.Thread(target=lambda: done.append(patient.append(event("patient"))))
        waiting.start()
        began = time.monotonic()
        with pytest.raises((RecorderUnavailable, StreamBusy)):
            hasty.append(event("hasty"))
        assert time.monotonic() - began < 20
        assert stream_state(store, "run").live
        live.process.send_signal(signal.SIGCONT)
        waiting.join(60)
        assert done
        patient.flush()
        hasty.close()
        patient.finish()
        patient.close()
    recorded = calls(store)
    assert sorted(recorded) in (["first", "hasty", "patient"], ["first", "patient"])
    assert verify(store).problems == []


def test_a_recorder_that_is_killed_over_and_over(store: Store) -> None:
    """If this failed, clients would lose, double or reorder events when their recorder dies under them."""
    with Live(store) as live:
        stop = threading.Event()
        told: list[str] = []

        def produce() -> None:
            with Client.connect(store, "run", source="test") as client:
                while not stop.is_set():
                    client.append(event(f"{len(told)}"))
                    told.append(f"{len(told)}")
                client.finish()

        thread = threading.Thread(target=produce)
        thread.start()
        for _ in range(5):
            seen = len(told)
            until(lambda seen=seen: len(told) > seen + 20)
            pid = holder(store.stream_path("run") / LOCK)
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
        stop.set()
        thread.join(60)
        assert not thread.is_alive()
        live.gone()
    assert calls(store) == told
    assert len(told) > 100
    assert verify(store).problems == []
