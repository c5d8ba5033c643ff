"""What programs do to outlive, outshout or outlast their trial, and that the host sandbox ends them all."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import LimitFired
from hemra.sandboxes.files import folder_bytes
from hemra.sandboxes.starter import LAUNCHER
from tests.hemra.sandboxed import NAPPING, alive, attempt, python, run_in, sandbox, shell, tried

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="needs Linux: only there all descendants are ended"
)

DOUBLE_FORK = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
os.wait()
print("done", flush=True)
"""


#: Its first thread ends, which makes it look dead, and another one goes on.
HEADLESS = """
import ctypes, os, signal, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
"""


def test_a_program_that_does_nothing(tmp_path: Path) -> None:
    """The plainest end: code 0, no output, no leftovers, no flags."""
    ran = attempt(tmp_path, ["true"])
    result = ran.result
    assert (result.started, result.exit_code, result.exit_signal, result.limit) == (True, 0, None, None)
    assert (result.stdout_bytes, result.stderr_bytes, result.leftover_processes) == (0, 0, 0)
    assert (result.flags, result.error) == ([], None)
    assert 0 < result.duration_ns < 5e9
    assert result.cpu_ns is not None


@linux
@pytest.mark.parametrize(
    "program",
    [
        shell("sleep NAP & echo done"),
        shell("setsid sleep NAP & echo done"),
        shell("sleep NAP </dev/null >/dev/null & echo done"),
        shell("nohup sleep NAP >/dev/null 2>&1 & echo done"),
        shell("(trap '' TERM HUP; setsid sleep NAP) & echo done"),
        shell("env -i /bin/sleep NAP & echo done"),
        shell("setsid sh -c 'env -i sh -c \"sleep NAP & exec setsid sleep NAP\" &' & echo done; sleep 0.1"),
        python(DOUBLE_FORK),
    ],
)
def test_who_outlives_the_program_is_ended(tmp_path: Path, program: list[str]) -> None:
    """The end is the program's exit, not the end of its output, which a daemon holds open for ever."""
    start = time.monotonic()
    ran = attempt(tmp_path, program)
    assert time.monotonic() - start < 3
    assert ran.stdout == b"done\n"
    assert ran.result.exit_code == 0
    assert 1 <= ran.result.leftover_processes <= 3
    assert alive(NAPPING) == []


@linux
def test_a_program_without_its_first_thread_is_ended(tmp_path: Path) -> None:
    """It would outlive its trial, or be ended without a word and its trial counted as one that the machine lost."""
    ran = attempt(tmp_path, python(HEADLESS), wall_seconds=1, grace_seconds=0.2)
    assert ran.result.limit is not None
    assert ran.result.limit.name == "wall_seconds"
    assert (ran.result.exit_signal, ran.result.error) == (signal.SIGKILL, None)
    assert not Path(f"/proc/{ran.pid}").exists()


@linux
def test_a_pipeline_that_ends_by_itself_is_no_leftover(tmp_path: Path) -> None:
    """Processes that are just about to end with their program must not be counted against it."""
    ran = attempt(tmp_path, shell("sleep 0.03 & echo done"))
    assert ran.result.leftover_processes == 0


@linux
def test_a_tree_that_ignores_the_polite_signal_is_ended(tmp_path: Path) -> None:
    """A time limit that ends only the direct child leaves the rest spending money."""
    ignoring = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    program = shell(f'"{sys.executable}" -c "{ignoring}" & setsid sleep NAP & sleep NAP')
    start = time.monotonic()
    ran = attempt(tmp_path, program, wall_seconds=0.5, grace_seconds=0.3)
    assert time.monotonic() - start < 4
    limit = ran.result.limit
    assert limit is not None
    assert (limit.name, limit.value, limit.unit) == ("wall_seconds", 0.5, "seconds")
    assert 0.5 <= limit.measured < 2
    assert ran.result.exit_signal == signal.SIGTERM
    assert ran.result.flags == ["no_output"]


def test_a_program_that_ignores_the_polite_signal_is_killed_after_the_grace(tmp_path: Path) -> None:
    """The grace is for orderly programs; it must be given, and it must end."""
    code = "import signal,time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    ran = attempt(tmp_path, python(code), wall_seconds=0.5, grace_seconds=0.5)
    assert ran.result.exit_signal == signal.SIGKILL
    assert ran.result.limit is not None
    assert 1.0e9 <= ran.result.duration_ns < 3e9
    polite = "import signal,sys,time; signal.signal(15, lambda *_: sys.exit(7)); time.sleep(600)"
    ran = attempt(tmp_path, python(polite), wall_seconds=0.5)
    assert ran.result.exit_code == 7


