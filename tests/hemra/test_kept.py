"""Files of a trial's HOME that an adapter asks to have kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hemra.engine import kept
from tests.hemra.sandboxed import sandbox


def taken(root: Path, make: dict[str, str], *wanted: str) -> tuple[dict[str, bytes], list[str]]:
    """What is kept of a HOME with these files; a value that begins with `->` is a link."""

    async def carry_out() -> tuple[dict[str, bytes], list[str]]:
        place = sandbox(root)
        await place.create()
        try:
            for name, text in make.items():
                path = place.home / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if text.startswith("->"):
                    path.symlink_to(text[2:])
                else:
                    path.write_text(text, encoding="utf-8")
            return await kept.kept_files(place, wanted)
        finally:
            await place.destroy()

    return asyncio.run(carry_out())


def test_named_files_and_those_that_a_star_stands_for(tmp_path: Path) -> None:
    """A trajectory that is not kept is lost with the trial, and with it what the agent said of its end."""
    files = {"a/traj.json": "1", "s/state.db": "2", "s/state.db-wal": "3", "s/other": "4"}
    found, problems = taken(tmp_path, files, "a/traj.json", "s/state*", "not/there", "nor/this*")
    assert found == {"a/traj.json": b"1", "s/state.db": b"2", "s/state.db-wal": b"3"}
    assert problems == []


def test_a_link_planted_by_the_trial_is_not_followed(tmp_path: Path) -> None:
    """A link from HOME to a file of this machine would carry that file into the record."""
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret"
    secret.write_text("of this machine", encoding="utf-8")
    files = {"traj.json": f"->{secret}", "folder": f"->{outside}"}
    found, _ = taken(tmp_path, files, "traj.json", "folder/secret", "folder/sec*")
    assert found == {}


def test_what_is_too_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that silently is not there looks like a program that wrote none."""
    monkeypatch.setattr(kept, "MOST_BYTES", 3)
    found, problems = taken(tmp_path, {"big": "1234", "small": "123"}, "big", "small")
    assert found == {"small": b"123"}
    assert len(problems) == 1
    assert "big" in problems[0]


def test_all_of_them_together_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial that leaves hundreds of large files would take the engine's memory, and every other trial with it."""
    monkeypatch.setattr(kept, "MOST_TOGETHER", 5)
    found, problems = taken(tmp_path, {"s/1": "123", "s/2": "123", "s/3": "12"}, "s/*")
    assert found == {"s/1": b"123", "s/3": b"12"}
    assert len(problems) == 1
    assert "s/2" in problems[0]
