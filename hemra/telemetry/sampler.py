"""Samples of what a trial's processes use: how many there are, resident memory, CPU time."""

from __future__ import annotations

from eventlog.schemas.conversation import TelemetrySampled
from hemra.telemetry.process_tree import ProcessUse, proportional_bytes, tree

SAMPLES_PER_SECOND = 5


class TreeSampler:
    """Samples the tree below `root`, the process that watches a program; `root` itself never counts."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._living: list[ProcessUse] = []
        self.peak_bytes: int | None = None
        self.cpu_ns: int | None = None

    def sample(self) -> TelemetrySampled:
        """One sample now; every value is null when nothing of the tree could be read.

        `rss_bytes` is the sum of resident sizes, so pages shared between processes count more than once.
        `cpu_ns` includes processes that have ended and were waited for.
        """
        members = tree(self._root)
        below = [use for use in members if use.pid != self._root]
        self._living = [use for use in below if not use.zombie]
        if not members:
            return TelemetrySampled(processes=None, rss_bytes=None, cpu_ns=None)
        rss = sum(use.rss_bytes for use in self._living)
        if rss:
            self.peak_bytes = max(self.peak_bytes or 0, rss)
        root_children = sum(use.children_cpu_ns for use in members if use.pid == self._root)
        self.cpu_ns = root_children + sum(use.cpu_ns + use.children_cpu_ns for use in below)
        return TelemetrySampled(
            processes=len(self._living),
            rss_bytes=rss or None,  # a process that is ending has no memory any more
            cpu_ns=self.cpu_ns,
        )

    @property
    def pids(self) -> list[int]:
        """Pids that lived at the last sample."""
        return [use.pid for use in self._living]

    def shared_once_bytes(self) -> int | None:
        """Memory at the last sample with shared pages counted once, or None where that cannot be read."""
        return proportional_bytes(self.pids)
