"""Running a program of the workspace: in a copy, with limits, and never longer than it may."""

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from .workspace import MIB, parts_of, read, walk

#: What a program may have: bytes of memory, of one file that it writes, processes, bytes printed on each stream.
MEMORY, FILE_SIZE, PROCESSES, OUTPUT = 512 * MIB, 64 * MIB, 64, MIB
#: What is copied of the workspace at most: bytes of one file, bytes in all, files and folders.
COPIED_FILE, COPIED, ENTRIES = 16 * MIB, 64 * MIB, 10_000
#: Bytes of a path that every system takes.
LONGEST_PATH = 1000
#: Names that mean this interpreter, isolated, so that no module of the workspace stands in for a standard one.
PYTHONS = ("python", "python3")
_PAUSE_S = 0.1
#: Sets the limits on itself and becomes the program: nothing of the verifier's runs in a forked process.
_LIMITER = """
import os, resource, sys
for pair in sys.argv[1].split(","):
    name, value = pair.split("=")
    kind, value = getattr(resource, name), int(value)
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(kind, (value, value))
    except (OSError, ValueError):
        pass  # macOS refuses RLIMIT_AS; the time limit holds everywhere
if sys.platform == "linux" and os.getuid() == 0:
    import ctypes
    prctl = ctypes.CDLL(None).prctl
    prctl(24, 19, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_PTRACE: root reads every process's memory by it
    prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"{sys.argv[2]}: {error.strerror}")
"""


class Ran(NamedTuple):
    """How a program ended: at most one of `exit_code` and `signal` is set; neither where it was not to be ended.

    `stdout` and `stderr` are cut at 1 MiB; a program that prints more is ended for it (`signal` 9).
    """

    exit_code: "int | None"
    signal: "int | None"
    timed_out: bool
    stdout: bytes
    stderr: bytes


def run(
    workspace: Path,
    argv: "Sequence[str]",
    *,
    stdin: bytes = b"",
    timeout: float = 10,
    files: "Mapping[str, bytes | str] | None" = None,
) -> Ran:
    """Run a program in a fresh copy of the workspace; `files` (path, content) are put into the copy first.

    `python` and `python3` are this interpreter with -I -B. Limits: `timeout` seconds, and of memory, file size,
    processes and output as above; when it ends, everything in its process group is ended. Links and what is no
    plain file are not copied. A program that cannot be started exits with 1 and says so on stderr; ValueError for
    a path in `files` that leaves the copy.
    """
    with tempfile.TemporaryDirectory(prefix="run-", ignore_cleanup_errors=True) as folder:
        copy, home = Path(folder, "workspace"), Path(folder, "home")
        copy.mkdir()
        home.mkdir()
        _copy(workspace, copy)
        for path, content in (files or {}).items():
            _put(copy, path, content.encode() if isinstance(content, str) else content)
        _hide()
        return _run(list(argv), copy, home, stdin, timeout)


def _copy(workspace: Path, copy: Path) -> None:
    """Plain files and folders, within the limits; what is above them or cannot be read is left out."""
    left = COPIED
    for count, (path, kind) in enumerate(walk(workspace)):
        if count >= ENTRIES:
            return
        if len(os.fsencode(copy / path)) > LONGEST_PATH:
            continue
        if kind == "dir":
            (copy / path).mkdir(exist_ok=True)
        elif kind == "file" and (content := read(workspace, path, min(COPIED_FILE, left))) is not None:
            left -= len(content)
            executable = (workspace / path).lstat().st_mode & 0o111
            (copy / path).write_bytes(content)
            (copy / path).chmod(0o700 if executable else 0o600)


def _put(copy: Path, path: str, content: bytes) -> None:
    parts = parts_of(path)
    if parts is None:
        raise ValueError(f"{path!r} is not a path inside the workspace")
    place = copy
    for part in parts[:-1]:
        place = place / part
        if not place.is_dir():
            place.unlink(missing_ok=True)
            place.mkdir()
    place = place / parts[-1]
    if place.is_dir():
        shutil.rmtree(place)
    place.write_bytes(content)


