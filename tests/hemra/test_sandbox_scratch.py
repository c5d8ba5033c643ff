"""Removing a trial's folder: whatever is in it goes, and nothing else."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hemra.sandboxes.base import SandboxError
from hemra.sandboxes.scratch import (
    OwnedFolder,
    Scratch,
    leftovers,
    private_folder,
    remove,
    remove_leftover,
    scratch_root,
)


@contextmanager
def an_ordinary_user(folder: Path) -> Iterator[None]:
    """Be nobody inside, when the tests run as root: root may remove everything anyway."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.parents):
        if path != Path("/tmp"):
            path.chmod(path.stat().st_mode | 0o011)
        if path.parent == Path("/tmp"):
            break
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def trial_folder(tmp_path: Path) -> tuple[Path, Path]:
    """A scratch root and a trial's folder in it, with a file outside that must survive."""
    root = tmp_path / "hemra-1"
    trial = root / "run" / "0001.1"
    (trial / "workspace").mkdir(parents=True)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("keep", encoding="utf-8")
    return root, trial


def test_closed_folders_are_removed(tmp_path: Path) -> None:
    """chmod 000 on a folder must not leave a trial behind."""
    root, trial = trial_folder(tmp_path)
    inner = trial / "workspace" / "closed" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x", encoding="utf-8")
    with an_ordinary_user(root):
        for path in (inner / "file", inner, inner.parent, trial / "workspace"):
            path.chmod(0o000)
        remove(root, trial)
    assert not trial.exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    """A link that a trial planted must not lead the removal out of the trial."""
    root, trial = trial_folder(tmp_path)
    (trial / "workspace" / "out").symlink_to(tmp_path / "precious")
    (trial / "workspace" / "file").symlink_to(tmp_path / "precious" / "file")
    (trial / "workspace" / "dangling").symlink_to("nowhere")
    os.link(tmp_path / "precious" / "file", trial / "workspace" / "hard")
    os.mkfifo(trial / "workspace" / "pipe")
    remove(root, trial)
    assert not trial.exists()
    assert (tmp_path / "precious" / "file").read_text(encoding="utf-8") == "keep"


