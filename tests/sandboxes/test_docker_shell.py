"""The shell of process 1: fetched once from the image, run as a file that nobody can read, done without if need be."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from hemra.sandboxes import docker_shell
from hemra.sandboxes.docker_engine import engine
from tests.sandboxes.docker_trials import left, python, run_in, sandbox
from tools.engine.engine import Engine


def details_of(root: Path, code: str, **options: str) -> tuple[str, str]:
    """What is recorded of process 1, and what a program prints."""

    async def go() -> tuple[str, str]:
        box = sandbox(root, **options)
        try:
            await box.create()
            ran = await run_in(box, python(code))
            assert ran.result.exit_code == 0, ran.stderr
            return box.details["process_1"], ran.stdout.decode()
        finally:
            await box.destroy()

    return asyncio.run(go())


def test_process_1_runs_the_images_shell_closed(docker_engine: Engine, tmp_path: Path) -> None:
    """A record that says more than is held would be believed."""
    code = "import os; print(oct(os.stat('/.hemra/sh').st_mode & 0o777), os.access('/.hemra/sh', os.R_OK))"
    assert details_of(tmp_path, code) == ("out of reach", "0o111 False\n")
    assert left() == []


def test_an_image_is_looked_into_once(
    docker_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One container more for every trial is what makes the difference to `docker run`."""
    fetched = []
    real = docker_shell._fetch
    monkeypatch.setattr(docker_shell, "_FOUND", {})
    monkeypatch.setattr(docker_shell, "_fetch", lambda *a: fetched.append(a) or real(*a))
    for _ in range(2):
        details_of(tmp_path, "pass")
    assert len(fetched) == 1


def test_without_such_a_shell_the_record_says_so(
    docker_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder from which nothing can be run must not keep every trial from starting."""
    monkeypatch.setattr(docker_shell, "put", lambda *_: False)
    assert details_of(tmp_path, "print('ran')") == ("within reach of the trial", "ran\n")


def test_only_what_the_kernel_runs_by_itself_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script whose interpreter may not read it does not start."""
    assert not docker_shell.put(None, tmp_path)
    assert docker_shell.put(b"\x7fELF...", tmp_path)
    assert (tmp_path / docker_shell.NAME).stat().st_mode & 0o777 == 0o111
    there = os.statvfs(tmp_path)
    noexec = os.statvfs_result((*there[:8], there.f_flag | os.ST_NOEXEC, there.f_namemax))
    monkeypatch.setattr(os, "statvfs", lambda _: noexec)
    assert not docker_shell.put(b"\x7fELF...", tmp_path / "other")


@pytest.mark.needs("busybox")
def test_a_shell_behind_links_is_found(docker_engine: Engine) -> None:
    """In most images /bin is a link, and /bin/sh another."""
    docker_engine.import_folder(
        {"usr/bin/busybox": Path("/bin/busybox")}, {"bin": "usr/bin", "usr/bin/sh": "busybox"}, "linked:1"
    )
    docker_engine.import_folder({"bin/sh": Path(__file__)}, {}, "script:1")

    async def go(ref: str) -> bytes | None:
        from hemra.sandboxes.docker_image import find_image

        found = await find_image(engine(), ref, None, "")
        return await docker_shell.shell_of(engine(), found, {"hemra.store": "store-of-the-tests"})

    assert asyncio.run(go("linked:1")) == Path("/bin/busybox").read_bytes()
    assert asyncio.run(go("script:1")) is None
    assert left() == []
