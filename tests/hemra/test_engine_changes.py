"""What a trial changed in its workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hemra.engine import changes as module
from hemra.engine.changes import difference, read_file, snapshot, worth_keeping


def test_added_changed_deleted(tmp_path: Path) -> None:
    """The record would not show what a harness did to the files."""
    (tmp_path / "same").write_text("1")
    (tmp_path / "edited").write_text("1")
    (tmp_path / "gone").write_text("12")
    before = snapshot(str(tmp_path))
    (tmp_path / "edited").write_text("2")
    (tmp_path / "gone").unlink()
    (tmp_path / "sub dir" / "ünïcode").mkdir(parents=True)
    (tmp_path / "sub dir" / "new\nline").write_text("abc")
    found = difference(before, snapshot(str(tmp_path)))
    assert set(found.added) == {"sub dir", "sub dir/ünïcode", "sub dir/new\nline"}
    assert set(found.changed) == {"edited"}
    assert found.listing({"edited"})["deleted"] == [{"path": "gone", "kind": "file", "size": 2}]
    assert found.listing({"edited"})["changed"] == [
        {"path": "edited", "kind": "file", "size": 1, "kept": True}
    ]


def test_an_edit_that_sets_the_time_back_is_seen(tmp_path: Path) -> None:
    """A harness could hide an edit by restoring size and modification time."""
    target = tmp_path / "f"
    target.write_text("aaaa")
    status = target.stat()
    before = snapshot(str(tmp_path))
    target.write_text("bbbb")
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert set(difference(before, snapshot(str(tmp_path))).changed) == {"f"}


def test_links_and_pipes_are_listed_and_never_opened(tmp_path: Path) -> None:
    """A link to /etc/passwd would put it into the record; a pipe would hang the run."""
    before = snapshot(str(tmp_path))
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "loop").symlink_to(".")
    os.mkfifo(tmp_path / "pipe")
    found = difference(before, snapshot(str(tmp_path)))
    assert {path: entry.kind for path, entry in found.added.items()} == {
        "link": "link", "loop": "link", "pipe": "special",
    }  # fmt: skip
    assert worth_keeping(found) == []
    assert read_file(str(tmp_path), "link") is None
    assert read_file(str(tmp_path), "pipe") is None


def test_limits_of_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A harness that writes gigabytes would fill the store."""
    monkeypatch.setattr(module, "LARGEST_KEPT", 10)
    monkeypatch.setattr(module, "MOST_KEPT", 25)
    monkeypatch.setattr(module, "MOST_LISTED", 2)
    for name, size in (("a", 3), ("b", 9), ("c", 10), ("d", 10), ("big", 11)):
        (tmp_path / name).write_bytes(b"x" * size)
    found = difference({}, snapshot(str(tmp_path)))
    assert worth_keeping(found) == ["a", "b", "c"]
    assert read_file(str(tmp_path), "big") is None
    assert read_file(str(tmp_path), "c") == b"x" * 10
    document = found.listing(set())
    assert (len(document["added"]), document["added_total"]) == (2, 5)


def test_names_that_are_not_text_are_kept(tmp_path: Path) -> None:
    """One odd file name would end the trial in an error of ours."""
    name = os.fsdecode(b"odd\xff")
    (tmp_path / name).write_bytes(b"1")
    found = difference({}, snapshot(str(tmp_path)))
    assert list(found.added) == [name]
    assert read_file(str(tmp_path), name) == b"1"
