"""What a disk may hold after a power cut, worked out from a recorded trace.

The fault model
---------------
It is deliberately weaker than any one file system, as in ALICE (Pillai et al., OSDI '14): what POSIX does not
promise, is not promised here. At a cut after operation `at`:

1. A successful `fsync` or `fdatasync` of a file makes every change of its content and size before it durable.
   Nothing else does: not closing, not renaming, not a sync of another file or of the folder.
2. A successful `fsync` of a folder makes durable what happened to names in it before: creations, removals, and
   renames *into* it. A sync of a file says nothing about its name. An unsynced `mkdir` takes all below it along.
3. Everything else is *pending*. Each pending operation is kept or lost on its own, in any combination: whatever
   the order they were made in, in one file, between files, between a file and its name, between two names. What is
   kept is applied in its order. A rename is whole or absent, but may be kept where the creation before it is lost.
4. A pending write may be torn: a beginning of it at any byte (`head`); the size grown but the rest zero (`zeros`) or
   whatever lay on the disk (`junk`); the end there and the beginning not (`tail`); any subset of its 512-byte
   sectors or 4096-byte pages (`sector`, `page`). This also holds for overwriting: the rest is then what stood there.
5. A failed sync of a file leaves everything that was pending in it in doubt for ever: no later sync makes that
   durable (Linux marks such pages clean). Of a folder it changes nothing.
6. What was synced stays. A disk that lies about syncs, or rots, is not simulated here (damage is: see the tests of
   every byte).

Not varied: times and modes of files, and the content of lock files (only the process id in it for people to read).
A killed process is the special case in which all is kept; its pending operations stay pending while the next
process works, so a cut may still take them: that is how "it exists, so it is durable" is found out.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.faults.trace import DATA, NAMES, ROOT, Op, Trace

LOCKS = {"lock", ".import.lock"}
SECTOR, PAGE = 512, 4096
KEPT, LOST = ("kept", 0), ("lost", 0)
TEARS = ("head", "zeros", "junk", "tail", "sector", "page")

Choice = tuple[str, int]
#: Path below the root -> content; None for a folder.
Tree = dict[str, bytes | None]


class Cut(NamedTuple):
    """A power cut after the first `at` operations; `choices` for pending ones that are not simply kept."""

    at: int
    choices: tuple[tuple[int, Choice], ...] = ()

    def __str__(self) -> str:
        return f"{self.at}" + "".join(f" {index}={kind}:{n}" for index, (kind, n) in self.choices)

    @classmethod
    def parse(cls, text: str) -> Cut:
        """The cut that `str` wrote."""
        at, *rest = text.split()
        parts = [part.replace("=", ":").split(":") for part in rest]
        return cls(int(at), tuple((int(index), (kind, int(n))) for index, kind, n in parts))


class Disk:
    """All disks that a trace can leave behind."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._locks = {n for (_, name), n in trace.names.items() if name in LOCKS}
        self._locks |= {op.node for op in trace.ops if op.kind == "create" and op.name in LOCKS}
        made = {op.node for op in trace.ops if op.kind == "create" and op.data == "folder"}
        self._folders = trace.folders | made
        self._by_node: dict[int, list[int]] = {}
        for index, op in enumerate(trace.ops):
            if op.kind in DATA:
                self._by_node.setdefault(op.node, []).append(index)
        self._safe_from = [self._first_sync(index) for index in range(len(trace.ops))]
        self._contents: dict[tuple[int, tuple[tuple[int, Choice], ...]], bytes] = {}

    def _first_sync(self, index: int) -> int:
        """Number of operations after which operation `index` is durable; beyond the trace where it never is."""
        op = self.trace.ops[index]
        if op.kind not in (*DATA, *NAMES) or op.node in self._locks:
            return index
        about = op.node if op.kind in DATA else op.parent2 if op.kind == "rename" else op.parent
        for later in range(index + 1, len(self.trace.ops)):
            sync = self.trace.ops[later]
            if sync.node == about and sync.kind == "sync":
                return later + 1
            if sync.node == about and sync.kind == "sync_failed" and op.kind in DATA:
                break
        return len(self.trace.ops) + 1

    def pending(self, at: int) -> list[int]:
        """Operations among the first `at` of which nobody knows whether a cut leaves them."""
        return [index for index in range(at) if self._safe_from[index] > at]

    def build(self, cut: Cut) -> Tree:
        """What is on the disk after the cut."""
        choices = dict(cut.choices)
        names = self._named(cut.at, choices)
        children: dict[int, list[tuple[str, int]]] = {}
        for (parent, name), node in names.items():
            children.setdefault(parent, []).append((name, node))
        tree: Tree = {}
        pending = [("", ROOT)]
        while pending:
            above, parent = pending.pop()
            for name, node in children.get(parent, ()):
                path = f"{above}/{name}" if above else name
                if node in self._folders:
                    tree[path] = None
                    pending.append((path, node))
                else:
                    tree[path] = self._content(node, cut.at, choices)
        return tree

    def _named(self, at: int, choices: dict[int, Choice]) -> dict[tuple[int, str], int]:
        names = dict(self.trace.names)
        for index, op in enumerate(self.trace.ops[:at]):
            if op.kind not in NAMES or choices.get(index, KEPT) == LOST:
                continue
            place = op.parent, op.name
            if op.kind == "create":
                names[place] = op.node
                continue
            if names.get(place) == op.node:
                del names[place]
            if op.kind == "rename":
                names[op.parent2, op.name2] = op.node
        return names

    def _content(self, node: int, at: int, choices: dict[int, Choice]) -> bytes:
        done = tuple((i, choices.get(i, KEPT)) for i in self._by_node.get(node, ()) if i < at)
        known = self._contents.get((node, done))
        if known is None:
            if len(self._contents) > 20_000:
                self._contents.clear()
            content = bytearray(self.trace.files.get(node, b""))
            for index, choice in done:
                _apply(content, self.trace.ops[index], choice)
            known = self._contents[node, done] = bytes(content)
        return known