def _hide() -> None:
    """Keep the program out of this process's memory and descriptors, where the right values are."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def _run(argv: "list[str]", copy: Path, home: Path, stdin: bytes, timeout: float) -> Ran:
    if argv[0] in PYTHONS:
        argv[:1] = [sys.executable, "-I", "-B"]
    limits = {
        "RLIMIT_CPU": int(timeout) + 1,
        "RLIMIT_AS": MEMORY,
        "RLIMIT_FSIZE": FILE_SIZE,
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": 256,
        "RLIMIT_NPROC": _threads_of_user() + PROCESSES,
    }
    setting = ",".join(f"{name}={value}" for name, value in limits.items())
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        program = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", _LIMITER, setting, *argv],
            cwd=copy,
            env=_environment(home),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    with program:
        try:
            return _watched(program, time.monotonic() + timeout)
        finally:
            _end(program)


def _environment(home: Path) -> "dict[str, str]":
    marker = {name: value for name, value in os.environ.items() if name == "HEMRA_TRIAL_TOKEN"}
    place = str(home)
    return {"PATH": os.defpath, "HOME": place, "TMPDIR": place, "LANG": "C.UTF-8", **marker}


def _watched(program: "subprocess.Popen[bytes]", deadline: float) -> Ran:
    """Read what it prints until it has ended, its time is over, or it is too much."""
    assert program.stdout is not None
    assert program.stderr is not None
    printed: dict[IO[bytes], bytearray] = {program.stdout: bytearray(), program.stderr: bytearray()}
    timed_out = ended = False
    counted = _Members(program.pid)
    with selectors.DefaultSelector() as waiting:
        for stream in printed:
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            now = time.monotonic()
            if now >= deadline:
                timed_out = not ended
                break
            for key, _ in waiting.select(min(deadline - now, _PAUSE_S)):
                piece = os.read(key.fd, 1 << 16)
                printed[key.fileobj] += piece  # type: ignore[index]
                if not piece:
                    waiting.unregister(key.fileobj)
            if any(len(text) > OUTPUT for text in printed.values()) or counted.too_many():
                break
            if program.poll() is not None and not ended:
                ended, deadline = (
                    True,
                    min(deadline, time.monotonic() + 0.5),
                )  # others may hold its output open
        else:
            timed_out = _outlasts(program, deadline)
    code = _end(program)
    stdout, stderr = (bytes(text[:OUTPUT]) for text in printed.values())
    if timed_out:
        return Ran(None, None, True, stdout, stderr)
    return Ran(code if code >= 0 else None, -code if code < 0 else None, False, stdout, stderr)


def _outlasts(program: "subprocess.Popen[bytes]", deadline: float) -> bool:
    """Whether it goes on after it closed its output, until its time is over."""
    try:
        program.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return True
    return False


def _end(program: "subprocess.Popen[bytes]") -> int:
    """End the whole group. Returns the program's own code, negative for a signal."""
    with contextlib.suppress(OSError):  # none of it is left
        os.killpg(program.pid, signal.SIGKILL)
    return program.wait()


class _Members:
    """Counts the processes of a group now and then: for root the kernel holds no limit on them."""

    def __init__(self, group: int) -> None:
        self.group = str(group)
        self.next = time.monotonic() + _PAUSE_S

    def too_many(self) -> bool:
        """Whether there are more than a program may have."""
        if os.getuid() != 0 or time.monotonic() < self.next:
            return False
        self.next = time.monotonic() + _PAUSE_S
        return sum(fields[2:3] == [self.group] for fields in _processes()) > PROCESSES


def _processes() -> "list[list[str]]":
    """State, parent, group, … of every process, where the system tells."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    found.append(file.read().rpartition(")")[2].split())
            except OSError:
                continue  # it ended meanwhile
    return found


def _threads_of_user() -> int:
    """How many threads this user has: the limit on processes counts those of all its programs."""
    count = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == os.getuid():
                    count += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                continue  # it ended meanwhile
    return count
