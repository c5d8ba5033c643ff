"""How what a trial starts with is started: programs compiled in memory, children whose end the loop tells."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hemra.sandboxes import compiled
from hemra.sandboxes.child import Child
from hemra.sandboxes.compiled import empty_in_memory, file_in_memory, in_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def test_a_compiled_program_runs_as_its_file_does(tmp_path: Path) -> None:
    """A launcher that is another program than its source would be debugged in vain."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nprint(sys.argv[1:], __file__ != '')\nraise SystemExit(3)\n", encoding="utf-8"
    )
    fd = in_memory(program)
    assert fd is not None
    assert in_memory(program) == fd  # once in a process
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", f"/proc/self/fd/{fd}", "a b"],
        pass_fds=(fd,), capture_output=True, text=True, check=False,
    )  # fmt: skip
    os.close(fd)
    in_memory.cache_clear()
    assert (done.returncode, done.stdout) == (3, "['a b'] True\n"), done.stderr


def test_a_file_in_memory_cannot_be_changed() -> None:
    """Whoever could write to it would decide what is run next."""
    fd = file_in_memory("test", b"content")
    try:
        for change in (
            lambda: os.pwrite(fd, b"other", 0),
            lambda: os.ftruncate(fd, 0),
            lambda: os.ftruncate(fd, 100),
            lambda: os.write(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY), b"other"),
        ):
            with pytest.raises(OSError) as told:
                change()
            assert told.value.errno in (errno.EPERM, errno.EACCES)
        assert os.pread(fd, 100, 0) == b"content"
    finally:
        os.close(fd)


def test_an_older_kernel_makes_files_in_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not know how to forbid that they are executed, and refuses what it does not know."""
    asked = []
    real = os.memfd_create

    def older(name: str, flags: int) -> int:
        asked.append(flags)
        if flags & compiled._MFD_NOEXEC_SEAL:
            raise OSError(errno.EINVAL, "Invalid argument")
        return real(name, flags)

    monkeypatch.setattr(os, "memfd_create", older)
    os.close(empty_in_memory("test"))
    assert len(asked) == 2


@pytest.mark.parametrize("known", [True, False], ids=["pidfd", "thread"])
def test_the_end_of_a_child_is_told(monkeypatch: pytest.MonkeyPatch, known: bool) -> None:
    """A room, or a launcher, that has ended unnoticed is waited for until the time limit."""
    if not known:

        def refuse(_pid: int) -> int:
            raise OSError(errno.ENOSYS, "Function not implemented")

        monkeypatch.setattr(os, "pidfd_open", refuse)

    async def go() -> tuple[int, int]:
        before = len(os.listdir("/proc/self/fd"))
        quick = Child(subprocess.Popen(["sh", "-c", "exit 5"]))
        slow = Child(subprocess.Popen(["sleep", "600"]))
        assert await asyncio.wait_for(quick.wait(), 20) == 5
        assert not slow.over
        slow.send(signal.SIGKILL)
        ended = await asyncio.wait_for(slow.wait(), 20)
        assert slow.over
        slow.send(signal.SIGKILL)  # of no consequence: the number may be another process by now
        assert await quick.wait() == 5
        return ended, len(os.listdir("/proc/self/fd")) - before

    assert asyncio.run(go()) == (-signal.SIGKILL, 0)