def _apply(content: bytearray, op: Op, choice: Choice) -> None:
    kind, number = choice
    if kind == "lost":
        return
    if op.kind == "truncate":
        size = op.offset
        del content[size:]
        content.extend(bytes(size - len(content)))
        return
    before, old_size = bytes(content[op.offset :]), len(content)
    if old_size < op.offset:
        content.extend(bytes(op.offset - old_size))
    content[op.offset : op.offset + len(op.data)] = _torn(op, kind, number, before)


def _torn(op: Op, kind: str, number: int, before: bytes) -> bytes:
    """What stands in the place of a write of which a part is there; `before` is what stood from its offset on."""
    data: bytes = op.data
    under = before[: len(data)].ljust(len(data), b"\0")
    if kind == "kept":
        return data
    if kind == "head":
        return data[:number] + before[number : len(data)]
    if kind == "zeros":
        return data[:number] + under[number:]
    if kind == "tail":
        return under[:number] + data[number:]
    rng = random.Random(f"{number}/{op.offset}/{len(data)}")
    if kind == "junk":
        return data[:number] + rng.randbytes(len(data) - number)
    size = SECTOR if kind == "sector" else PAGE
    out, start = bytearray(under), 0
    while start < len(data):
        end = min(len(data), start + size - (op.offset + start) % size)
        if rng.random() < 0.5:
            out[start:end] = data[start:end]
        start = end
    return bytes(out)


def digest_of(tree: Tree) -> bytes:
    """A digest of everything that matters in a tree."""
    running = hashlib.blake2b(digest_size=16)
    for path in sorted(tree):
        content = tree[path]
        if path.rpartition("/")[2] in LOCKS:
            continue
        running.update(path.encode() + b"\0")
        running.update(b"/" if content is None else hashlib.blake2b(content, digest_size=16).digest())
    return running.digest()


def lay_out(tree: Tree, directory: Path) -> None:
    """Make the tree real in an empty or absent directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for path in sorted(tree):
        content = tree[path]
        if content is None:
            (directory / path).mkdir(exist_ok=True)
        else:
            (directory / path).write_bytes(content)


def likely_cuts(disk: Disk, at: int, rng: random.Random) -> Iterator[Cut]:
    """The combinations at one point that are worth trying first, from the plainest on."""
    pending = disk.pending(at)
    lost = [(index, LOST) for index in pending]
    yield Cut(at)
    yield Cut(at, tuple(lost))
    if len(pending) <= 5:
        for size in range(1, len(pending)):
            yield from (Cut(at, chosen) for chosen in itertools.combinations(lost, size))
    else:
        for place in range(len(pending)):
            yield Cut(at, (lost[place],))
            yield Cut(at, tuple(lost[:place] + lost[place + 1 :]))
            yield Cut(at, tuple(lost[:place]))
            yield Cut(at, tuple(lost[place:]))
    data = [index for index in pending if disk.trace.ops[index].kind in DATA]
    yield Cut(at, tuple((index, LOST) for index in data))
    yield Cut(at, tuple((index, LOST) for index in pending if index not in data))
    yield from _likely_tears(disk, at, pending, rng)


def _likely_tears(disk: Disk, at: int, pending: Sequence[int], rng: random.Random) -> Iterator[Cut]:
    for index in reversed(pending):
        op = disk.trace.ops[index]
        if op.kind != "write" or not op.data:
            continue
        size = len(op.data)
        places = {
            1,
            size // 2,
            size - 1,
            *range(SECTOR, size, SECTOR),
            rng.randrange(size),
            rng.randrange(size),
        }
        others = [(i, LOST) for i in pending if i != index]
        for place in sorted(places):
            for kind in TEARS:
                yield Cut(at, ((index, (kind, place)),))
                if others:
                    yield Cut(at, tuple(sorted([*others, (index, (kind, place))])))


def every_byte(disk: Disk, at: int) -> Iterator[Cut]:
    """The newest pending write cut at each of its bytes."""
    writes = [index for index in disk.pending(at) if disk.trace.ops[index].kind == "write"]
    for index in writes[-1:]:
        for place in range(len(disk.trace.ops[index].data)):
            yield from (Cut(at, ((index, (kind, place)),)) for kind in ("head", "zeros", "junk", "tail"))


def random_cut(disk: Disk, at: int, rng: random.Random) -> Cut:
    """Any combination."""
    loss, tear = rng.random(), rng.random() * 0.5
    choices: list[tuple[int, Choice]] = []
    for index in disk.pending(at):
        op = disk.trace.ops[index]
        if op.kind == "write" and op.data and rng.random() < tear:
            choices.append((index, (rng.choice(TEARS), rng.randrange(len(op.data)))))
        elif rng.random() < loss:
            choices.append((index, LOST))
    return Cut(at, tuple(choices))
