"""Limits of a trial in a container: each ends it, says so, and leaves nothing."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.runs import Limits
from tests.sandboxes.docker_trials import Ran, attempt, left, python, run_in, sandbox, shell

pytestmark = pytest.mark.usefixtures("docker_engine")

MIB = 1 << 20


def _fired(ran: Ran) -> tuple[str | None, list[str]]:
    return ran.result.limit.name if ran.result.limit else None, ran.result.flags


def test_wall_time_ends_what_runs_in_the_container(tmp_path: Path) -> None:
    """Broken: only the client is ended at the time limit, and the programs in the container go on."""
    code = "trap '' TERM; (setsid sleep 98765 &) ; sleep 98765 & while :; do :; done"

    async def run() -> None:
        box = sandbox(tmp_path)
        await box.create()
        try:
            start = time.monotonic()
            ran = await run_in(box, shell(code), wall_seconds=0.5, grace_seconds=0.5)
            assert time.monotonic() - start < 10
            assert _fired(ran) == ("wall_seconds", ["no_output"])
            assert ran.result.limit is not None
            assert ran.result.limit.value == 0.5
            after = await run_in(box, ["ps", "-eo", "args"])
            assert b"sleep 98765" not in after.stdout
        finally:
            await box.destroy()

    asyncio.run(run())


def test_a_program_may_end_in_order_at_its_time(tmp_path: Path) -> None:
    """Broken: no SIGTERM before SIGKILL, or no time between them."""
    ran = attempt(
        tmp_path,
        shell("trap 'echo saved; exit 0' TERM; echo on; while :; do sleep 0.05; done"),
        wall_seconds=0.5,
    )
    assert ran.stdout == b"on\nsaved\n"
    assert _fired(ran) == ("wall_seconds", [])


def test_output_limit(tmp_path: Path) -> None:
    """Broken: a program that never stops printing is not stopped."""
    ran = attempt(tmp_path, shell("exec yes"), output_bytes=1_000_000)
    assert _fired(ran) == ("output_bytes", [])
    assert 1_000_000 < ran.result.stdout_bytes < 8_000_000


def test_a_slow_reader_holds_the_program_back(tmp_path: Path) -> None:
    """Broken: output that nobody takes piles up in memory, here or in the engine."""
    seen = 0

    async def slow(_stream: str, chunk: bytes) -> None:
        nonlocal seen
        seen += len(chunk)
        await asyncio.sleep(0.02)

    code = (
        "import sys, time\nfor n in range(400): sys.stdout.write('x' * 100_000); open('n', 'w').write(str(n))"
    )

    async def run() -> int:
        box = sandbox(tmp_path)
        await box.create()
        try:
            await run_in(box, python(code), on_output=slow, wall_seconds=2, grace_seconds=0.1)
            return int((box.workspace / "n").read_text(encoding="utf-8"))
        finally:
            await box.destroy()

    assert asyncio.run(run()) * 100_000 < seen + 8_000_000


def test_one_line_of_a_hundred_megabytes(tmp_path: Path) -> None:
    """Broken: a very long line is cut, or held in memory as a whole."""
    import resource

    total = 0

    async def count(_stream: str, chunk: bytes) -> None:
        nonlocal total
        total += len(chunk)
        assert len(chunk) <= 64 * 1024

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code = "import os\nfor _ in range(100): os.write(1, b'x' * 1_000_000) == 1_000_000 or exit(9)"
    ran = attempt(tmp_path, shell("head -c 100000000 /dev/zero"), on_output=count)
    assert (ran.result.exit_code, total, code != "") == (0, 100_000_000, True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KiB


def test_memory(tmp_path: Path) -> None:
    """Broken: a program that the kernel ended for memory looks like one that was killed by somebody."""
    ran = attempt(tmp_path, python("x = b'x' * 10**9"), limits=Limits(memory_bytes=64 * MIB))
    assert _fired(ran) == ("memory_bytes", [])
    assert (ran.result.exit_signal, ran.result.exit_code) == (9, None)


def test_memory_of_a_child(tmp_path: Path) -> None:
    """Broken: memory is counted by process, so that many small ones pass the limit."""
    code = (
        "for i in 1 2 3 4; do python3 -c \"x = b'x' * 40_000_000; import time; time.sleep(600)\" & done; wait"
    )
    ran = attempt(tmp_path, shell(code), limits=Limits(memory_bytes=100 * MIB), wall_seconds=60)
    assert _fired(ran)[0] == "memory_bytes"


def test_killed_without_a_limit_is_no_lack_of_memory(tmp_path: Path) -> None:
    """Broken: exit code 137 alone is taken for a lack of memory."""
    ran = attempt(tmp_path, shell("exit 137"), limits=Limits(memory_bytes=64 * MIB))
    assert _fired(ran) == (None, [])
    assert ran.result.exit_signal == 9


def test_a_fork_bomb_is_held(tmp_path: Path) -> None:
    """Broken: the number of processes is not held by the kernel, or that it was is not told."""
    code = "import os, time\nwhile True:\n try: os.fork()\n except OSError: time.sleep(0.01)"
    start = time.monotonic()
    ran = attempt(tmp_path, python(code), limits=Limits(processes=30), wall_seconds=60)
    assert _fired(ran)[0] == "processes"
    assert time.monotonic() - start < 20


def test_a_few_processes_are_no_fork_bomb(tmp_path: Path) -> None:
    """Broken: processes of the sandbox itself count as the trial's."""
    code = "sleep 0.3 & sleep 0.3 & sleep 0.3 & wait"
    assert attempt(tmp_path, shell(code), limits=Limits(processes=4)).result.exit_code == 0


