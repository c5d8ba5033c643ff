"""The bwrap sandbox is the host sandbox in namespaces: the same tests, and what is only true there."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventlog.schemas.runs import Limits
from hemra.sandboxes import bwrap_check
from hemra.sandboxes.base import Endpoint, ExecSpec, SandboxError, SandboxSpec
from hemra.sandboxes.bwrap import BwrapSandbox
from hemra.sandboxes.cgroups import reclaim_groups
from hemra.sandboxes.reclaim import reclaim_all
from hemra.sandboxes.registry import choose
from tests.hemra import sandboxed, test_sandbox_output, test_sandbox_processes
from tests.hemra.sandboxed import NAP, NAPPING, RUN, Ran, alive, python, run_in, shell
from tests.sandboxes import machine

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.needs("bwrap")

#: Not the same: it measures the host sandbox.
_OTHERS = {"test_the_cost_of_a_trial_that_does_nothing"}
for _module in (test_sandbox_output, test_sandbox_processes):
    for _name, _test in vars(_module).items():
        if _name.startswith("test_") and _name not in _OTHERS:
            globals()[_name] = _test


@pytest.fixture(autouse=True)
def in_bwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sandbox of this module is one of bwrap."""
    monkeypatch.setattr(sandboxed, "MADE_BY", BwrapSandbox)
    monkeypatch.setattr(sandboxed, "MADE_WITH", {"network": "none", "read_only": (ROOT / "hemra",)})


def bwraps() -> list[int]:
    """Processes of bubblewrap for trials of these tests."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                command = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if RUN.encode() in command and command.split(b"\0")[0].endswith(b"bwrap"):
                found.append(int(name))
    return sorted(found)


def test_process_1_is_out_of_reach(tmp_path: Path) -> None:
    """A harness could stop it and so the run for ever, or take its socket and speak to the engine in its name."""
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for pid in (1, os.getppid()):
    handle = os.pidfd_open(pid)
    print(libc.ptrace(16, pid, 0, 0), max(libc.syscall(438, handle, fd, 0) for fd in range(40)))
    try: open(f"/proc/{pid}/mem", "rb"); print("open")
    except PermissionError: print("refused")
"""

    async def go() -> Ran:
        box, ran = sandboxed.sandbox(tmp_path), Ran()
        await box.create()
        await run_in(box, python(code), ran)
        await box.destroy()
        return ran

    assert asyncio.run(go()).stdout == b"-1 -1\nrefused\n" * 2


def test_a_process_1_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial whose process 1 stands still would hold up the whole run."""
    monkeypatch.setattr("hemra.sandboxes.room._END_SECONDS", 0.5)

    async def go() -> None:
        box = sandboxed.sandbox(tmp_path)
        await box.create()
        (first,) = [pid for pid in bwraps() if b"--info-fd" in Path(f"/proc/{pid}/cmdline").read_bytes()][-1:]
        children = Path(f"/proc/{first}/task/{first}/children").read_text("utf-8").split()
        os.kill(int(children[0]), signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(SandboxError, match="does not answer"):
            await run_in(box, python("print('never')"), Ran())
        await box.destroy()
        assert time.monotonic() - began < 10

    asyncio.run(go())


def test_programs_of_a_trial_see_each_other(tmp_path: Path) -> None:
    """A task's own program runs beside the harness: its port, its files and its processes are the task."""

    async def go() -> tuple[bytes, bytes]:
        box, world, harness = sandboxed.sandbox(tmp_path), Ran(), Ran()
        await box.create()
        code = (
            "import socket; s = socket.create_server(('127.0.0.1', 4711)); print('ready', flush=True)\n"
            "open('/tmp/of-the-world', 'w').write('x')\n"
            "while True: s.accept()[0].send(b'hello')"
        )
        beside = asyncio.ensure_future(run_in(box, python(code), world))
        while b"ready" not in world.stdout:
            await asyncio.sleep(0.01)
        look = (
            "import glob, socket; print(socket.create_connection(('127.0.0.1', 4711)).recv(5), "
            "glob.glob('/tmp/of-*'), "
            "sum(b'4711' in open(f, 'rb').read() for f in glob.glob('/proc/[0-9]*/cmdline')) > 1)"
        )
        await run_in(box, python(look), harness)
        assert not beside.done()  # the end of one is not the end of those beside it
        await box.stop()
        await beside
        assert "stopped" in world.result.flags
        await box.destroy()
        return harness.stdout, harness.stderr

    assert asyncio.run(go()) == (b"b'hello' ['/tmp/of-the-world'] True\n", b"")