def test_any_depth_is_removed(tmp_path: Path) -> None:
    """Folders nested past the longest path, and past any recursion, are removed like others."""
    root, trial = trial_folder(tmp_path)
    fd = os.open(trial / "workspace", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deep", dir_fd=fd)
        below = os.open("deep", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    remove(root, trial)
    assert not trial.exists()


def test_odd_names_are_removed(tmp_path: Path) -> None:
    """Names are bytes: not UTF-8, with newlines, like the removal's own."""
    root, trial = trial_folder(tmp_path)
    for name in (b"\xff\xfe", b"a\nb", b".removing-1", b".removing-2", b" ", b"-rf"):
        os.mkdir(os.fsencode(trial / "workspace") + b"/" + name)
        os.mkdir(os.fsencode(trial / "workspace") + b"/" + name + b"/in")
    (trial / ".removing-1").write_text("x", encoding="utf-8")
    (trial / ".removing-3").mkdir()
    remove(root, trial)
    assert not trial.exists()


def test_nothing_but_a_trials_folder_is_removed(tmp_path: Path) -> None:
    """A wrong path given to the removal must end in an error, not in an empty disk."""
    root, trial = trial_folder(tmp_path)
    for path in (root, trial.parent, trial / "workspace", tmp_path / "precious", Path("/"), Path("/etc")):
        with pytest.raises(SandboxError, match="refusing to remove"):
            remove(root, path)
    with pytest.raises(SandboxError, match="refusing to remove"):
        remove(tmp_path, root / "run")
    assert (tmp_path / "precious" / "file").exists()
    assert trial.exists()
    remove(root, root / "run" / "0002.1")  # not there: nothing to do


@pytest.mark.parametrize("which", ["run", "trial"])
def test_a_folder_that_became_a_link_is_not_followed(tmp_path: Path, which: str) -> None:
    """A trial may replace its own folder by a link before it is removed."""
    root, trial = trial_folder(tmp_path)
    victim = trial if which == "trial" else trial.parent
    victim.rename(tmp_path / "moved")
    victim.symlink_to(tmp_path / "precious")
    (tmp_path / "precious" / trial.name).mkdir()
    with pytest.raises(SandboxError, match="is not a folder"):
        remove(root, trial)
    assert (tmp_path / "precious" / "file").exists()


def test_what_cannot_be_removed_is_named(tmp_path: Path) -> None:
    """The record says what is left on the machine, so that somebody can clear it away."""
    root, trial = trial_folder(tmp_path)
    (trial / "workspace" / "file").write_text("x", encoding="utf-8")
    if os.geteuid() != 0:
        pytest.skip("needs root, to have a file that another user may not remove")
    with an_ordinary_user(root):
        os.seteuid(0)
        os.chown(trial / "workspace", 0, 0)
        os.seteuid(65534)
        with pytest.raises(SandboxError, match=r"cannot remove .*workspace: .*; remove it by hand"):
            remove(root, trial)


def test_destroying_removes_an_empty_run_folder_only(tmp_path: Path) -> None:
    """The last trial of a run clears the run's folder; another trial's folder stays."""
    one, two = Scratch(tmp_path, "run", "0001", 1), Scratch(tmp_path, "run", "0002", 1)
    one.create()
    two.create()
    one.destroy()
    assert two.workspace.exists()
    two.destroy()
    assert list(scratch_root(tmp_path).iterdir()) == []


def at_once(*jobs: Callable[[], None]) -> list[str]:
    """Carry these out in threads of their own; what they raised, as text."""
    raised: list[str] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except Exception as error:  # noqa: BLE001 - any is a failure of the test
            raised.append(repr(error))

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_a_trial_may_begin_while_the_last_other_one_ends(tmp_path: Path) -> None:
    """The end of one trial removed the run's folder under another's beginning: a spurious setup_error."""
    made: list[int] = []

    def many(prefix: int) -> None:
        for number in range(400):
            scratch = Scratch(tmp_path, "run", f"{prefix}{number:04d}", 1)
            scratch.create()
            made.append(len(list(scratch.path.iterdir())))
            scratch.destroy()

    assert at_once(lambda: many(1), lambda: many(2), lambda: many(3)) == []
    assert made == [4] * 1200
    assert list(scratch_root(tmp_path).iterdir()) == []


def test_whoever_clears_leftovers_away_never_takes_a_living_trials_folder(tmp_path: Path) -> None:
    """A run that starts beside another would remove the folders of a trial that is just being made."""
    root = scratch_root(tmp_path)
    over = threading.Event()

    def trials() -> None:
        try:
            for number in range(300):
                scratch = Scratch(tmp_path, "run", f"{number % 3:04d}", 1)
                scratch.create()
                assert sorted(path.name for path in scratch.path.iterdir()) == [
                    "harness",
                    "home",
                    "tmp",
                    "workspace",
                ]
                scratch.destroy()
                assert not scratch.path.exists()
        finally:
            over.set()

    def clear() -> None:
        while not over.is_set():
            for path in leftovers(root):
                remove_leftover(root, path)

    assert at_once(trials, clear, clear) == []


def test_a_leftover_is_removed_once_its_maker_is_gone(tmp_path: Path) -> None:
    """What a dead engine left would stay for ever, or a living one would lose its trial."""
    scratch = Scratch(tmp_path, "run", "0001", 1)
    scratch.create()
    (scratch.workspace / "big").write_text("x", encoding="utf-8")
    assert leftovers(scratch.root) == []
    assert not remove_leftover(scratch.root, scratch.path)
    lock = scratch._folder._held
    assert lock is not None
    os.close(lock)  # as the system does for an engine that dies
    assert leftovers(scratch.root) == leftovers(scratch.root, "run") == [scratch.path]
    assert leftovers(scratch.root, "another") == []
    assert remove_leftover(scratch.root, scratch.path)
    assert list(scratch.root.iterdir()) == []


def test_a_private_folder_goes_at_the_end_and_is_a_leftover_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verifier's folder of an engine that was killed would stay in /tmp for ever."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    root = scratch_root(tmp_path)
    with private_folder("code") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert leftovers(root) == []
        (folder / "file").write_text("x", encoding="utf-8")
    assert list(root.iterdir()) == []
    killed = OwnedFolder(root, "code-1", "abc")
    killed.create()
    os.close(killed._held or -1)
    assert leftovers(root) == [killed.path]
