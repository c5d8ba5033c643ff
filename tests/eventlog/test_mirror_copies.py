"""Pull and push over loopback: the copy is identical, whatever was there before and whatever happens on the way."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from eventlog.errors import StreamBusy
from eventlog.follow import follow
from eventlog.mirror import note, transfers
from eventlog.mirror.copying import Copied
from eventlog.mirror.errors import MirrorError, NotOurs, Parted, Refused
from eventlog.mirror.landing import adopt
from eventlog.mirror.reconnect import Patience
from eventlog.reader import read, read_lines, stream_state
from eventlog.schemas.runs import ImportRecorded
from eventlog.seal import seal
from eventlog.store import Store
from eventlog.stream import StreamWriter

from .mirroring import Serving, assert_identical, event, files, record, recorded, serving, sound


@pytest.fixture
def there(tmp_path: Path) -> Store:
    """The store that is served."""
    return Store.open(tmp_path / "there", create=True)


@pytest.fixture
def here(tmp_path: Path) -> Store:
    """The store that copies go to."""
    return Store.open(tmp_path / "here", create=True)


def pulled(here: Store, server: Serving, name: str = "run", *, following: bool = False) -> Copied:
    """One pull."""
    return transfers.pull(
        here, name, server.dialler(), follow=following, patience=Patience(20), tell=lambda line: None,
        stop=threading.Event(),
    )  # fmt: skip


def pushed(here: Store, server: Serving, name: str = "run", *, following: bool = False) -> Copied:
    """One push of a run of `here`."""
    return transfers.push(
        here, name, server.dialler(), follow=following, patience=Patience(20), tell=lambda line: None,
        stop=threading.Event(),
    )  # fmt: skip


def test_a_finished_run_arrives_identical(there: Store, here: Store, tmp_path: Path) -> None:
    """Another byte anywhere would make two runs of one."""
    recorded(there, blob_every=7)
    with serving(there, tmp_path / "config") as server:
        copied = pulled(here, server)
    assert copied.what == "whole"
    assert (copied.events, copied.last) == (60, 60)
    assert copied.blobs == 8
    assert_identical(here, there)


def test_a_second_pull_changes_nothing(there: Store, here: Store, tmp_path: Path) -> None:
    """A pull from cron must not grow the catalog or touch a file."""
    recorded(there)
    with serving(there, tmp_path / "config") as server:
        pulled(here, server)
        path = here.stream_path("run")
        before = {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in path.iterdir() if p.name != "lock"}
        assert pulled(here, server).what == "same"
    assert {
        p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in path.iterdir() if p.name != "lock"
    } == before
    assert len(list(read(here, "catalog", types=(ImportRecorded.type,)))) == 1


def test_what_is_live_is_copied_and_later_replaced_by_what_is_sealed(
    there: Store, here: Store, tmp_path: Path
) -> None:
    """A copy of a running run would otherwise never become identical."""
    with (
        StreamWriter.open(there, "run", create=True) as writer,
        serving(there, tmp_path / "config") as server,
    ):
        for number in range(1, 31):
            writer.append(event(number, 90_000 if number % 10 == 0 else 40))
        first = pulled(here, server)
        assert (first.what, first.last, first.blobs) == ("copied", 30, 3)
        assert list(read_lines(here, "run")) == list(read_lines(there, "run"))
        sound(here)
        for number in range(31, 41):
            writer.append(event(number))
        second = pulled(here, server)
        assert (second.what, second.events, second.last) == ("copied", 10, 40)
        writer.finish()
        third = pulled(here, server)
        assert (third.what, third.events) == ("whole", 0)
    assert_identical(here, there)


def test_a_follower_sees_the_same_and_ends_with_the_run(there: Store, here: Store, tmp_path: Path) -> None:
    """`-f` must give the same tail there as here, through rolling and sealing, and stop by itself."""
    results: list[Copied] = []
    seen: list[int] = []
    with (
        StreamWriter.open(there, "run", create=True) as writer,
        serving(there, tmp_path / "config") as server,
    ):
        writer.append(event(1))
        pull = threading.Thread(target=lambda: results.append(pulled(here, server, following=True)))
        pull.start()
        waited = threading.Event()
        while not here.stream_path("run").exists():
            waited.wait(0.01)
        tail = threading.Thread(target=lambda: seen.extend(e.seq for e in follow(here, "run")))
        tail.start()
        for number in range(2, 121):
            writer.append(event(number, 90_000 if number % 50 == 0 else 40))
            if number == 60:
                writer._roll()  # as when the segment is full: it is sealed while appends go on
        writer.finish()
        pull.join(30)
        tail.join(30)
    assert [r.what for r in results] == ["whole"]
    assert seen == list(range(1, 121))
    assert_identical(here, there)


def test_a_push_is_a_pull_the_other_way(there: Store, here: Store, tmp_path: Path) -> None:
    """A machine that nobody can connect to must be able to hand its runs over."""
    recorded(here, blob_every=9)
    with serving(there, tmp_path / "config") as server:
        copied = pushed(here, server)
        assert (copied.what, copied.last) == ("whole", 60)
        assert pushed(here, server).what == "same"
    assert_identical(there, here)


def test_a_pushed_run_can_be_followed(there: Store, here: Store, tmp_path: Path) -> None:
    """`push -f` hands over what is recorded while it is recorded."""
    results: list[Copied] = []
    with StreamWriter.open(here, "run", create=True) as writer, serving(there, tmp_path / "config") as server:
        writer.append(event(1))
        push = threading.Thread(target=lambda: results.append(pushed(here, server, following=True)))
        push.start()
        for number in range(2, 60):
            writer.append(event(number))
        writer.finish()
        push.join(30)
    assert [r.what for r in results] == ["whole"]
    assert_identical(there, here)


def test_a_read_only_server_takes_no_push(there: Store, here: Store, tmp_path: Path) -> None:
    """Whoever may read must not be able to fill the disk of a server that said no."""
    recorded(here)
    with (
        serving(there, tmp_path / "config", pushes=False) as server,
        pytest.raises(Refused, match="takes no pushes"),
    ):
        pushed(here, server)
    assert there.streams() == []


def test_an_unfinished_copy_is_not_written_as_if_it_were_ours(
    there: Store, here: Store, tmp_path: Path
) -> None:
    """A recorder that went on in a copy would make two runs of one id that part for ever."""
    record(there, "run", 10)
    with serving(there, tmp_path / "config") as server:
        pulled(here, server)
    for write in (lambda: StreamWriter.open(here, "run"), lambda: seal(here, "run")):
        with pytest.raises(
            NotOurs, match=r"unfinished copy of a run of tls\+tcp://127\.0\.0\.1.*hemra log adopt run"
        ):
            write()
    assert adopt(here, "run") == 10
    record(here, "run", 5, start=11, create=False, finish=True)
    sound(here)
    with pytest.raises(MirrorError, match="own already"):
        adopt(here, "run")


def test_a_whole_copy_is_a_run_like_any_other(there: Store, here: Store, tmp_path: Path) -> None:
    """A run that came whole can be resumed here, as one that was imported."""
    recorded(there)
    with serving(there, tmp_path / "config") as server:
        pulled(here, server)
        record(here, "run", 3, start=61, create=False, finish=True)
        assert pulled(here, server).what == "longer"
        assert pushed(here, server).what == "whole"
    assert_identical(there, here)


def test_a_run_that_is_resumed_there_is_brought_up(there: Store, here: Store, tmp_path: Path) -> None:
    """Sealing merges small files: what was identical yesterday is another file today, and must be replaced."""
    recorded(there, parts=(20, 10), blob_every=9)
    with serving(there, tmp_path / "config") as server:
        pulled(here, server)
        record(there, "run", 25, start=31, create=False, finish=True)
        assert (pulled(here, server).what, stream_state(here, "run").last_seq) == ("whole", 55)
    assert_identical(here, there)


def test_files_that_are_cut_otherwise_take_their_places_together(
    there: Store, here: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file here goes over the end of one there, one by one they would leave a gap between two steps."""
    from eventlog import seal as sealing

    with StreamWriter.open(there, "run", create=True) as writer:
        for number in range(1, 31):
            writer.append(event(number, 2_000))
    seal(there, "run")
    record(there, "run", 15, start=31, create=False)
    shutil.copytree(there.stream_path("run"), here.stream_path("run"))
    seal(here, "run")  # one file of 1 to 45
    monkeypatch.setattr(sealing, "SMALL_BYTES", 10_000)
    seal(there, "run")
    record(there, "run", 15, start=46, create=False, finish=True)  # 1 to 30, and 31 to 60
    assert [len(list(s.stream_path("run").glob("0*"))) for s in (here, there)] == [1, 2]
    with serving(there, tmp_path / "config") as server:
        assert pulled(here, server).what == "whole"
    assert_identical(here, there)


