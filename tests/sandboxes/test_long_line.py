"""A line as long as a program likes to print costs no memory: what comes is handed on in pieces."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandboxes.escape.conftest import sandbox_ref

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux, which tells a process's own peak")
ROOT = Path(__file__).parents[2]
MB = 1_000_000
#: Of the whole process that runs the sandbox, modules and all.
MOST_MB = 60

#: Runs a program that prints one line; tells what of it arrived, and the peak of its own memory.
_CODE = """
import asyncio, json, re, sys
from pathlib import Path
from eventlog.schemas.runs import Limits
from hemra.sandboxes.base import ExecSpec, SandboxSpec
from hemra.sandboxes.registry import open_sandbox

ref, root, size = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
counts = {"stdout": 0, "largest": 0, "others": 0}

async def started(_): pass

async def take(stream, chunk):
    counts[stream] += len(chunk)
    counts["largest"] = max(counts["largest"], len(chunk))
    counts["others"] += len(chunk) - chunk.count(b"x")

async def go():
    spec = SandboxSpec(run="20261130-194512-0longl", trial="0001", try_no=1, limits=Limits(), root=root,
                       network="none", store="long-lines")
    sandbox = open_sandbox(ref, spec)
    try:
        await sandbox.create()
        code = f"head -c {size} /dev/zero | tr '\\\\0' x"
        exec_spec = ExecSpec(argv=["sh", "-c", code], env=sandbox.environment(),
                             cwd=sandbox.inside(sandbox.workspace), wall_seconds=240)
        return await sandbox.exec(exec_spec, started, take, lambda _: None)
    finally:
        await sandbox.destroy()

result = asyncio.run(go())
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
print(json.dumps(counts | {"exit": result.exit_code, "error": result.error, "peak": peak}))
"""


def check(ref: str, root: Path, size: int) -> None:
    """Run it in a process of its own, whose peak is not that of the tests."""
    root.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _CODE, ref, str(root), str(size)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    print(f"{ref}: {size / MB:.0f} MB in one line, peak {told['peak'] / MB:.1f} MB")
    assert (told["exit"], told["error"]) == (0, None)
    assert (told["stdout"], told["others"]) == (size, 0)
    assert told["largest"] <= 64 * 1024
    assert told["peak"] < MOST_MB * MB


@linux
@pytest.mark.parametrize("kind", ["host", "bwrap", "docker"])
def test_a_long_line_takes_no_memory(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """One harness that prints a file without a newline would end the run that records it."""
    check(sandbox_ref(kind, request), tmp_path / "scratch", 40 * MB)


@linux
@pytest.mark.torture
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["host", "bwrap", "docker"])
def test_a_line_of_300_mb_takes_no_memory(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The same for what is several times all that may be held anywhere on the way."""
    check(sandbox_ref(kind, request), tmp_path / "scratch", 300 * MB)
