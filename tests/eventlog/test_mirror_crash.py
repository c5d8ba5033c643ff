"""A puller or a server that is killed at any instant leaves nothing damaged and loses nothing."""

from __future__ import annotations

import signal
import subprocess
import threading
from pathlib import Path

import pytest

from eventlog.mirror import channel, known_hosts
from eventlog.mirror.landing import Landing
from eventlog.mirror.note import Note
from eventlog.mirror.source import StoreSource
from eventlog.reader import read_lines
from eventlog.store import Store
from eventlog.stream import StreamWriter

from .mirroring import (
    HEMRA,
    ServeCommand,
    Serving,
    assert_identical,
    blobs,
    environment,
    event,
    hemra,
    record,
    recorded,
    serving,
    sound,
)
from .test_mirror_copies import pulled

NEW = ["mirror.before_stream", "mirror.after_note"]
LIVE = ["mirror.before_write", "mirror.before_sync", "mirror.after_sync", "mirror.after_anchor"]
SEALED = [
    "mirror.after_rename", "mirror.after_sealed_anchor", "mirror.after_manifest", "mirror.before_complete",
    "replace.before_rename:4", "anchor.before_write:2",
]  # fmt: skip


def pull(server: Serving, home: Path, here: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A real `hemra log pull run`."""
    known_hosts.KnownHosts(home / "hemra" / "mirror").remember(server.address, server.identity.fingerprint)
    return hemra(home, "log", "pull", "--store", str(here), str(server.address), "run", **more)


def config(home: Path) -> Path:
    """Where a user with this configuration folder has what mirrors need."""
    return home / "hemra" / "mirror"


@pytest.mark.parametrize("point", NEW + LIVE)
def test_a_pull_of_a_live_run_is_killed(tmp_path: Path, point: str) -> None:
    """What stands above a copy's anchor after a kill must read as nothing, and the next pull goes on there."""
    there, home, here = Store.open(tmp_path / "there", create=True), tmp_path / "home", tmp_path / "here"
    with serving(there, config(home)) as server, StreamWriter.open(there, "run", create=True) as writer:
        for number in range(1, 21):
            writer.append(event(number, 90_000 if number == 15 else 40))
        if point in LIVE:  # the second pull, into a copy that is there
            assert pull(server, home, here).returncode == 0
            for number in range(21, 41):
                writer.append(event(number))
        killed = pull(server, home, here, HEMRA_CRASH_AT=point)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        ours = Store.open(here, create=True)
        if ours.streams():
            sound(ours)
            got, whole = list(read_lines(ours, "run")), list(read_lines(there, "run"))
            assert got == whole[: len(got)]
            assert len(got) >= (20 if point in LIVE else 0)
        writer.finish()
        done = pull(server, home, here)
        assert done.returncode == 0, done.stderr
    assert_identical(ours, there)


@pytest.mark.parametrize("point", SEALED)
@pytest.mark.parametrize("before", [0, 25], ids=["new", "after live"])
def test_a_pull_of_a_sealed_run_is_killed(tmp_path: Path, point: str, before: int) -> None:
    """Between a sealed file's rename, the anchor and the manifest a copy must stay sound and readable."""
    there, home, here = Store.open(tmp_path / "there", create=True), tmp_path / "home", tmp_path / "here"
    ours = Store.open(here, create=True)
    with serving(there, config(home)) as server:
        if before:
            record(there, "run", before, blob_every=10)
            assert pull(server, home, here).returncode == 0
        record(there, "run", 40, start=before + 1, create=not before, blob_every=10, finish=True)
        killed = pull(server, home, here, HEMRA_CRASH_AT=point)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        if ours.streams():
            sound(ours)
            got, whole = list(read_lines(ours, "run")), list(read_lines(there, "run"))
            assert got == whole[: len(got)]
            assert len(got) >= before
        assert pull(server, home, here).returncode == 0
    assert_identical(ours, there)
    assert len(list(read_lines(ours, "catalog"))) == 1


def test_a_sealed_file_and_a_blob_go_on_where_they_broke_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that breaks every few hundred kB would otherwise never carry a large run."""
    there, here = Store.open(tmp_path / "there", create=True), Store.open(tmp_path / "here", create=True)
    with StreamWriter.open(there, "run", create=True) as writer:
        writer.append(event(1, 3_000_000))
        for number in range(2, 400):
            writer.append(event(number, 2_000))
        writer.finish()
    for module in ("source", "messages"):
        monkeypatch.setattr(f"eventlog.mirror.{module}.PIECE_BYTES", 20_000)
    monkeypatch.setattr("eventlog.mirror.reconnect.FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr("eventlog.mirror.reconnect.MAX_PAUSE_S", 0.001)
    total = sum(len(content) for content in blobs(there).values())
    budget, cuts = 300_000, 0
    real = channel.Channel.answered

    def breaking(self: channel.Channel) -> object:
        nonlocal cuts
        if self.received > budget:
            cuts += 1
            raise channel.Unreachable("the link broke")
        return real(self)

    monkeypatch.setattr(channel.Channel, "answered", breaking)
    with serving(there, tmp_path / "config") as server:
        copied = pulled(here, server)
    assert copied.what == "whole"
    assert cuts >= total // (budget + 20_000)
    # Nothing came twice but what was under way at a cut.
    sealed = sum(p.stat().st_size for p in here.stream_path("run").glob("0*"))
    assert copied.bytes <= total + sealed + cuts * 20_000
    assert_identical(here, there)


def test_what_a_kill_left_damaged_aside_is_brought_anew(tmp_path: Path) -> None:
    """After a power cut what was gathered aside can hold zeros: it must not be trusted, nor block the way."""
    there, here = Store.open(tmp_path / "there", create=True), Store.open(tmp_path / "here", create=True)
    recorded(there, blob_every=20)
    head = StoreSource(there).head("run")
    landing = Landing.open(here, "run", head, Note(of="x", store="y"))
    landing.part_of(head.sealed[0]).write_bytes(bytes(head.sealed[0].size // 2))
    digest = next(iter(blobs(there))).removeprefix("sha256/").replace("/", "")
    landing.part_of_blob(f"sha256:{digest}").write_bytes(bytes(1000))
    landing.close()
    with serving(there, tmp_path / "config") as server:
        assert pulled(here, server).what == "whole"
    assert_identical(here, there)


def test_what_a_power_cut_left_of_a_batch_is_no_damage(tmp_path: Path) -> None:
    """A batch of a copy holds many commits: a page lost in its middle must not make the copy unreadable for ever."""
    there, home, here = Store.open(tmp_path / "there", create=True), tmp_path / "home", tmp_path / "here"
    with serving(there, config(home)) as server, StreamWriter.open(there, "run", create=True) as writer:
        writer.append(event(1))
        assert pull(server, home, here).returncode == 0
        for number in range(2, 30):
            writer.append(event(number))
        assert pull(server, home, here, HEMRA_CRASH_AT="mirror.before_sync").returncode == -signal.SIGKILL
        ours = Store.open(here)
        newest = max(ours.stream_path("run").glob("0*"))
        content = bytearray(newest.read_bytes())
        content[len(content) // 2 : len(content) // 2 + 500] = bytes(500)
        newest.write_bytes(content)
        sound(ours)
        assert len(list(read_lines(ours, "run"))) in range(1, 30)
        done = pull(server, home, here)
        assert done.returncode == 0, done.stderr
        assert list(read_lines(ours, "run")) == list(read_lines(there, "run"))
        writer.finish()
        assert pull(server, home, here).returncode == 0
    assert_identical(ours, there)


def test_what_a_power_cut_left_behind_the_sources_anchor_is_copied(tmp_path: Path) -> None:
    """What a reader there shows after a power cut, the copy must have too: those events were acknowledged."""
    there, here = Store.open(tmp_path / "there", create=True), Store.open(tmp_path / "here", create=True)
    writer = StreamWriter.open(there, "run", create=True)
    anchor = there.stream_path("run") / "anchor"
    for number in range(1, 11):
        writer.append(event(number))
        if number == 5:
            behind = anchor.read_bytes()
    writer._lock.release()  # it dies with the machine
    anchor.write_bytes(behind)
    with serving(there, tmp_path / "config") as server:
        assert pulled(here, server).last == 10
        with StreamWriter.open(there, "run") as next_writer:
            next_writer.append(event(11))
            next_writer.finish()
        assert pulled(here, server).what == "whole"
    assert_identical(here, there)


def test_a_server_that_is_killed_and_comes_back(tmp_path: Path) -> None:
    """A follower goes on by itself with the server's next process; nothing is missing and nothing twice."""
    there, home, here = Store.open(tmp_path / "there", create=True), tmp_path / "home", tmp_path / "here"
    with StreamWriter.open(there, "run", create=True) as writer:
        writer.append(event(1))
        first = ServeCommand(there.path, home)
        follower = subprocess.Popen(
            [*HEMRA, "log", "pull", "--store", str(here), str(first.address), "run", "-f", "--fingerprint",
             first.fingerprint],
            env=environment(home), stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        waited = threading.Event()
        while not (here / "log" / "run" / "anchor").exists():
            assert follower.poll() is None
            waited.wait(0.02)
        for number in range(2, 30):
            writer.append(event(number))
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
        for number in range(30, 60):
            writer.append(event(number))
        second = ServeCommand(there.path, home, listen=str(first.address))
        assert second.fingerprint == first.fingerprint
        for number in range(60, 90):
            writer.append(event(number))
        writer.finish()
        _, told = follower.communicate(timeout=40)
        assert follower.returncode == 0, told
        assert "trying again" in told
        assert "is back" in told
        assert second.end(signal.SIGINT) == 130
    assert_identical(Store.open(here), there)


def test_ctrl_c_ends_a_follower_cleanly(tmp_path: Path) -> None:
    """Ctrl-C must not leave a traceback, a lock or a copy that calls itself live."""
    there, home, here = Store.open(tmp_path / "there", create=True), tmp_path / "home", tmp_path / "here"
    with StreamWriter.open(there, "run", create=True) as writer:
        writer.append(event(1))
        server = ServeCommand(there.path, home)
        follower = subprocess.Popen(
            [*HEMRA, "log", "pull", "--store", str(here), str(server.address), "-f", "--fingerprint",
             server.fingerprint],
            env=environment(home), stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        waited = threading.Event()
        while not (here / "log" / "run" / "anchor").exists():
            assert follower.poll() is None
            waited.wait(0.02)
        follower.send_signal(signal.SIGINT)
        _, told = follower.communicate(timeout=20)
        assert follower.returncode == 130, told
        assert "Traceback" not in told
        server.end(signal.SIGTERM)
    sound(Store.open(here))


def test_giving_up_says_so(tmp_path: Path) -> None:
    """A server that is not there must end the command in time, with a line that names it."""
    home = tmp_path / "home"
    (home / "hemra" / "mirror").mkdir(parents=True)
    token = home / "hemra" / "mirror" / "token"
    token.write_text("x" * 43, encoding="utf-8")
    token.chmod(0o600)
    nobody = ["log", "pull", "--store", str(tmp_path / "here"), "tls+tcp://127.0.0.1:1", "run"]
    at_once = hemra(home, *nobody, timeout_s=10)
    assert at_once.returncode == 1
    assert "cannot reach 127.0.0.1:1: Connection refused" in at_once.stderr
    later = hemra(home, *nobody, "--timeout", "1", timeout_s=15)
    assert later.returncode == 1
    assert "given up after 1 s" in later.stderr
