"""Write a golden log of this version: a small store with every event type, sealed and live segments, a blob.

    python tools/golden_log.py tests/golden/NAME

A golden log is written once, when a version is released, and read by the tests for ever after; it is never
written again. Run this only for a new version's folder.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import msgspec

from eventlog.reader import read_lines
from eventlog.schemas import SCHEMAS, EventData
from eventlog.store import Store
from eventlog.stream import StreamWriter

BLOB = b"an artifact"
ODD = ["cut \ud83d", b"\xff\x00", float("nan"), 2**64, {"$blob": "forged"}, "x" * 70_000]


def sample(annotation: Any, name: str) -> Any:
    """A value of the given msgspec type, so that every field of every schema is seen once."""
    match annotation:
        case msgspec.inspect.UnionType(types=types):
            return sample(types[0], name)
        case msgspec.inspect.StrType():
            return f"sha256:{hashlib.sha256(BLOB).hexdigest()}" if name == "blob" else f"{name} é"
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.IntType():
            return len(name)
        case msgspec.inspect.FloatType():
            return len(name) + 0.5
        case msgspec.inspect.ListType(item_type=item):
            return [sample(item, name)]
        case msgspec.inspect.DictType(value_type=value):
            return {name: sample(value, name)}
        case msgspec.inspect.StructType(cls=cls, fields=fields):
            return cls(**{f.name: sample(f.type, f.name) for f in fields})
        case _:
            return {"any": name}


def events() -> list[EventData]:
    """One event of every type, newest version, in the order of their names."""
    made = [sample(msgspec.inspect.type_info(cls), "") for _, cls in sorted(SCHEMAS.items())]
    note = SCHEMAS["note.recorded", 1]
    return [*made, *(note(level="info", code="odd", text="odd value", details=value) for value in ODD)]


def main(target: Path) -> None:
    """Write the store and `expected.ndjson`, the lines that it must give back."""
    if target.exists():
        raise SystemExit(f"{target} exists: a golden log is never written again")
    store = Store.open(target / "store", create=True)
    store.blobs.put(BLOB)
    for index, event in enumerate(events()):
        if index == 0:
            writer = StreamWriter.open(store, "golden", create=True)
        elif index == len(SCHEMAS) // 2:
            writer.finish()
            writer = StreamWriter.open(store, "golden")
        writer.append(event, trial="0001" if event.type.startswith("trial.") else None, source="golden")
    writer.close()
    with (target / "expected.ndjson").open("wb") as out:
        out.writelines(line + b"\n" for line in read_lines(store, "golden"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
