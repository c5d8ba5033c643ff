"""Whoever watches over a trial's programs from inside is out of their reach, though it is the same user."""

from __future__ import annotations

import asyncio

from tests.sandboxes.escape.prison import Prison

#: Process 1 and the parent of the trial's program, which is process 1 in a container and a launcher elsewhere.
_REACH = """
libc = ctypes.CDLL(None, use_errno=True)
words = (ctypes.c_long * 64)()
class Vector(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
for pid in {1, os.getppid()}:
    for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
        if libc.ptrace(request, pid, 0, 0) == 0: found((pid, "traced", request))
    for name in ("mem", "maps", "environ", "auxv", "syscall", "stack"):
        with quiet():
            if open(f"/proc/{pid}/{name}", "rb").read(1): found((pid, "read", name))
    with quiet():
        for fd in os.listdir(f"/proc/{pid}/fd"): found((pid, "descriptor", os.open(f"/proc/{pid}/fd/{fd}", 0)))
    with quiet(): found((pid, "executable", open(f"/proc/{pid}/exe", "rb").read(4)))
    with quiet(): found((pid, "root", os.listdir(f"/proc/{pid}/root")))
    with quiet():
        handle = os.pidfd_open(pid)
        taken = [fd for fd in range(64) if libc.syscall(438, handle, fd, 0) >= 0]  # pidfd_getfd
        if taken: found((pid, "taken", taken))
    if libc.process_vm_readv(pid, ctypes.byref(Vector(ctypes.addressof(words), 64)), 1,
                             ctypes.byref(Vector(0x400000, 64)), 1, 0) > 0: found((pid, "memory"))
"""


def test_what_watches_cannot_be_looked_into(prison: Prison) -> None:
    """A harness could read the secret by which process 1 speaks, and tell the engine whatever it likes."""
    assert prison.attempt(_REACH).lines == []


def test_what_watches_cannot_be_stopped(prison: Prison) -> None:
    """A stopped process 1 would never tell the end of a program, and the run would wait for the time limit."""
    code = """
for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGKILL):
    with quiet(): os.kill(1, number)
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace(0x4206, 1, 0, 0); libc.ptrace(0x4207, 1, 0, 0)  # SEIZE, INTERRUPT
found("done"); sys.exit(3)
"""
    out = prison.attempt(code)
    assert out.lines == ["done"]
    assert (out.result.exit_code, out.result.limit) == (3, None)
    assert out.result.duration_ns < 20e9


def test_nobody_speaks_in_the_name_of_what_watches(prison: Prison) -> None:
    """A program that says in the words of process 1 that it ended well would hide how it did."""
    code = """
for text in (b"started 1\\n", b"ended 0 0 0 0 0 0 0n\\n", b"exited 0 1\\n", b"done 0 0 0 0 0 0 0\\n"):
    for fd in range(1, 64):
        with quiet(): os.write(fd, text)
    for path in glob.glob("/proc/[0-9]*/fd/*"):
        with quiet(): os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), text)
sys.exit(7)
"""
    out = prison.attempt(code)
    assert out.result.exit_code == 7


def test_programs_make_no_user_namespaces(prison: Prison) -> None:
    """In one of its own a program is root to parts of the kernel that no ordinary user gets to, holes included."""
    code = """
libc = ctypes.CDLL(None, use_errno=True)
if os.fork() == 0:
    if libc.unshare(0x10000000) == 0: found("unshare")  # CLONE_NEWUSER
    os._exit(0)
os.wait()
number = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine)
if number:
    pid = libc.syscall(number, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0: os._exit(0)
    if pid > 0: found("clone"); os.waitpid(pid, 0)
names = "flags pidfd tid ptid exit stack size tls".split()
class Clone(ctypes.Structure): _fields_ = [(name, ctypes.c_uint64) for name in names]
pid = libc.syscall(435, ctypes.byref(Clone(flags=0x10000000, exit=signal.SIGCHLD)), 64)  # clone3
if pid == 0: os._exit(0)
if pid > 0: found("clone3"); os.waitpid(pid, 0)
with quiet():
    done = subprocess.run(["unshare", "-Ur", "true"], capture_output=True)
    if done.returncode == 0: found("unshare -Ur")
"""
    assert prison.attempt(code).lines == []


def test_a_second_program_is_watched_as_well(prison: Prison) -> None:
    """What is started beside the first has a watcher of its own in a container."""

    async def go() -> None:
        async with prison.trial() as sandbox:
            first = asyncio.ensure_future(prison.run(sandbox, "time.sleep(1.5)"))
            await asyncio.sleep(0.3)
            second = await prison.run(sandbox, _REACH)
            await first
            assert second.lines == []

    asyncio.run(go())
