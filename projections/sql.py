"""The SQL files: what each reads and needs, and building them in order in a DuckDB connection.

A file `tables/NAME.sql` or `metrics/NAME.sql` is one SELECT that makes table NAME. Its head says
`-- reads:` the event types whose data it uses, `-- counts:` types of which it uses the envelope only, and
`-- needs:` the tables it is built from. `events` and `snapshot` are made by `projections.source`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    import duckdb

_HERE = Path(__file__).parent
_FOLDERS = ("tables", "metrics")


@dataclass(frozen=True, slots=True)
class Projection:
    """One SQL file. `reads` and `counts` are event types, `needs` other projections."""

    name: str
    text: str
    reads: tuple[str, ...]
    counts: tuple[str, ...]
    needs: tuple[str, ...]


@cache
def projections() -> dict[str, Projection]:
    """All projections by name."""
    found = {}
    for folder in _FOLDERS:
        for path in sorted((_HERE / folder).glob("*.sql")):
            text = path.read_text("utf-8")
            found[path.stem] = Projection(
                path.stem, text, _listed(text, "reads"), _listed(text, "counts"), _listed(text, "needs")
            )
    return found


def _listed(text: str, key: str) -> tuple[str, ...]:
    lines = re.findall(rf"^-- {key}: (.+)$", text, re.MULTILINE)
    return tuple(name.strip() for line in lines for name in line.rstrip(",").split(","))


def in_order(names: Iterable[str]) -> list[Projection]:
    """The projections `names` and all they need, each after what it needs. KeyError for an unknown name."""
    ordered: dict[str, Projection] = {}

    def visit(name: str) -> None:
        if name not in ordered:
            projection = projections()[name]
            for needed in projection.needs:
                visit(needed)
            ordered[name] = projection

    for name in names:
        visit(name)
    return list(ordered.values())


def types_read(names: Iterable[str]) -> list[str]:
    """Event types whose data the projections `names` use, sorted."""
    return sorted({kind for projection in in_order(names) for kind in projection.reads})


def build(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Make the tables `names`, and those they need, in a connection that has `events` and `snapshot`."""
    for projection in in_order(names):
        connection.execute(f'CREATE TABLE "{projection.name}" AS\n{projection.text}')


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """The result of `query` as one dict a row, columns in order; JSON columns are parsed."""
    cursor = connection.execute(query)
    columns = [(str(c[0]), str(c[1]) == "JSON") for c in cursor.description or []]
    return [
        {
            name: orjson.loads(value) if is_json and value is not None else value
            for (name, is_json), value in zip(columns, row, strict=True)
        }
        for row in cursor.fetchall()
    ]


@cache
def code_digest() -> str:
    """SHA-256 over what a projection's bytes depend on besides events: SQL, code, event schemas, DuckDB."""
    from importlib.metadata import version

    from eventlog import schemas

    running = hashlib.sha256(version("duckdb").encode())
    for root in (_HERE, Path(schemas.__file__).parent):
        for path in sorted(p for p in root.rglob("*") if p.suffix in {".sql", ".py"}):
            content = path.read_bytes()
            running.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
            running.update(content)
    return running.hexdigest()