def test_size_of_a_file(tmp_path: Path) -> None:
    """Broken: one file grows past the limit."""
    ran = attempt(tmp_path, ["head", "-c", "5000000", "/dev/zero"], limits=Limits(file_bytes=MIB))
    assert ran.result.exit_code == 0
    ran = attempt(tmp_path, shell("exec head -c 5000000 /dev/zero > big"), limits=Limits(file_bytes=MIB))
    assert _fired(ran) == ("file_bytes", ["file_size_limit"])


@pytest.mark.parametrize("place", ["/workspace", "/home/trial", "/tmp"])
def test_size_of_the_folders(tmp_path: Path, place: str) -> None:
    """Broken: the disk can be filled through one of the folders that can be written."""
    code = f"head -c 30000000 /dev/zero > {place}/big; sleep 600"
    ran = attempt(tmp_path, shell(code), limits=Limits(workspace_bytes=10 * MIB), wall_seconds=60)
    assert _fired(ran)[0] == "workspace_bytes"


def test_cpu_time(tmp_path: Path) -> None:
    """Broken: CPU time of all processes together is not limited."""
    code = "while :; do :; done & while :; do :; done"
    ran = attempt(tmp_path, shell(code), limits=Limits(cpu_seconds=0.5), wall_seconds=60)
    assert _fired(ran)[0] == "cpu_seconds"


def test_hanging_after_the_end_is_flagged(tmp_path: Path) -> None:
    """Broken: a program that said that it is done and does not exit is waited for."""
    said: list[bytes] = []

    async def hear(_stream: str, chunk: bytes) -> None:
        said.append(chunk)

    options: dict[str, Any] = {"ended": lambda: b"done" in b"".join(said), "hang_grace_seconds": 0.3}
    ran = attempt(tmp_path, shell("echo done; exec sleep 600"), on_output=hear, **options)
    assert ran.result.flags == ["hang_after_result"]
    assert ran.result.ended_ns is not None
    assert ran.result.duration_ns > ran.result.ended_ns


@pytest.mark.parametrize(
    "code",
    [
        "setsid sleep 600 & exit 0",
        "(setsid sh -c 'sleep 600 & sleep 600' &); sleep 0.2; exit 0",
        "nohup sleep 600 >/dev/null 2>&1 & exit 0",
        "trap '' TERM HUP; (exec setsid env -i sh -c 'trap \"\" TERM; while :; do /bin/sleep 1; done') & exit 0",
    ],
)
def test_nothing_outlives_its_program(tmp_path: Path, code: str) -> None:
    """Broken: a process that left its session, lost its parent or its environment lives on, or is not counted."""
    ran = attempt(tmp_path, shell(code), wall_seconds=60)
    assert (ran.result.exit_code, ran.result.limit) == (0, None)
    assert ran.result.leftover_processes >= 1
    assert left() == []


def test_a_folder_of_a_size_of_its_own(tmp_path: Path) -> None:
    """Broken: a quota of the task is only told, or the rest of the workspace is limited with it."""

    async def run() -> None:
        box = sandbox(tmp_path, quotas={"spool": 64 * 1024})
        await box.create()
        try:
            fill = "head -c 90000 /dev/zero"
            code = f"{fill} > spool/x || echo full; wc -c < spool/x; {fill} > y && echo fine"
            ran = await run_in(box, shell(code))
            assert ran.stdout == b"full\n65536\nfine\n"
        finally:
            await box.destroy()

    asyncio.run(run())
    assert left() == []
