"""`hemra log pull` where something does not go: what is said, how often, and what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventlog.errors import StreamBusy
from eventlog.mirror import note
from eventlog.mirror.copying import Copying
from eventlog.mirror.errors import MirrorError, NotOurs, Refused
from eventlog.mirror.landing import adopt
from eventlog.mirror.messages import Listed
from eventlog.mirror.source import StoreSource
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify

from .mirroring import HEMRA, ServeCommand, assert_identical, environment, event, hemra, record, recorded


@pytest.fixture
def there(tmp_path: Path) -> Store:
    """The store that is served."""
    return Store.open(tmp_path / "there", create=True)


@pytest.fixture
def server(there: Store, tmp_path: Path) -> Iterator[ServeCommand]:
    """A server whose user is also the one who pulls."""
    running = ServeCommand(there.path, tmp_path / "home")
    yield running
    running.end(signal.SIGINT)


def test_a_run_that_cannot_be_pulled_is_told_once_and_the_others_go_on(
    there: Store, server: ServeCommand, tmp_path: Path
) -> None:
    """A run that parted must not fill the terminal and the processor for as long as the others are followed."""
    home, here = tmp_path / "home", Store.open(tmp_path / "here", create=True)
    record(there, "20261130-aaa", 3)
    record(here, "20261130-aaa", 3)  # another run of that name
    with StreamWriter.open(there, "20261130-aaa"):
        follower = subprocess.Popen(
            [*HEMRA, "log", "pull", "--store", str(here.path), str(server.address), "-f", "--fingerprint",
             server.fingerprint],
            env=environment(home), stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert follower.stderr is not None
        lines = [follower.stderr.readline()]
        recorded(there, "20261130-bbb", parts=(5,))
        while "20261130-bbb" not in lines[-1]:
            lines.append(follower.stderr.readline())
            assert lines[-1], lines
            assert len(lines) < 20, lines
        follower.send_signal(signal.SIGINT)
        rest = follower.communicate(timeout=20)[1]
    told = [line for line in (*lines, *rest.splitlines()) if "another run is called" in line]
    assert len(told) == 1, lines
    assert follower.returncode == 130
    assert_identical(here, there, "20261130-bbb")


def test_a_failed_run_is_tried_again_after_growing_pauses() -> None:
    """One that fails must come back once the cause is gone, and until then cost next to nothing."""
    from hemra.cli.mirror_session import Attempts

    attempts, one = Attempts(), Listed(stream="run", last=5, finished=False, live=True)
    now, pauses, news = 0.0, [], []
    for _ in range(8):
        began = now
        while not attempts.is_due(one, now):
            now += 0.5
        pauses.append(now - began)
        news.append(attempts.failed("run", StreamBusy("busy"), now))
    assert pauses == [0, 4, 8, 16, 32, 60, 60, 60]
    assert news == [True] + [False] * 7
    assert attempts.failed("run", Refused("no", "damaged"), now)
    attempts.worked("run")
    assert not attempts.is_due(one, now)
    assert attempts.is_due(Listed(stream="run", last=6, finished=False, live=True), now)
    assert attempts.failed("run", StreamBusy("busy"), now)


@pytest.mark.parametrize("following", [(), ("-f",)], ids=["once", "-f"])
def test_a_pull_that_is_not_let_in_leaves_no_store(
    server: ServeCommand, tmp_path: Path, following: tuple[str, ...]
) -> None:
    """A mistyped token or fingerprint must not make an empty store, which then passes for the user's own."""
    home, here = tmp_path / "home", tmp_path / "here"
    wrong = tmp_path / "token"
    wrong.write_text("x" * 43, encoding="utf-8")
    wrong.chmod(0o600)
    trust = ("--fingerprint", server.fingerprint)
    for how in ((*trust, "--token-file", str(wrong)), ("--fingerprint", "sha256:" + "0" * 64)):
        done = hemra(home, "log", "pull", "--store", str(here), str(server.address), *following, *how)
        assert done.returncode == 1, done.stderr
        assert not here.exists()
    done = hemra(home, "log", "pull", "--store", str(here), "tls+tcp://127.0.0.1:1", *trust)
    assert (done.returncode, here.exists()) == (1, False)