@pytest.mark.parametrize("ours", [(15,), (30, 6)], ids=["cut earlier", "cut later"])
def test_a_copy_that_was_sealed_on_its_own_is_brought_in_line(
    there: Store, here: Store, tmp_path: Path, ours: tuple[int, ...]
) -> None:
    """The same events sealed at other places have other files and another chain; theirs must replace ours whole."""
    with (
        serving(there, tmp_path / "config") as server,
        StreamWriter.open(there, "run", create=True) as writer,
    ):
        last = 0
        for count in ours:
            for number in range(last + 1, last + count + 1):
                writer.append(event(number))
            last += count
            pulled(here, server)
            adopt(here, "run")
            seal(here, "run")
        for number in range(last + 1, 46):
            writer.append(event(number))
        writer.finish()
        assert pulled(here, server).what == "whole"
    assert_identical(here, there)


@pytest.mark.parametrize("sealed", [False, True])
def test_copies_that_parted_are_told_where(there: Store, here: Store, tmp_path: Path, sealed: bool) -> None:
    """A run that went on in two places must not be pulled over either of them; the event tells what happened."""
    record(there, "run", 25)
    with serving(there, tmp_path / "config") as server:
        pulled(here, server)
        adopt(here, "run")
        record(here, "run", 9, start=26, create=False, finish=sealed)
        record(there, "run", 12, start=26, create=False, finish=sealed)
        before = files(here, "run"), files(there, "run")
        for move in (pulled, pushed):
            with pytest.raises((Parted, Refused), match=r"parts at event 26\b.*same up to event 25"):
                move(here, server)
    assert (files(here, "run"), files(there, "run")) == before
    assert not note.is_copy(here.stream_path("run"))