def test_namespaces_that_vanish_are_told(tmp_path: Path) -> None:
    """When somebody ends bubblewrap, how the harness did is not known; it must not look like a crash of its own."""

    async def go() -> None:
        box, ran = sandboxed.sandbox(tmp_path), Ran()
        await box.create()
        task = asyncio.ensure_future(run_in(box, shell("echo up; sleep NAP"), ran))
        while not ran.stdout:
            await asyncio.sleep(0.01)
        for pid in bwraps():
            os.kill(pid, signal.SIGKILL)
        await task
        assert "launcher_lost" in ran.result.flags
        assert alive(NAPPING) == []
        with pytest.raises(SandboxError, match="namespaces are gone"):
            await run_in(box, shell("true"))
        await box.destroy()

    asyncio.run(go())
    assert bwraps() == []


ENGINE = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from eventlog.schemas.runs import Limits
from hemra.sandboxes.bwrap import BwrapSandbox
from tests.hemra import sandboxed
sandboxed.MADE_BY, sandboxed.MADE_WITH = BwrapSandbox, {"network": "none"}
async def go():
    box = sandboxed.sandbox(Path(sys.argv[2]), limits=Limits(memory_bytes=1 << 30))
    await box.create()
    code = "trap '' TERM; setsid sleep NAP & (setsid env -i sleep NAP &) ; sleep NAP"
    await sandboxed.run_in(box, sandboxed.shell(code))
asyncio.run(go())
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs a trial in which three programs sleep."""
    with subprocess.Popen([sys.executable, "-c", ENGINE, str(ROOT), str(tmp_path)]) as process:
        deadline = time.monotonic() + 30
        while len(alive(NAPPING)) < 3:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
        yield process
        process.kill()


def test_a_killed_engine_leaves_nothing(tmp_path: Path, engine: subprocess.Popen[bytes]) -> None:
    """After kill -9 nobody watches the limits: the kernel has to end the trial; the next engine removes the rest."""
    engine.kill()
    engine.wait()
    deadline = time.monotonic() + 10
    while alive(NAPPING) or bwraps():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert len(reclaim_all(tmp_path).folders) == 1
    reclaim_groups()
    left = [name for parent in machine.parents() for name in os.listdir(parent) if f"-{engine.pid}-" in name]
    assert left == []


def test_a_group_of_a_living_process_is_left_alone(tmp_path: Path, engine: subprocess.Popen[bytes]) -> None:
    """The clearing away by one engine would end the trials of another one."""
    reclaim_groups()
    assert len(alive(NAPPING)) == 3


def test_a_service_with_a_low_port_or_another_address_can_be_given(tmp_path: Path) -> None:
    """Port 80 asks for a privilege that no trial has, and 10.0.0.7 is an address that the namespace has not."""
    given = (
        Endpoint("127.0.0.1", 80),
        Endpoint("10.0.0.7", 8080),
        Endpoint("127.0.0.1", 8080),
        Endpoint("::1", 9000),
    )
    spec = SandboxSpec(
        run=RUN, trial="0001", try_no=1, limits=Limits(), root=tmp_path, network="gateway", reach=given
    )

    async def go() -> list[Endpoint]:
        box = BwrapSandbox(spec)
        await box.create()
        places = [box.address(endpoint) for endpoint in given]
        await box.destroy()
        return places

    low, far, near, six = asyncio.run(go())
    assert (low.host, far.host) == ("127.0.0.1", "127.0.0.1")
    assert low.port >= 1024
    assert len({low, far, near}) == 3
    assert six == Endpoint("::1", 9000)


@pytest.mark.parametrize("path", ["/", "store", "store/log"])
def test_what_no_trial_may_see_cannot_be_asked_for(tmp_path: Path, path: str) -> None:
    """One line in a harness file would undo the isolation without anybody noticing."""
    store = tmp_path / "store"
    (store / "log").mkdir(parents=True)
    spec = SandboxSpec(
        run=RUN, trial="0001", try_no=1, limits=Limits(), root=tmp_path, network="none",
        read_only=(tmp_path / path,), hidden=(store,),
    )  # fmt: skip

    async def go() -> None:
        box = BwrapSandbox(spec)
        try:
            await box.create()
        finally:
            await box.destroy()

    with pytest.raises(SandboxError, match="more than a trial may see"):
        asyncio.run(go())


def test_where_it_does_not_work_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever gets the host sandbox instead must learn why, and what to do."""
    monkeypatch.setattr(bwrap_check, "why_not", lambda: "bubblewrap is not installed: install it")
    kind, why = choose(None)
    assert kind == "host"
    assert why is not None
    assert "not installed: install it" in why
    monkeypatch.undo()
    assert choose(None) == ("bwrap", None)
    assert choose("auto") == ("bwrap", None)
    assert choose("host") == ("host", None)


