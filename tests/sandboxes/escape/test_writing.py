"""Nothing outside the trial's own folders can be written, and no link in them leads the engine elsewhere."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from eventlog.store import Store
from hemra.engine.artifacts import store_changes
from hemra.sandboxes.base import SandboxError
from hemra.secrets import Redactor
from tests.sandboxes.escape.prison import Prison

#: Writes, removes, renames, links and mounts at every path in {paths!r}.
WRITE = """
for path in {paths!r}:
    for way in ("", "/proc/self/root", "/proc/1/root"):
        with quiet(): open(way + path, "a").write("changed")
        with quiet(): os.truncate(way + path, 0)
        with quiet(): os.chmod(way + path, 0o777)
        with quiet(): os.unlink(way + path)
        with quiet(): os.rename(way + path, way + path + ".moved")
        with quiet(): open(way + os.path.dirname(path) + "/hemra-was-here", "w").write("changed")
    with quiet(): os.symlink(path, "way"); open("way", "a").write("changed")
    with quiet(): os.unlink("way")
    for command in (["mount", "-o", "remount,rw", "/"], ["mount", "-o", "remount,rw", os.path.dirname(path)],
                    ["umount", path], ["umount", "-l", os.path.dirname(path)],
                    ["unshare", "-Urm", "sh", "-c",
                     f"mount -o remount,rw,bind {{os.path.dirname(path)}}; echo changed >> {{path}}"]):
        with quiet(): subprocess.run(command, capture_output=True, timeout=5)
    with quiet(): open(path, "a").write("changed")
found("done")
"""


def test_nothing_outside_can_be_written(prison: Prison) -> None:
    """A harness could change the log, its own verifier, the user's files, or the program that runs it."""
    package = Path(sys.modules["hemra"].__file__ or "")
    inside_package = package.read_bytes()
    etc = Path("/etc/hostname")
    hostname = etc.read_bytes() if etc.exists() else b""
    paths = [
        *(prison.store / "log" / "events", prison.task / "verifier.py", prison.outside, package),
        *map(Path, ("/etc/hostname", "/usr/bin/env", "/bin/sh", "/etc/passwd", sys.executable)),
    ]
    stats = {path: (os.stat(path).st_size, os.stat(path).st_mode) for path in paths if path.exists()}
    out = prison.attempt(WRITE.format(paths=[str(path) for path in paths]))
    assert out.lines[-1] == "done"
    assert package.read_bytes() == inside_package
    assert not etc.exists() or etc.read_bytes() == hostname
    assert {path: (os.stat(path).st_size, os.stat(path).st_mode) for path in stats} == stats
    assert not [path for path in paths if (path.parent / "hemra-was-here").exists()]


def test_settings_of_the_kernel_cannot_be_changed(prison: Prison) -> None:
    """They ask for root's number and not for a privilege: /proc/sys/kernel/core_pattern is a way out for root."""
    names = [
        "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory",
        "/proc/sys/kernel/modprobe", "/sys/kernel/uevent_helper", "/proc/sysrq-trigger",
    ]  # fmt: skip
    code = f"""
for name in {names!r}:
    with quiet():
        open(name, "w").write("|/tmp/evil"); found(name)
with quiet():
    anew = "mount -t proc p /tmp && echo x > /tmp/sys/kernel/core_pattern"
    subprocess.run(["unshare", "-Urmpf", "sh", "-c", anew], timeout=5)
with quiet(): socket.sethostname("evil"); found("hostname")
"""
    before = {name: Path(name).read_bytes() for name in names[:4] if Path(name).exists()}
    assert prison.attempt(code).lines == []
    assert {name: Path(name).read_bytes() for name in before} == before


def test_what_is_not_a_folder_of_the_trial_takes_nothing(prison: Prison) -> None:
    """/ and /dev are in memory: a trial could fill it without any limit noticing."""
    code = """
for folder in ("/", "/dev", "/run", "/var", "/run/hemra", "/etc/ssl/private", "/proc", "/sys", "/mnt"):
    with quiet(): open(folder + "/hemra-was-here", "w").write("x"); found(folder)
"""
    assert prison.attempt(code).lines == []


LINKS = """
secret = {secret!r}
os.symlink(secret, "link")
os.symlink(os.path.dirname(secret), "folder")
os.mkdir("real"); open("real/file", "w").write("mine")
os.mkfifo("pipe")
open("large", "wb").truncate(3 << 20)
with quiet(): os.link(secret, "hard")
"""


def test_links_are_not_followed_when_files_are_copied_out(prison: Prison, tmp_path: Path) -> None:
    """A link planted in the workspace would carry the user's files into the log."""
    secret = prison.store / "log" / "events"
    (tmp_path / "log").mkdir()
    log = Store.open(tmp_path / "log" / "s", create=True)

    async def go() -> None:
        async with prison.trial() as sandbox:
            await prison.run(sandbox, LINKS.format(secret=str(secret)))
            await sandbox.stop()
            for path in ("link", "folder/events", "hard", "pipe", "absent", "real"):
                assert await sandbox.get(path, 1 << 20) is None
            assert await sandbox.get("real/file", 100) == b"mine"
            assert await sandbox.get(sandbox.inside(sandbox.workspace) + "/real/file", 100) == b"mine"
            for path in (
                "../x",
                "/etc/passwd",
                str(secret),
                "real/../../x",
                sandbox.inside(sandbox.home) + "/../x",
            ):
                with pytest.raises(SandboxError, match="folder of the trial"):
                    await sandbox.get(path, 100)
            with pytest.raises(SandboxError, match="larger than"):
                await sandbox.get("large", 100)
            found = await sandbox.snapshot()
            assert found["link"].kind == found["folder"].kind == "link"
            assert "folder/events" not in found
            events = store_changes(str(sandbox.workspace), {}, log.blobs, Redactor({}))
            kept = {event.name: log.blobs.get(event.blob) for event in events}
            assert prison.secret.encode() not in b"".join(kept.values())
            assert "workspace/real/file" in kept

    asyncio.run(go())


def test_links_are_not_followed_when_files_are_put_in(prison: Prison) -> None:
    """A link planted in the workspace would let the engine, which may do more, write elsewhere."""
    target = prison.outside

    async def go() -> None:
        async with prison.trial() as sandbox:
            code = f"os.symlink({str(target)!r}, 'link'); os.symlink({str(target.parent)!r}, 'folder')"
            await prison.run(sandbox, code)
            await sandbox.put("link", b"ours")
            assert await sandbox.get("link", 10) == b"ours"
            with pytest.raises(SandboxError, match="cannot write"):
                await sandbox.put("folder/outside", b"ours")
            await sandbox.put("new/tool", b"#!/bin/sh\necho put", executable=True)
            out = await prison.run(sandbox, "found(subprocess.run(['new/tool'], capture_output=True).stdout)")
            assert out.lines == [r"b'put\n'"]

    asyncio.run(go())
    assert target.read_text(encoding="utf-8") == prison.secret
