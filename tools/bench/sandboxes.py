"""What a sandbox costs: create, run `true`, destroy; beside starting `true` without any.

    python tools/bench/sandboxes.py [--trials 100] [--docker IMAGE | --engine]

The ways take turns trial by trial, in another order each time, so that whatever else the machine does meets all of
them alike. Of each way the median and the least are told, beyond the same of `true` without a sandbox: the median is
what the machine gives now, the least what the way itself takes. With --docker the docker sandbox is measured too,
beside `docker run --rm` of the same image; --engine starts the engine and the image that the tests use for that.
Targets: bwrap at most 30 ms over bare, docker at most 1.2 x `docker run`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
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
from tools.engine.engine import Engine

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


def _timed(work: Callable[[int], None], number: int) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    work(number)
    return (time.perf_counter() - began) * 1000


def _bare(_: int) -> None:
    subprocess.run(["true"], check=True)


def _docker_run(image: str) -> Callable[[int], None]:
    def run(_: int) -> None:
        subprocess.run(["docker", "run", "--rm", "--network", "none", image, "true"], check=True)

    return run


def measure(refs: list[str], trials: int, image: str | None) -> dict[str, tuple[float, float]]:
    """(median, least) milliseconds of a trial, by way."""
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory(prefix="hemra-bench-") as folder:
        ways: dict[str, Callable[[int], None]] = {"bare": _bare}
        for ref in refs:
            ways[ref] = lambda number, ref=ref: loop.run_until_complete(_trial(ref, Path(folder), number))  # type: ignore[misc]
        if image is not None:
            ways["docker run --rm"] = _docker_run(image)
        found: dict[str, list[float]] = {way: [] for way in ways}
        for work in ways.values():
            for number in range(2):
                work(number)  # what is looked up once in a process is looked up now
        for number in range(2, trials + 2):
            for way in random.sample(list(ways), len(ways)):
                found[way].append(_timed(ways[way], number))
    loop.close()
    return {way: (median(each), min(each)) for way, each in found.items()}


def main() -> int:
    """The exit code says nothing about the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=100, help="of each way")
    parser.add_argument("--docker", metavar="IMAGE", help="measure the docker sandbox too, with this image")
    parser.add_argument("--engine", action="store_true", help="the same in an engine of its own (root)")
    asked = parser.parse_args()
    if not asked.engine:
        report(asked.trials, asked.docker)
        return 0
    engine = Engine.start()
    os.environ["DOCKER_HOST"] = engine.url
    try:
        report(asked.trials, engine.image)
    finally:
        engine.stop()
    return 0


def report(trials: int, image: str | None) -> None:
    """Measure, and print a line for each way."""
    refs = [kind for kind in ("host", "bwrap") if why_not(kind) is None]
    refs += [f"docker:{image}"] if image else []
    figures = measure(refs, trials, image)
    bare = figures["bare"]
    print(f"create + true + destroy, {trials} trials of each, interleaved; ms")
    for way, (middle, least) in figures.items():
        over = "" if way == "bare" else f"   over bare {middle - bare[0]:6.1f}   least {least - bare[1]:6.1f}"
        print(f"  {way:<24} median {middle:7.1f}   least {least:7.1f}{over}")
    if "bwrap" in figures:
        over_bare = [figures["bwrap"][at] - bare[at] for at in (0, 1)]
        print(
            f"  bwrap at most {OVER_BARE_MS:g} ms over bare: {_verdict(*(x <= OVER_BARE_MS for x in over_bare))}"
        )
    if image:
        ours, theirs = figures[f"docker:{image}"], figures["docker run --rm"]
        ratios = [ours[at] / theirs[at] for at in (0, 1)]
        held = _verdict(*(ratio <= OVER_DOCKER for ratio in ratios))
        print(
            f"  docker at most {OVER_DOCKER:g} x docker run: {ratios[0]:.2f} x (least {ratios[1]:.2f} x): {held}"
        )


def _verdict(median_held: bool, least_held: bool) -> str:
    if median_held:
        return "yes"
    return "NO by the median, yes by the least" if least_held else "NO"


if __name__ == "__main__":
    sys.exit(main())