def test_a_bubblewrap_that_fails_says_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own words are the only trace of what the kernel or the distribution forbids."""
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n", encoding="utf-8"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(bwrap_check, "why_not", bwrap_check.why_not.__wrapped__)
    assert "No permissions to create new namespace" in (bwrap_check.why_not() or "")

    async def go() -> None:
        box = sandboxed.sandbox(tmp_path)
        try:
            await box.create()
        finally:
            await box.destroy()

    with pytest.raises(SandboxError, match="No permissions to create new namespace"):
        asyncio.run(go())


def test_the_program_is_what_is_recorded_of_it(tmp_path: Path) -> None:
    """Terminal, CPU time, memory and samples are those of the trial, though numbers in there are others."""
    code = (
        "import os, time\nx = bytearray(os.urandom(1 << 20) * 40)\nend = time.process_time() + 0.4\n"
        "while time.process_time() < end: pass\nprint(os.getpid(), os.ttyname(1))"
    )

    async def go() -> Ran:
        box = sandboxed.sandbox(tmp_path)
        await box.create()
        ran = await run_in(box, python(code), pty=(80, 24))
        await box.destroy()
        return ran

    ran = asyncio.run(go())
    inside, terminal = ran.stdout.split()
    assert terminal.startswith(b"/dev/pts/")
    assert ran.pid != int(inside)
    assert (ran.result.cpu_ns or 0) > 0.35e9
    assert (ran.result.peak_memory_bytes or 0) > 40 << 20
    assert any((sample.rss_bytes or 0) > 40 << 20 for sample in ran.samples)
    assert max(sample.processes or 0 for sample in ran.samples) == 1


def test_a_trial_cannot_be_started_in_a_sandbox_that_was_not_made(tmp_path: Path) -> None:
    """A caller's mistake must be an error, not a program on the host."""

    async def go() -> None:
        async def nothing(*_: object) -> None:
            return None

        box = BwrapSandbox(SandboxSpec(run=RUN, trial="1", try_no=1, limits=Limits(), root=tmp_path))
        spec = ExecSpec(argv=["sleep", NAP], env={}, cwd="/")
        with pytest.raises(SandboxError, match="was not created"):
            await box.exec(spec, nothing, nothing, lambda _: None)

    asyncio.run(go())


def test_namespaces_in_namespaces_are_had_where_they_are_asked_for(tmp_path: Path) -> None:
    """A browser encloses its pages so, and refuses to start where it cannot; all others have no use for it."""

    async def go(option: str | None) -> tuple[int | None, str]:
        spec = SandboxSpec(
            run=RUN, trial="1", try_no=1, limits=Limits(), root=tmp_path, network="none", option=option
        )
        box = BwrapSandbox(spec)
        try:
            await box.create()
            ran = await run_in(box, ["unshare", "-Ur", "true"])
            return ran.result.exit_code, box.enforcement()["user_namespaces"].status
        finally:
            await box.destroy()

    assert BwrapSandbox.traits.why_not("nested") is None
    assert asyncio.run(go("nested")) == (0, "not enforced")
    assert asyncio.run(go(None)) == (1, "enforced")


def test_a_bubblewrap_that_cannot_forbid_them_is_used_and_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older ones have no such option: trials must still run, and the record must not say that it was held."""
    real = shutil.which("bwrap")
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text(
        '#!/bin/sh\nfor word; do [ "$word" = -- ] && break\n'
        "[ \"$word\" = --disable-userns ] && echo 'bwrap: Unknown option --disable-userns' >&2 && exit 1\n"
        f'done\nexec {real} "$@"\n',
        encoding="utf-8",
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    for name in ("why_not", "why_nested"):
        monkeypatch.setattr(bwrap_check, name, getattr(bwrap_check, name).__wrapped__)

    async def go() -> None:
        box = sandboxed.sandbox(tmp_path)
        await box.create()
        ran = await run_in(box, ["true"])
        claim = box.enforcement()["user_namespaces"]
        await box.destroy()
        assert ran.result.exit_code == 0
        assert claim.status == "not enforced"
        assert "older than 0.8" in (claim.by or "")

    asyncio.run(go())


def test_what_a_launcher_starts_has_nothing_of_its_makers(tmp_path: Path) -> None:
    """A fork has all that its parent has open: one that hands that on lets the trial speak to the engine."""
    code = """
import os
names = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
print(sorted(name.rpartition("/")[2] for name in names if os.path.lexists(name)))
print(sorted(os.environ))
"""

    async def go() -> Ran:
        box = sandboxed.sandbox(tmp_path)
        await box.create()
        ran = await run_in(box, python(code), env={"ONLY": "this"})
        await box.destroy()
        return ran

    opened, names = asyncio.run(go()).stdout.decode().splitlines()
    assert opened == "['0', '1', '2']"
    assert "'ONLY'" in names