@linux
@pytest.mark.parametrize("delay", ["", "sleep 0.3; "])
def test_a_program_that_kills_its_launcher_gains_nothing(tmp_path: Path, delay: str) -> None:
    """The one process that could end all of it is gone; its orphans must be found all the same."""
    program = shell(f"{delay}kill -9 $PPID; setsid sleep NAP & sleep NAP")
    start = time.monotonic()
    ran = attempt(tmp_path, program)
    assert time.monotonic() - start < 3
    assert "launcher_killed" in ran.result.flags
    assert ran.result.started
    assert (ran.result.exit_code, ran.result.exit_signal) == (None, None)
    assert ran.result.error is not None
    assert alive(NAPPING) == []


@linux
@pytest.mark.parametrize("delay", ["", "sleep 0.3; "])
def test_a_program_that_stops_its_launcher_does_not_stop_the_clock(tmp_path: Path, delay: str) -> None:
    """A stopped launcher notices nothing; somebody must wake it."""
    ran = attempt(tmp_path, shell(f"{delay}kill -STOP $PPID; exit 3"))
    assert ran.result.exit_code == 3
    assert ran.result.flags == []


@linux
def test_polite_signals_do_not_end_the_launcher(tmp_path: Path) -> None:
    """`kill $PPID` in a script must not cost the trial its result."""
    ran = attempt(tmp_path, shell("kill -TERM $PPID; kill -HUP $PPID; kill -INT $PPID; exit 5"))
    assert (ran.result.exit_code, ran.result.flags) == (5, [])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGPIPE])
def test_an_end_by_signal_is_told_as_such(tmp_path: Path, number: int) -> None:
    """A crash and an exit code are different facts."""
    ran = attempt(tmp_path, shell(f"kill -{int(number)} $$; sleep 60"))
    assert (ran.result.exit_code, ran.result.exit_signal) == (None, number)


@linux
def test_signals_are_as_a_program_expects_them(tmp_path: Path) -> None:
    """Python ignores SIGPIPE; a program that inherits that prints errors into the void for ever."""
    ran = attempt(tmp_path, ["grep", "-E", "SigIgn|SigBlk", "/proc/self/status"])
    told = dict(line.split(":\t") for line in ran.stdout.decode().splitlines())
    of_the_c_library = 1 << 31 | 1 << 32  # 32 and 33, which glibc manages itself
    assert int(told["SigBlk"], 16) == 0
    assert int(told["SigIgn"], 16) & ~of_the_c_library == 0


def test_a_program_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    """The end of the output is not the end of the program either."""
    ran = attempt(tmp_path, shell("echo hi; exec >&- 2>&-; sleep 0.4; exit 4"))
    assert (ran.stdout, ran.result.exit_code) == (b"hi\n", 4)
    assert ran.result.duration_ns > 0.4e9


@linux
def test_a_program_cannot_reach_the_report_or_our_files(tmp_path: Path) -> None:
    """An open descriptor of ours in the program would let it write its own result."""
    ran = attempt(tmp_path, shell("ls /proc/self/fd"))
    assert sorted(int(word) for word in ran.stdout.split()) == [0, 1, 2, 3]  # 3 is the listing itself


@linux
def test_many_processes_at_once_end_the_trial(tmp_path: Path) -> None:
    """A forking program is stopped by count where the kernel does not count for us."""
    code = "import subprocess\nfor _ in range(300): subprocess.Popen(['sleep', 'NAP'])\nprint('all')"
    ran = attempt(tmp_path, python(code), limits=Limits(processes=20))
    limit = ran.result.limit
    assert limit is not None
    assert (limit.name, limit.value, limit.unit) == ("processes", 20, "processes")
    assert limit.measured > 20
    assert ran.result.exit_signal == signal.SIGKILL
    assert alive(NAPPING) == []


@linux
def test_memory_past_its_limit_ends_the_trial(tmp_path: Path) -> None:
    """Memory is measured over the whole tree, with shared pages counted once."""
    code = "import time\nx = bytearray(300 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep(60)"
    ran = attempt(tmp_path, python(code), limits=Limits(memory_bytes=100 << 20))
    limit = ran.result.limit
    assert limit is not None
    assert (limit.name, limit.unit) == ("memory_bytes", "bytes")
    assert limit.measured >= 100 << 20
    assert ran.result.peak_memory_bytes is not None
    assert ran.result.peak_memory_bytes >= limit.measured * 0.9


