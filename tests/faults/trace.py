"""What was done to a directory, in order: the record that `filelayer` makes and `powercut` takes apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: The number of the directory itself.
ROOT = 0
#: Kinds of operations. `sync_failed` is a sync that raised: what it should have written is in doubt for ever.
DATA, NAMES, SYNCS = ("write", "truncate"), ("create", "rename", "unlink"), ("sync", "sync_failed")


class Op(NamedTuple):
    """One recorded operation. `node` is the file (for a sync: file or folder) it is about.

    write: `offset`, `data`. truncate: `offset` is the new size. create: `node` appears in folder `parent` as
    `name`. rename: it goes from there to `parent2`/`name2`. unlink: it goes. note: `name` and `data` say what a
    driver wants to have in the order of things (what was sent, what was acknowledged).
    """

    kind: str
    node: int = -1
    offset: int = 0
    data: Any = b""
    parent: int = -1
    name: str = ""
    parent2: int = -1
    name2: str = ""
    site: str = ""


@dataclass
class Trace:
    """What was there at first (`files`, `folders`, `names`), and what happened."""

    files: dict[int, bytes] = field(default_factory=dict)
    folders: set[int] = field(default_factory=lambda: {ROOT})
    names: dict[tuple[int, str], int] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)


class Killed(BaseException):
    """The process is dead: it gets to do nothing more, not even to clean up."""


class Short(Exception):
    """Raised by a fault in a write: only so many bytes of it are taken."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size