def test_a_full_disk_is_told_with_store_run_and_remedy(
    there: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who follows several runs into several stores must learn from the line where to make room."""
    record(there, "run", 50)
    here = Store.open(tmp_path / "here", create=True)
    real = os.write
    monkeypatch.setattr("os.write", lambda fd, data: real(fd, data[:100] if len(data) > 1000 else data))
    source, copying = StoreSource(there), Copying(here, "run")
    with pytest.raises(
        MirrorError,
        match=rf"^run cannot be written to {here.path} behind event 0: No space left.*make room there",
    ):
        copying.round(source, follow=False)
    copying.close()
    monkeypatch.undo()
    copying = Copying(here, "run")
    assert copying.round(source, follow=False).last == 50
    copying.close()
    source.close()


def test_a_real_file_size_limit_is_told_the_same_way(
    there: Store, server: ServeCommand, tmp_path: Path
) -> None:
    """What the kernel cuts short must end in one line that names the run, not in bytes."""
    home, here = tmp_path / "home", tmp_path / "here"
    recorded(there, "run", parts=(3_000,))
    done = subprocess.run(
        ["prlimit", "--fsize=20000", *HEMRA, "log", "pull", "--store", str(here), str(server.address), "run",
         "--fingerprint", server.fingerprint],
        env=environment(home), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"run cannot be written to {here} behind event 0: File too large" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_copy_is_as_private_as_a_run_of_ones_own(
    there: Store, server: ServeCommand, tmp_path: Path, mask: int
) -> None:
    """Who keeps runs from others by a umask must have copies kept from them too."""
    home, here = tmp_path / "home", tmp_path / "here"
    recorded(there, "sealed", blob_every=20)
    record(there, "live", 5)
    before = os.umask(mask)
    try:
        own = Store.open(here, create=True)
        recorded(own, "own")
        with StreamWriter.open(own, "own-live", create=True) as writer:
            writer.append(event(1))
        done = hemra(
            home,
            "log",
            "pull",
            "--store",
            str(here),
            str(server.address),
            "--fingerprint",
            server.fingerprint,
        )
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr

    def modes(name: str) -> tuple[int, int]:
        path = own.stream_path(name)
        (segment,) = {p.stat().st_mode & 0o777 for p in path.glob("0*")}
        return path.stat().st_mode & 0o777, segment

    assert modes("live") == modes("own-live") == (0o777 & ~mask, 0o644 & ~mask)
    assert modes("sealed")[0] == modes("own")[0]
    assert modes("sealed")[1] & ~modes("own")[1] == 0


def test_a_note_that_does_not_read_names_what_helps(there: Store, tmp_path: Path) -> None:
    """A repair of the run would make a second one: what is lost is only where it came from."""
    record(there, "run", 5)
    here = Store.open(tmp_path / "here", create=True)
    source, copying = StoreSource(there), Copying(here, "run")
    copying.round(source, follow=False)
    copying.close()
    path = here.stream_path("run") / note.NAME
    path.write_bytes(b"\0" * 80)
    from hemra.cli.failure import line_of

    copying = Copying(here, "run")
    with pytest.raises(MirrorError) as refused:
        copying.round(source, follow=False)
    copying.close()
    line = line_of(refused.value)
    assert str(path) in line
    assert "`hemra log adopt run`" in line
    assert "repair" not in line
    with pytest.raises(NotOurs, match="hemra log adopt run"):
        StreamWriter.open(here, "run")
    assert adopt(here, "run") == 5
    record(there, "run", 3, start=6, create=False, finish=True)
    copying = Copying(here, "run")
    assert copying.round(source, follow=False).what == "whole"
    copying.close()
    source.close()
    assert_identical(here, there)


def test_verify_names_a_note_that_does_not_read(there: Store, tmp_path: Path) -> None:
    """If this failed, a copy that no pull extends and no recorder writes any more would pass for sound."""
    record(there, "run", 5)
    here = Store.open(tmp_path / "here", create=True)
    source, copying = StoreSource(there), Copying(here, "run")
    copying.round(source, follow=False)
    copying.close()
    source.close()
    path = here.stream_path("run") / note.NAME
    path.write_bytes(b"{")
    found = [str(p) for p in verify(here, ["run"]).problems if p.severity == "error"]
    assert len(found) == 1
    assert str(path) in found[0]
    assert "`hemra log adopt run`" in found[0]
    adopt(here, "run")
    assert verify(here, ["run"]).ok