@linux
def test_memory_that_is_shared_is_counted_once(tmp_path: Path) -> None:
    """Ten processes that share 80 MB use 80 MB, not 800."""
    code = (
        "import os, time\nx = bytearray(80 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\n"
        "for _ in range(9):\n    if os.fork() == 0: time.sleep(0.6); os._exit(0)\n"
        "for _ in range(9): os.wait()"
    )
    ran = attempt(tmp_path, python(code), limits=Limits(memory_bytes=300 << 20))
    assert (ran.result.limit, ran.result.exit_code) == (None, 0)


def test_a_file_past_its_limit_is_not_written(tmp_path: Path) -> None:
    """One runaway file must not fill the disk."""
    fill = ["dd", "if=/dev/zero", "of=big", "bs=1M", "count=20"]
    ran = attempt(tmp_path, fill, limits=Limits(file_bytes=2 << 20))
    assert ran.result.exit_signal == signal.SIGXFSZ
    assert ran.result.flags == ["file_size_limit"]
    assert ran.result.limit == LimitFired(name="file_bytes", value=2 << 20, measured=2 << 20, unit="bytes")


FILL = "dd if=/dev/zero of=big bs=1M count=20 2>/dev/null"


@linux
@pytest.mark.parametrize(
    ("script", "exit_code", "flags"),
    [
        (FILL, 128 + signal.SIGXFSZ, ["file_size_limit"]),
        (f"{FILL}; exit 0", 0, []),  # only its shell saw that, and kept it to itself
        (f"({FILL} &); sleep 0.5", 0, ["file_size_limit"]),  # an orphan is the launcher's to collect
        ("exit 3", 3, []),
    ],
)
def test_a_file_limit_that_met_a_child_is_told_as_far_as_it_is_seen(
    tmp_path: Path, script: str, exit_code: int, flags: list[str]
) -> None:
    """A harness whose tool was ended by our limit would look as if it had failed by itself."""
    ran = attempt(tmp_path, ["sh", "-c", script], limits=Limits(file_bytes=2 << 20))
    assert (ran.result.exit_code, ran.result.flags, ran.result.limit) == (exit_code, flags, None)


def test_a_workspace_past_its_limit_ends_the_trial(tmp_path: Path) -> None:
    """Many small files fill a disk as well as one large one."""
    code = "import time\nfor i in range(40): open(f'f{i}', 'wb').write(bytes(1 << 20))\ntime.sleep(60)"
    ran = attempt(tmp_path, python(code), limits=Limits(workspace_bytes=10 << 20))
    limit = ran.result.limit
    assert limit is not None
    assert (limit.name, limit.unit) == ("workspace_bytes", "bytes")
    assert limit.measured >= 40 << 20


def test_the_size_of_a_folder_follows_no_links(tmp_path: Path) -> None:
    """A link to / must not be measured, nor a loop of links looked at for ever."""
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "everything").symlink_to("/usr")
    (tmp_path / "file").write_bytes(bytes(100_000))
    assert 100_000 <= folder_bytes([tmp_path]) < 200_000


def test_a_harness_that_does_not_exit_after_its_end_is_ended(tmp_path: Path) -> None:
    """What it did counts; the wait after it is not charged to it and is no time-out."""
    said: list[bytes] = []

    async def go() -> None:
        async def on_output(stream: str, chunk: bytes) -> None:
            said.append(chunk)

        ran = await tried(
            tmp_path,
            shell("echo final; sleep NAP"),
            on_output=on_output,
            ended=lambda: b"final" in b"".join(said),
            wall_seconds=0.6,
            hang_grace_seconds=1.0,
        )
        result = ran.result
        assert (result.flags, result.limit) == (["hang_after_result"], None)
        assert result.ended_ns is not None
        assert result.ended_ns < 0.5e9
        assert result.duration_ns >= 1e9

    asyncio.run(go())


def test_a_harness_that_exits_soon_after_its_end_is_not_hanging(tmp_path: Path) -> None:
    """The grace is there to be used."""
    ran = attempt(tmp_path, shell("echo final; sleep 0.3"), ended=lambda: True, hang_grace_seconds=5)
    assert (ran.result.flags, ran.result.exit_code) == ([], 0)
    assert ran.result.ended_ns is not None
    assert ran.result.duration_ns - ran.result.ended_ns > 0.2e9