def test_another_run_of_the_same_name_is_refused(there: Store, here: Store, tmp_path: Path) -> None:
    """Two runs that share a name share nothing else."""
    record(there, "run", 5)
    record(here, "run", 5)
    with (
        serving(there, tmp_path / "config") as server,
        pytest.raises(Parted, match="another run is called run"),
    ):
        pulled(here, server)


def test_the_catalog_is_not_carried(there: Store, here: Store, tmp_path: Path) -> None:
    """Every store says for itself what came into it."""
    record(there, "catalog", 2)
    with serving(there, tmp_path / "config") as server:
        assert transfers.listed(server.dialler(), Patience(5), lambda line: None, threading.Event()) == []
        with pytest.raises(Refused, match="belongs to its store"):
            pulled(here, server, "catalog")


def test_many_followers_get_the_same(there: Store, tmp_path: Path) -> None:
    """One slow or dead follower must not be another's problem, and each gets all."""
    stores = [Store.open(tmp_path / f"here{n}", create=True) for n in range(5)]
    results: list[Copied] = []
    with (
        StreamWriter.open(there, "run", create=True) as writer,
        serving(there, tmp_path / "config") as server,
    ):
        writer.append(event(1))
        pulls = [
            threading.Thread(target=lambda s=s: results.append(pulled(s, server, following=True)))
            for s in stores
        ]
        for pull in pulls:
            pull.start()
        for number in range(2, 100):
            writer.append(event(number))
        writer.finish()
        for pull in pulls:
            pull.join(30)
    assert [r.what for r in results] == ["whole"] * 5
    for store in stores:
        assert_identical(store, there)


def test_one_puller_a_copy(there: Store, here: Store, tmp_path: Path) -> None:
    """Two pulls into one copy would write each other's bytes."""
    with (
        StreamWriter.open(there, "run", create=True) as writer,
        serving(there, tmp_path / "config") as server,
    ):
        writer.append(event(1))
        stop = threading.Event()
        pull = threading.Thread(
            target=transfers.pull, args=(here, "run", server.dialler()),
            kwargs={"follow": True, "patience": Patience(20), "tell": lambda line: None, "stop": stop},
        )  # fmt: skip
        pull.start()
        waited = threading.Event()
        while not (here.stream_path("run").exists() and stream_state(here, "run").last_seq):
            waited.wait(0.01)
        with pytest.raises(StreamBusy, match="being written by process"):
            pulled(here, server)
        stop.set()
        pull.join(30)
    assert not stream_state(here, "run").live
