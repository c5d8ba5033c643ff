"""What a sandbox costs: create, run `true`, destroy; beside starting `true` without any.

    python tools/bench/sandboxes.py [--trials 50] [--rounds 5] [--docker IMAGE]

The ways take turns, so that whatever else the machine does meets all of them alike; a figure is the median of
the rounds' medians, with the fastest trial beside it. With --docker the docker sandbox is measured too, beside
`docker run --rm` of the same image. Targets: bwrap at most 30 ms over bare, docker at most 1.2 x `docker run`.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

from eventlog.schemas.runs import Limits
from hemra.sandboxes.base import ExecSpec, SandboxSpec
from hemra.sandboxes.registry import open_sandbox, why_not

OVER_BARE_MS = 30.0
OVER_DOCKER = 1.2
RUN = "20260101-000000-bench0"


async def _trial(ref: str, root: Path, number: int) -> None:
    """One trial of a program that does nothing."""
    spec = SandboxSpec(
        run=RUN, trial=f"{number:04}", try_no=1, limits=Limits(), root=root, network="none", store="bench"
    )

    async def nothing(*_: object) -> None:
        return None

    sandbox = open_sandbox(ref, spec)
    try:
        await sandbox.create()
        program = ExecSpec(
            argv=["true"], env=sandbox.environment(), cwd=sandbox.inside(sandbox.workspace), wall_seconds=60
        )
        result = await sandbox.exec(program, nothing, nothing, lambda _: None)
        if result.exit_code != 0:
            raise RuntimeError(f"{ref}: true ended with {result}")
    finally:
        await sandbox.destroy()


def _timed(work: Callable[[int], None], trials: int, start: int) -> list[float]:
    """Milliseconds of each call."""
    found = []
    for number in range(start, start + trials):
        began = time.perf_counter()
        work(number)
        found.append((time.perf_counter() - began) * 1000)
    return found


def _bare(_: int) -> None:
    subprocess.run(["true"], check=True)


def _docker_run(image: str) -> Callable[[int], None]:
    def run(_: int) -> None:
        subprocess.run(["docker", "run", "--rm", "--network", "none", image, "true"], check=True)

    return run


def measure(refs: list[str], trials: int, rounds: int, image: str | None) -> dict[str, tuple[float, float]]:
    """(median, least) milliseconds of a trial, by way."""
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory(prefix="hemra-bench-") as folder:
        ways: dict[str, Callable[[int], None]] = {"bare": _bare}
        for ref in refs:
            ways[ref] = lambda number, ref=ref: loop.run_until_complete(_trial(ref, Path(folder), number))  # type: ignore[misc]
        if image is not None:
            ways["docker run --rm"] = _docker_run(image)
        found: dict[str, list[list[float]]] = {way: [] for way in ways}
        for work in ways.values():
            _timed(work, 2, 0)  # what is looked up once in a process is looked up now
        for number in range(rounds):
            for way, work in ways.items():
                found[way].append(_timed(work, trials, 10 + number * trials))
    loop.close()
    return {way: (median(map(median, each)), min(map(min, each))) for way, each in found.items()}


def main() -> int:
    """Print a line for each way; the exit code says nothing about the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=50, help="in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--docker", metavar="IMAGE", help="measure the docker sandbox too, with this image")
    asked = parser.parse_args()
    refs = [kind for kind in ("host", "bwrap") if why_not(kind) is None]
    refs += [f"docker:{asked.docker}"] if asked.docker else []
    figures = measure(refs, asked.trials, asked.rounds, asked.docker)
    bare = figures["bare"][0]
    print(f"create + true + destroy, {asked.rounds} rounds of {asked.trials} trials")
    for way, (middle, least) in figures.items():
        over = "" if way == "bare" else f"  {middle - bare:+7.1f} ms over bare"
        print(f"  {way:<24} {middle:7.1f} ms  (least {least:.1f}){over}")
    if "bwrap" in figures:
        held = figures["bwrap"][0] - bare <= OVER_BARE_MS
        print(f"  bwrap at most {OVER_BARE_MS:g} ms over bare: {'yes' if held else 'NO'}")
    if asked.docker:
        ratio = figures[f"docker:{asked.docker}"][0] / figures["docker run --rm"][0]
        held = ratio <= OVER_DOCKER
        print(f"  docker at most {OVER_DOCKER:g} x docker run: {ratio:.2f} x: {'yes' if held else 'NO'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
