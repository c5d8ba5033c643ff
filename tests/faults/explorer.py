"""Trying power cuts on recorded scenes: which ones, how many were distinct, and what to print when one fails."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from eventlog.segments import name_of
from tests.faults.ledger import ledger_at
from tests.faults.oracle import judge
from tests.faults.powercut import (
    LOST,
    Cut,
    Disk,
    Tree,
    digest_of,
    every_byte,
    lay_out,
    likely_cuts,
    random_cut,
)
from tests.faults.scene import Scene
from tests.faults.scenes import scene_of
from tests.faults.trace import Op

#: Digests of all rebuilt stores that were tried in this session: the number that the summary prints.
TRIED: set[bytes] = set()
#: Each of them with what was demanded of it.
_CASES: set[tuple[bytes, int]] = set()


@contextlib.contextmanager
def unsynced() -> Iterator[None]:
    """Syncs do nothing in here: for looking at rebuilt stores, whose own durability nobody asks for."""
    before = os.fsync, os.fdatasync
    os.fsync = os.fdatasync = lambda fd: None  # type: ignore[assignment]
    try:
        yield
    finally:
        os.fsync, os.fdatasync = before


def _takes_away(op: Op, segment: str) -> bool:
    """Whether recovery removes the end of the segment by this operation."""
    return "recovery._cut" in op.site and segment in (op.name2, op.name if op.kind == "unlink" else "")


class Explorer:
    """One recorded scene, and power cuts in it. `root` is an empty folder for the rebuilt stores."""

    def __init__(self, name: str, root: Path, scene: Scene | None = None) -> None:
        self.name, self.root = name, root
        self.scene = scene or scene_of(name, root)
        self.ops = self.scene.layer.trace.ops
        self.disk = Disk(self.scene.layer.trace)

    def check_complete(self) -> None:
        """The trace must explain the real folder: a change that went unrecorded would never be lost, torn or moved."""
        real = {
            str(path.relative_to(self.scene.root)): None if path.is_dir() else path.read_bytes()
            for path in self.scene.root.rglob("*")
        }
        assert self.disk.build(Cut(len(self.ops))) == real, f"{self.name} changed files behind the layer"

    def before_syncs(self) -> list[int]:
        """After how many changes to kill the process so that the most is left unsynced: just before each sync."""
        changes = [op.kind for op in self.ops if op.kind != "note"]
        return [number for number, kind in enumerate(changes) if number and kind == "sync"]

    def cuts(self, seed: int) -> list[Cut]:
        """The likely cuts while the last process was at work: what a kill leaves, then the rest as it comes."""
        rng = random.Random(seed)
        points = range(self.scene.turn, len(self.ops) + 1)
        rest = [cut for at in points for cut in likely_cuts(self.disk, at, rng)]
        rng.shuffle(rest)
        return [*(Cut(at) for at in points), *rest]

    def left_behind(self) -> Iterator[Cut]:
        """Everything that the process before had not synced is lost, or one thing of it; all the rest is there."""
        for at in range(self.scene.turn + 1, len(self.ops) + 1):
            old = [i for i in self.disk.pending(at) if i < self.scene.turn and not self._passing(self.ops[i])]
            yield Cut(at, tuple((index, LOST) for index in old))
            yield from (Cut(at, ((index, LOST),)) for index in old)

    @staticmethod
    def _passing(op: Op) -> bool:
        """Whether it only makes a temp file, which is nobody's loss."""
        return op.kind == "create" and op.name.endswith(".tmp")

    def endless(self, seed: int) -> Iterator[Cut]:
        """All likely ones, every byte of every write, then anything."""
        rng = random.Random(seed)
        yield from self.cuts(seed)
        points = range(self.scene.turn, len(self.ops) + 1)
        for at in points:
            yield from every_byte(self.disk, at)
        while True:
            yield random_cut(self.disk, rng.choice(points), rng)

    def explore(self, cuts: Iterable[Cut], at_most: int) -> int:
        """Try cuts until `at_most` stores were new; how many were. Raises AssertionError for one that fails."""
        new = 0
        for cut in cuts:
            if new >= at_most:
                break
            store = digest_of(self.disk.build(cut))
            # The same store where more was acknowledged is another case, but it is counted once.
            case = store, ledger_at(self.ops, cut.at).demands()
            if case in _CASES:
                continue
            _CASES.add(case)
            new += store not in TRIED
            TRIED.add(store)
            error = self.attempt(cut)
            if error is not None:
                raise AssertionError(self.report(self.smallest(cut), error)) from error
        return new

    def attempt(self, cut: Cut) -> Exception | None:
        """What is wrong with the store after this cut."""
        place = self.root / "rebuilt"
        tree = self.disk.build(cut)
        lay_out(tree, place)
        try:
            self._nothing_cut_is_gone(tree, cut.at)
            with unsynced():
                judge(place / "store", ledger_at(self.ops, cut.at), import_first=len(cut.choices) % 2 == 0)
        except Exception as error:  # noqa: BLE001 - whatever the product raises here is a finding
            return error
        finally:
            shutil.rmtree(place)
        return None

    def _nothing_cut_is_gone(self, tree: Tree, at: int) -> None:
        """What recovery cut off is in its copy, or where it was: at no instant in neither.

        What a writer left in this very scene was never synced: it may be in neither until recovery takes it away.
        """
        begin = self.disk.build(Cut(0))
        for copy in self.scene.root.glob("store/log/*/torn/*.bin"):
            content = copy.read_bytes()
            first, _, offset = copy.stem.partition("-")
            stream = copy.parent.parent.relative_to(self.scene.root)
            name = name_of(int(first))
            segment = tree.get(f"{stream}/{name}") or b""
            was_there = (begin.get(f"{stream}/{name}") or b"")[int(offset) :] == content
            if not was_there and not any(_takes_away(op, name) for op in self.ops[:at]):
                continue
            if tree.get(str(copy.relative_to(self.scene.root))) != content:
                assert segment[int(offset) :] == content, f"{copy.name} is neither aside nor in its segment"

    def smallest(self, cut: Cut) -> Cut:
        """The cut with all choices left out that it fails without."""
        for choice in cut.choices:
            fewer = cut._replace(choices=tuple(c for c in cut.choices if c != choice))
            if self.attempt(fewer) is not None:
                cut = fewer
        return cut

    def report(self, cut: Cut, error: Exception) -> str:
        """What failed and how to have it again."""
        chosen = dict(cut.choices)
        pending = "\n".join(
            f"    {index}: {op.kind} {op.name} {op.name2} {chosen.get(index, ('kept', 0))[0]} ({op.site})"
            for index in self.disk.pending(cut.at)
            for op in [self.ops[index]]
        )
        return (
            f"after a power cut: {type(error).__name__}: {error}\n  scene {self.name}, cut at {cut}; pending there:\n"
            f"{pending}\n  again: python -m tests.faults.rebuild '{self.name}' '{cut}' FOLDER"
        )
