"""Whose run it is, when labs pull from each other: a run that is recorded here stays this store's own."""

from __future__ import annotations

import re
import shutil
import threading
from pathlib import Path

import pytest

from eventlog.mirror import note, transfers
from eventlog.mirror.errors import MirrorError, NotOurs, Parted, Refused
from eventlog.mirror.landing import adopt
from eventlog.mirror.reconnect import Patience
from eventlog.mirror.source import StoreSource
from eventlog.reader import read_lines
from eventlog.store import Store
from eventlog.stream import StreamWriter

from .mirroring import assert_identical, event, record, serving, sound
from .test_mirror_copies import pulled, pushed


@pytest.fixture
def lab(tmp_path: Path) -> Store:
    """Where the run is recorded."""
    return Store.open(tmp_path / "lab", create=True)


@pytest.fixture
def home(tmp_path: Path) -> Store:
    """Where a copy is."""
    return Store.open(tmp_path / "home", create=True)


def is_own(store: Store) -> bool:
    """Whether a recorder gets the run."""
    try:
        StreamWriter.open(store, "run").close()
    except NotOurs:
        return False
    return not note.is_copy(store.stream_path("run"))


@pytest.mark.parametrize("following", [False, True], ids=["once", "-f"])
def test_a_store_is_not_pulled_into_itself(lab: Store, tmp_path: Path, following: bool) -> None:
    """If this failed, a pull from the own server would make a copy of nobody's of a run that is resumed here."""
    record(lab, "run", 5)
    with serving(lab, tmp_path / "config") as server:
        for move in (pulled, pushed):
            with pytest.raises((MirrorError, Refused), match="this very store"):
                move(lab, server, following=following)
        with pytest.raises(MirrorError, match="this very store"):
            transfers.listed(
                server.dialler(), Patience(5), lambda line: None, threading.Event(), own=lambda: lab
            )
    assert is_own(lab)


@pytest.mark.parametrize("following", [False, True], ids=["once", "-f"])
def test_a_copy_does_not_take_its_run_from_the_store_that_records_it(
    lab: Store, home: Store, tmp_path: Path, following: bool
) -> None:
    """If this failed, two labs that follow each other would both have a copy and nobody the run."""
    record(lab, "run", 5)
    with serving(lab, tmp_path / "config") as at_lab, serving(home, tmp_path / "other") as at_home:
        assert pulled(home, at_lab).what == "copied"
        assert pulled(lab, at_home, following=following).what == "own"
        assert pushed(home, at_lab, following=following).what == "own"
        assert is_own(lab)
        assert not is_own(home)
        (shown,) = StoreSource(home).streams()
        assert shown.origin == lab.id
        # While it is recorded too: the recorder's lock is not even asked for.
        with StreamWriter.open(lab, "run") as writer:
            writer.append(event(6))
            assert pulled(lab, at_home, following=following).what == "own"
            assert pulled(home, at_lab).last == 6
            writer.finish()
        assert pulled(home, at_lab).what == "whole"
    assert_identical(home, lab)


def test_a_ring_of_three_has_one_owner(lab: Store, home: Store, tmp_path: Path) -> None:
    """If this failed, a copy of a copy would come back to the lab as somebody else's run."""
    third = Store.open(tmp_path / "third", create=True)
    record(lab, "run", 5)
    with (
        serving(lab, tmp_path / "config") as at_lab,
        serving(home, tmp_path / "other") as at_home,
        serving(third, tmp_path / "another") as at_third,
    ):
        for _ in range(2):
            pulled(home, at_lab)
            pulled(third, at_home)
            assert pulled(lab, at_third, following=True).what == "own"
        assert is_own(lab)
        record(lab, "run", 3, start=6, create=False, finish=True)
        for store, server in ((home, at_lab), (third, at_home)):
            assert pulled(store, server).what == "whole"
            assert_identical(store, lab)


