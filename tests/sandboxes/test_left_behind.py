"""After many trials of misbehaving programs at the same time, the machine is as it was."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.runs import Limits
from hemra.sandboxes.base import ExecSpec, SandboxError, SandboxSpec
from hemra.sandboxes.registry import open_sandbox
from tests.sandboxes import machine

RUN = f"20261130-194512-{os.getpid():07}m"
NAP = f"9{os.getpid():07}"
AT_ONCE = 4

#: Programs that do what no program of a benchmark should; shell code, or Python where it begins with "import".
MISBEHAVING = (
    "true",
    f"sleep {NAP}",
    f"trap '' TERM INT HUP; sleep {NAP}; sleep {NAP}",
    f"for i in 1 2 3 4 5; do setsid sleep {NAP} & done; nohup sleep {NAP} &",
    f"(setsid sh -c 'trap \"\" TERM; sleep {NAP}; sleep {NAP}' &) ; kill -9 $PPID",
    "kill -STOP $PPID; sleep 0.2",
    "while :; do echo 0123456789012345678901234567890123456789; done",
    "while :; do head -c 3000000 /dev/zero > part$RANDOM; sleep 0.02; done",
    "b() { b | b & }; b; sleep 60",
    "x=0123456789; while :; do x=$x$x; done",
    "mkdir -p a/b/c; chmod 000 a/b; ln -s / root; mkfifo pipe; chmod 000 .",
    "exec 0<&- 1>&- 2>&-; sleep 0.1; exit 3",
    "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
    "import os\nwhile True:\n  if os.fork() == 0: os.setsid()",
    "import os, subprocess\nos.environ.clear()\n"
    f"subprocess.Popen(['/bin/sleep', '{NAP}'], start_new_session=True)\nos._exit(0)",
    "import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor i in range(0, 1 << 30, 4096): m[i] = 1",
    "import os\nwhile True: os.open('/dev/null', 0)",
    "import os\nn = 0\nwhile True:\n  os.mkdir('d'); os.chdir('d')\n  n += 1\n  if n > 300: break",
)
LIMITS = Limits(
    wall_seconds=0.6, output_bytes=1 << 20, memory_bytes=96 << 20, processes=40, workspace_bytes=8 << 20
)


def _argv(ref: str, code: str) -> list[str]:
    python = "python3" if ref.startswith("docker") else sys.executable
    return [python, "-I", "-S", "-c", code] if code.startswith("import") else ["sh", "-c", code]


async def misbehave(ref: str, root: Path, number: int) -> str:
    """One trial; how it ended. Some are cancelled, once or twice, or killed as by a signal handler."""
    spec = SandboxSpec(
        run=RUN, trial=f"{number:04}", try_no=1, limits=LIMITS, root=root, network="none", store="misbehaving"
    )
    sandbox = open_sandbox(ref, spec)
    draw = random.Random(number)

    async def on_start(_pid: int) -> None:
        return None

    async def on_output(_stream: str, _chunk: bytes) -> None:
        return None

    try:
        await sandbox.create()
        program = ExecSpec(
            argv=_argv(ref, MISBEHAVING[number % len(MISBEHAVING)]), env=sandbox.environment(),
            cwd=sandbox.inside(sandbox.workspace), wall_seconds=LIMITS.wall_seconds,
            output_bytes=LIMITS.output_bytes, grace_seconds=0.2, pty=(80, 24) if number % 5 == 0 else None,
        )  # fmt: skip
        work = asyncio.ensure_future(sandbox.exec(program, on_start, on_output, lambda _: None))
        loop = asyncio.get_running_loop()
        if number % 7 == 3:
            loop.call_later(draw.random() / 3, work.cancel)
            loop.call_later(draw.random(), work.cancel)
        killed = number % 11 == 5 and number % 7 != 3
        if killed:
            loop.call_later(draw.random() / 3, sandbox.kill_now)
        try:
            result = await work
        except asyncio.CancelledError:
            return "cancelled"
        except SandboxError:
            if not killed:
                raise
            return "killed"  # before the program was even started
        return result.limit.name if result.limit else ", ".join(result.flags) or "ended"
    finally:
        await sandbox.destroy()


def _ref(kind: str, request: pytest.FixtureRequest) -> str:
    if kind == "docker":
        request.getfixturevalue("docker_engine")
        from tools.engine.engine import IMAGE

        return f"docker:{IMAGE}"
    if kind == "bwrap" and shutil.which("bwrap") is None:
        pytest.skip("needs bwrap, which is not installed")
    return kind


def check(ref: str, root: Path, trials: int) -> None:
    """Carry out so many trials, four at once; everything is counted before and after."""
    root.mkdir()

    def count() -> dict[str, Any]:
        return machine.state(RUN, root) | {
            "sleepers": machine.processes(NAP),
            "files": len(os.listdir("/proc/self/fd")),
        }

    async def go() -> Counter[str]:
        turn = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> str:
            async with turn:
                return await misbehave(ref, root, number)

        return Counter(await asyncio.gather(*(one(number) for number in range(trials))))

    asyncio.run(misbehave(ref, root, 0))  # what is made once and stays is there before the counting
    before = count()
    ended = asyncio.run(go())
    assert ended["cancelled"] > 0
    assert ended["wall_seconds"] > 0
    assert ended["output_bytes"] > 0
    assert count() == before


@pytest.mark.parametrize("kind", ["host", "bwrap", "docker"])
def test_forty_misbehaving_trials_leave_nothing(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A process, mount, control group, network or file that stays is there a thousand times after a long run."""
    check(_ref(kind, request), tmp_path / "scratch", 40)


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["host", "bwrap", "docker"])
def test_two_hundred_misbehaving_trials_leave_nothing(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The same for what happens only once in a hundred times."""
    check(_ref(kind, request), tmp_path / "scratch", 200)