def test_a_slow_exit_is_told(tmp_path: Path) -> None:
    """A harness that tidies up for seconds would look as quick as one that does not."""
    ran = attempt(tmp_path, shell("echo final; sleep 1.3"), ended=lambda: True, hang_grace_seconds=5)
    assert (ran.result.flags, ran.result.exit_code) == (["slow_exit"], 0)
    assert ran.result.ended_ns is not None
    assert ran.result.ended_ns < 0.5e9


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["no-such-program"], "cannot start 'no-such-program': No such file or directory; is it installed"),
        (["/etc/passwd"], "Permission denied; is it executable?"),
        (["./plain"], "a script needs a first line such as #!/bin/sh"),
        (["echo", "a\0b"], "embedded null byte"),
        (["echo", "x" * 200_000], "pass long text by stdin or file"),
    ],
)
def test_what_cannot_be_started_says_why(tmp_path: Path, argv: list[str], said: str) -> None:
    """A harness that never ran is our side's failure, told in words that help."""

    async def go() -> None:
        box = sandbox(tmp_path)
        await box.create()
        (box.workspace / "plain").write_text("echo no first line", encoding="utf-8")
        (box.workspace / "plain").chmod(0o755)
        ran = await run_in(box, argv)
        await box.destroy()
        assert not ran.result.started
        assert ran.result.error is not None
        assert said in ran.result.error
        assert ran.pid == 0

    asyncio.run(go())


def test_a_missing_working_folder_is_named(tmp_path: Path) -> None:
    """Otherwise the program is looked for although it is there."""
    ran = attempt(tmp_path, ["true"], cwd="/no/such/folder")
    assert ran.result.error is not None
    assert "its working folder /no/such/folder" in ran.result.error


@linux
def test_the_launcher_finds_the_same_tree_on_every_kernel() -> None:
    """A kernel without lists of children must not leave anything running."""
    source = importlib.util.spec_from_file_location("launcher", LAUNCHER)
    assert source is not None
    assert source.loader is not None
    launcher = importlib.util.module_from_spec(source)
    source.loader.exec_module(launcher)
    with subprocess.Popen(shell("sleep NAP & echo up; sleep NAP"), stdout=subprocess.PIPE) as top:
        assert top.stdout is not None
        top.stdout.readline()
        deadline = time.monotonic() + 10
        while len(alive(NAPPING)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        found, slowly = set(launcher.descendants()), set(launcher.descendants_by_parent())
        # Before the first is killed: then the others have another parent.
        ours = [pid for pid in found if top.pid in (pid, launcher.stat_of(pid)[1])]
        for pid in ours:
            os.kill(pid, signal.SIGKILL)
    assert found == slowly
    assert len(found) >= 3


@linux
def test_trials_at_once_do_not_end_each_other(tmp_path: Path) -> None:
    """The end of one trial must find its own processes and nobody else's."""

    async def one(number: int) -> None:
        box = sandbox(tmp_path, trial=f"{number:04}")
        await box.create()
        ran = await run_in(box, shell(f"setsid sleep NAP & sleep 0.{number}; echo {number}"))
        assert ran.stdout == f"{number}\n".encode()
        assert (ran.result.exit_code, ran.result.leftover_processes) == (0, 1)
        await box.destroy()

    async def go() -> None:
        await asyncio.gather(*(one(number) for number in range(1, 7)))

    asyncio.run(go())
    assert alive() == []


def test_the_cost_of_a_trial_that_does_nothing(tmp_path: Path) -> None:
    """Create, run and destroy is to cost well under 100 ms more than the bare program."""

    async def once() -> float:
        start = time.perf_counter()
        box = sandbox(tmp_path)
        await box.create()
        await run_in(box, ["true"])
        await box.destroy()
        return time.perf_counter() - start

    async def go() -> list[float]:
        return [await once() for _ in range(12)]

    bare = []
    for _ in range(12):
        start = time.perf_counter()
        os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1])
        bare.append(time.perf_counter() - start)
    overhead = min(asyncio.run(go())) - min(bare)
    print(f"overhead of a no-op trial: {overhead * 1000:.1f} ms (bare {min(bare) * 1000:.1f} ms)")
    assert overhead < 0.1