def test_following_an_own_run_that_lacks_nothing_ends(
    lab: Store, home: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, `pull -f` from a server that does not say where copies come from would take the run away."""
    record(lab, "run", 5)
    with serving(lab, tmp_path / "config") as at_lab, serving(home, tmp_path / "other") as at_home:
        pulled(home, at_lab)
        monkeypatch.setattr("eventlog.mirror.note.origin", lambda path: None)
        assert pulled(lab, at_home, following=True).what == "same"
    assert is_own(lab)


def test_what_only_a_copy_has_is_brought_back_when_that_is_adopted(
    lab: Store, home: Store, tmp_path: Path
) -> None:
    """If this failed, a lab that lost its newest events could not have them back from its own copy."""
    record(lab, "run", 3)
    shutil.copytree(lab.stream_path("run"), tmp_path / "backup")
    record(lab, "run", 2, start=4, create=False)
    with serving(lab, tmp_path / "config") as at_lab, serving(home, tmp_path / "other") as at_home:
        pulled(home, at_lab)
        shutil.rmtree(lab.stream_path("run"))
        shutil.copytree(tmp_path / "backup", lab.stream_path("run"))
        with pytest.raises(MirrorError, match=r"has 5 events of it in a copy.*hemra log adopt run"):
            pulled(lab, at_home)
        assert is_own(lab)
        adopt(home, "run")
        assert pulled(lab, at_home).last == 5
    assert list(read_lines(lab, "run")) == list(read_lines(home, "run"))
    sound(lab)


def test_a_run_that_is_gone_comes_back_from_its_copy(lab: Store, home: Store, tmp_path: Path) -> None:
    """If this failed, a lab whose disk broke could not have its runs back from where it pushed them."""
    record(lab, "run", 5)
    with serving(lab, tmp_path / "config") as at_lab, serving(home, tmp_path / "other") as at_home:
        pulled(home, at_lab)
        shutil.rmtree(lab.stream_path("run"))
        assert pulled(lab, at_home).last == 5
        assert pulled(lab, at_home).last == 5  # and goes on, if it was cut short
        adopt(lab, "run")
        record(lab, "run", 2, start=6, create=False, finish=True)
        assert pulled(home, at_lab).what == "whole"
    assert_identical(home, lab)


def test_a_run_that_is_continued_elsewhere_is_followed(lab: Store, home: Store, tmp_path: Path) -> None:
    """If this failed, a run that was handed over could not be watched where it began."""
    record(lab, "run", 5)
    with serving(lab, tmp_path / "config") as at_lab, serving(home, tmp_path / "other") as at_home:
        pulled(home, at_lab)
        adopt(home, "run")
        record(home, "run", 4, start=6, create=False)
        assert (pulled(lab, at_home).what, is_own(lab)) == ("copied", False)
        assert pulled(home, at_lab).what == "own"
        record(home, "run", 4, start=10, create=False, finish=True)
        assert pulled(lab, at_home, following=True).what == "whole"
    assert_identical(lab, home)


def test_copies_of_each_other_are_told(lab: Store, home: Store, tmp_path: Path) -> None:
    """If this failed, a ring that an earlier version left would be copied in circles and nobody told what helps."""
    record(lab, "run", 5)
    with serving(lab, tmp_path / "config") as at_lab, serving(home, tmp_path / "other") as at_home:
        pulled(home, at_lab)
        note.save(lab.stream_path("run"), note.Note(of="tls+tcp://home", store=home.id))
        for store, server in ((home, at_lab), (lab, at_home)):
            with pytest.raises(MirrorError, match=r"copies of each other.*hemra log adopt run"):
                pulled(store, server)
        adopt(lab, "run")
        assert pulled(home, at_lab).what == "copied"


def test_advice_fits_the_direction(lab: Store, home: Store, tmp_path: Path) -> None:
    """If this failed, who pushes would be told to pull."""
    record(lab, "run", 5)
    record(home, "run", 5)
    with serving(lab, tmp_path / "config") as server:
        with pytest.raises(Parted, match=r"another run is called run .* pull into another store \(--store\)"):
            pulled(home, server)
        with pytest.raises(Refused, match="another run is called run") as refused:
            pushed(home, server)
    assert "pull into" not in str(refused.value)
    assert re.search(r"push to a server of another store", str(refused.value))
