"""The lines that every benchmark of the log prints: ours, another's, the ratio, and the target where there is one."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Line:
    """One line of the table; `target` is what `ratio` must reach (or stay under, with `at_most`)."""

    what: str
    ours: float
    other: float | None
    other_name: str
    ratio: float | None
    target: float | None = None
    at_most: bool = False
    digits: int = 0

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.target is None or self.ratio is None:
            return None
        return self.ratio <= self.target if self.at_most else self.ratio >= self.target


def against(what: str, ours: float, other: float, name: str, **more: Any) -> Line:
    """A line whose ratio is ours to the other's."""
    return Line(what, ours, other, name, ours / other if other else None, **more)


def alone(what: str, ours: float, *, at_most: float | None = None, digits: int = 0) -> Line:
    """A figure of ours with nothing beside it, whose own value must stay under `at_most`."""
    return Line(
        what, ours, None, "", ours if at_most is not None else None, at_most, at_most=True, digits=digits
    )


def table(lines: list[Line]) -> str:
    """The lines as a Markdown table."""
    rows = ["| what | hemra | other | | ratio | target |", "|---|---:|---:|---|---:|---|"]
    for line in lines:
        target = "" if line.target is None else f"{'<=' if line.at_most else '>='} {line.target:g}"
        mark = {None: "", True: " met", False: " **missed**"}[line.met]
        other = "—" if line.other is None else f"{line.other:,.{line.digits}f}"
        ratio = "—" if line.ratio is None or line.other is None else f"{line.ratio:.2f}"
        rows.append(
            f"| {line.what} | {line.ours:,.{line.digits}f} | {other} | {line.other_name} | {ratio} | {target}{mark} |"
        )
    return "\n".join(rows)


def sync_times(folder: Path, count: int = 500) -> list[float]:
    """Seconds that one appended write of 500 bytes with its fdatasync takes, sorted: what every rate rests on.

    The slower it is, the more a group commit gains: far below a millisecond the processors decide.
    """
    times = []
    fd = os.open(folder / "sync", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        for _ in range(count):
            begin = time.perf_counter()
            os.write(fd, bytes(500))
            os.fdatasync(fd)
            times.append(time.perf_counter() - begin)
    finally:
        os.close(fd)
    return sorted(times)


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` (0 to 1) of `values` lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def host(folder: Path) -> str:
    """The machine in a line."""
    sync = statistics.median(sync_times(folder)) * 1000
    load = os.getloadavg()[0]
    return (
        f"{platform.platform()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, "
        f"fdatasync {sync:.2f} ms, load {load:.1f}"
    )


def printed(name: str, under: Path | None, measure: Callable[[Path], list[Line]]) -> None:
    """Print the machine and what `measure` finds in a folder of its own, which is removed again. `under`: where to
    write (null: the temporary folder)."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=under))
    try:
        print(f"{host(folder)}\n")
        print(table(measure(folder)))
    finally:
        shutil.rmtree(folder)
