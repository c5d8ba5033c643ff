"""Many producers at once, a recorder that is killed under them, a disk that fills up."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventlog import anchor as anchors
from eventlog.client import Client
from eventlog.errors import RecorderRefused
from eventlog.lock import NAME as LOCK
from eventlog.lock import holder
from eventlog.reader import read, stream_state
from eventlog.schemas.conversation import MessageRecorded
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify

ROOT = Path(__file__).resolve().parents[2]


class Producers:
    """Producer processes and what each was told to be safe."""

    def __init__(self, store: Store, processes: int, threads: int, events: int) -> None:
        self.acknowledged: list[tuple[str, str]] = []
        self._stack = contextlib.ExitStack()
        argv = [sys.executable, "-m", "tests.eventlog.load_producer", str(store.path)]
        self._processes = [
            self._stack.enter_context(
                subprocess.Popen(
                    [*argv, f"p{n}", str(threads), str(events)], cwd=ROOT, text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                )
            )
            for n in range(processes)
        ]  # fmt: skip
        for process in self._processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        self._readers = [threading.Thread(target=self._read, args=(p,)) for p in self._processes]

    def go(self) -> None:
        """Let all begin."""
        for process, reader in zip(self._processes, self._readers, strict=True):
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
            reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            seq, name = line.split()
            self.acknowledged.append((seq, name))

    def running(self) -> bool:
        """Whether one of them still produces."""
        return any(process.poll() is None for process in self._processes)

    def __enter__(self) -> Producers:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no process behind, also when the test failed."""
        for process in self._processes:
            process.kill()
        self._stack.close()

    def join(self) -> None:
        """Wait for all; every one must end well."""
        for process, reader in zip(self._processes, self._readers, strict=True):
            reader.join()
            assert process.wait(60) == 0, process.stderr.read() if process.stderr else ""


def check(store: Store, producers: Producers, processes: int, threads: int, events: int) -> None:
    """Every event once, seq dense, each producer thread's order kept, each acknowledged seq true."""
    recorded = list(read(store, "run"))
    assert [e.seq for e in recorded] == list(range(1, processes * threads * events + 1))
    by_thread: dict[str, list[int]] = defaultdict(list)
    for event in recorded:
        name, _, number = event.data["call"].partition(":")
        by_thread[name].append(int(number))
    assert len(by_thread) == processes * threads
    assert all(numbers == list(range(events)) for numbers in by_thread.values())
    names = {str(e.seq): e.data["call"] for e in recorded}
    told = [(seq, name) for seq, name in producers.acknowledged if seq != "None"]
    assert all(names[seq] == name for seq, name in told)
    assert len(producers.acknowledged) == processes * threads * sum(n % 3 != 2 for n in range(events))
    assert verify(store).problems == []


def test_twenty_thousand_events_of_sixteen_producers(store: Store) -> None:
    """If this failed, concurrency would lose, double or reorder events."""
    StreamWriter.open(store, "run", create=True).close()
    with Producers(store, processes=4, threads=4, events=1250) as producers:
        producers.go()
        producers.join()
        wait_until_free(store)
        check(store, producers, 4, 4, 1250)


def wait_until_free(store: Store) -> None:
    """Until the recorder has ended."""
    deadline = time.monotonic() + 15
    while stream_state(store, "run").live:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_twenty_kills_of_the_recorder_under_load(store: Store) -> None:
    """If this failed, an acknowledged event would be missing or doubled after the recorder was killed."""
    StreamWriter.open(store, "run", create=True).close()
    path = store.stream_path("run")
    kills = before = 0
    with Producers(store, processes=2, threads=4, events=2000) as producers:
        producers.go()
        while kills < 20 and producers.running():
            writer, mark = holder(path / LOCK), anchors.load(path)
            # Each new recorder gets some work done before it is killed too.
            if writer is None or mark is None or mark.last < before + 20:
                time.sleep(0.002)
                continue
            before = mark.last
            with contextlib.suppress(ProcessLookupError):
                os.kill(writer, signal.SIGKILL)
                kills += 1
        assert kills == 20
        producers.join()
        wait_until_free(store)
        check(store, producers, 2, 4, 2000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB."""
    if os.geteuid() != 0 or not sys.platform.startswith("linux") or not shutil.which("mount"):
        pytest.skip("mounting a small tmpfs needs root on Linux")
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this container may not mount a tmpfs")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill_up(client: Client, acknowledged: list[int]) -> None:
    """Append until the disk refuses."""
    for number in range(10, 2000):
        client.append(MessageRecorded(role="user", text=f"{number} {os.urandom(200).hex()}"))
        acknowledged.append(number)


def test_a_full_disk_is_a_clear_error_and_passes(small_disk: Path) -> None:
    """If this failed, a full disk would damage the log, lose acknowledged events, or need a restart afterwards."""
    store = Store.open(small_disk / "store", create=True)
    acknowledged = []
    with Client.connect(store, "run", source="t", create=True) as client:
        for number in range(10):
            acknowledged.append(number)
            client.append(MessageRecorded(role="user", text=str(number)))
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        with pytest.raises(RecorderRefused, match=r"log/run: (No space left|.*disk full)"):
            fill_up(client, acknowledged)
        client.emit(MessageRecorded(role="user", text="-1"))
        ballast.unlink()
        client.append(MessageRecorded(role="user", text="-2"))
        acknowledged += [-1, -2]
        client.finish()
    recorded = list(read(store, "run"))
    assert [e.seq for e in recorded] == list(range(1, len(acknowledged) + 1))
    assert [int(e.data["text"].partition(" ")[0]) for e in recorded] == acknowledged
    assert verify(store).problems == []
