"""Hands a stream's events to an in-memory DuckDB, and lets nobody use them before they were counted.

DuckDB reads a cut file as fewer rows without a word, so it is never the check: the anchor says how many
events there are, and the rows read must be exactly those, once each. Sealed segments are read by DuckDB
itself, with an explicit column list and no inference; everything else (the live segment, a torn tail) goes
through the log's reader up to the durable mark.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from eventlog import anchor as anchors
from eventlog.reader import read_content, read_lines, stream_state
from eventlog.segments import is_sealed, trailer_of, visible_segments
from eventlog.store import Store
from projections.errors import NotProjected, NotTrusted
from projections.scratch import Scratch, scratch
from projections.settle import settle

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

COLUMNS = {
    "seq": "BIGINT", "id": "VARCHAR", "time": "VARCHAR", "mono": "BIGINT", "type": "VARCHAR",
    "v": "INTEGER", "source": "VARCHAR", "trial": "VARCHAR", "data": "JSON",
}  # fmt: skip
MEMORY_LIMIT = "1GB"
THREADS = 2
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A stream up to its durable mark. `link` is the hex link of the last unit: it stands for the content.

    `live`: a writer held the stream when the snapshot was taken.
    """

    stream: str
    last: int
    link: str
    live: bool


def snapshot(store: Store, stream: str) -> Snapshot:
    """The durable state of a stream now. Raises StreamNotFound, DamageError."""
    live = stream_state(store, stream).live
    mark = anchors.load(store.existing_stream(stream))
    if mark is not None:
        return Snapshot(stream, mark.last, mark.link.hex(), live)
    last = 0
    for content in read_content(store, stream):
        last = content.first + content.events - 1
    return Snapshot(stream, last, "", live)


@contextlib.contextmanager
def opened(store: Store, at: Snapshot, types: Sequence[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with table `events` (seq, time, mono, type, v, trial, data) and `snapshot` (last, live).

    Every event of the stream has a row; `data` and `time` are null where the type is not in `types`.
    Raises NotTrusted when the rows are not exactly the events 1 to `at.last`; DamageError from the log; NotProjected
    for whatever DuckDB cannot do with them, also in the body.
    """
    import duckdb

    with scratch(store) as room:
        connection = _connect(room)
        try:
            interruptible(connection, lambda: _load(connection, store, at, types, room))
            yield connection
        except duckdb.Error as error:
            cause = (str(error).splitlines() or [type(error).__name__])[0]
            raise NotProjected(
                f"no tables can be made of {at.stream}: {cause}; `hemra tail {at.stream}` still reads its events"
            ) from error
        finally:
            connection.close()


def interruptible(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """Run `work` in a worker thread, so that Ctrl-C stops the query at once instead of after it."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "duckdb") as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


def _connect(room: Scratch) -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(
        ":memory:",
        config={
            "memory_limit": MEMORY_LIMIT,
            "temp_directory": room.spill,
            "threads": str(min(THREADS, os.cpu_count() or 1)),
            # A table name must never pick up a Python variable of the caller.
            "python_enable_replacements": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )


def _load(
    connection: duckdb.DuckDBPyConnection, store: Store, at: Snapshot, types: Sequence[str], room: Scratch
) -> None:
    import duckdb

    for attempt in range(1, _ATTEMPTS + 1):
        try:
            sealed, plain = _files(store, at, room)
            _read(connection, sealed, plain, types)
            _check(connection, at)
            break
        except (duckdb.Error, NotTrusted, FileNotFoundError) as error:
            # A recorder may have sealed and merged segments between listing and reading: look again.
            if attempt == _ATTEMPTS:
                raise _not_trusted(at, error) from error
    settle(connection, store)
    connection.execute(
        "CREATE TABLE snapshot AS SELECT ?::BIGINT AS last, ?::BOOLEAN AS live", [at.last, at.live]
    )


def _not_trusted(at: Snapshot, error: Exception) -> NotTrusted:
    cause = str(error).splitlines()[0]
    return NotTrusted(
        f"the log of {at.stream} cannot be read whole: {cause}; see `hemra log verify {at.stream}`"
    )


def _files(store: Store, at: Snapshot, room: Scratch) -> tuple[list[str], list[str]]:
    """Sealed segments that DuckDB may read itself, and an NDJSON file of all events that stand elsewhere."""
    sealed: list[str] = []
    ranges: list[tuple[int, int]] = []
    position = 1
    for segment in visible_segments(store.existing_stream(at.stream)):
        if not is_sealed(segment):
            continue
        trailer = trailer_of(segment)
        if trailer.last > at.last:
            break
        if segment.first > position:
            ranges.append((position, segment.first - 1))
        sealed.append(str(segment.path))
        position = trailer.last + 1
    if position <= at.last:
        ranges.append((position, at.last))
    if not ranges:
        return sealed, []

    def lines() -> Iterator[bytes]:
        for first, last in ranges:
            yield from (line + b"\n" for line in read_lines(store, at.stream, start=first, stop=last))

    return sealed, [room.file("unsealed.ndjson", lines)]


def _read(
    connection: duckdb.DuckDBPyConnection, sealed: list[str], plain: list[str], types: Sequence[str]
) -> None:
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in COLUMNS.items())
    parts, parameters = [], []
    for files, compression in ((sealed, "zstd"), (plain, "none")):
        if files:
            parts.append(
                f"SELECT * FROM read_ndjson(?, format = 'newline_delimited', compression = '{compression}', "
                f"columns = {{{columns}}})"
            )
            parameters.append(files)
    if not parts:
        names = ", ".join(f"NULL::{kind} AS {name}" for name, kind in COLUMNS.items())
        parts.append(f"SELECT {names} WHERE false")
    connection.execute(
        "CREATE OR REPLACE TABLE events AS SELECT seq, mono, type, v, trial, "
        "CASE WHEN list_contains(?, type) THEN time END AS time, "
        "CASE WHEN list_contains(?, type) THEN data END AS data "
        f"FROM ({' UNION ALL '.join(parts)})",
        [list(types), list(types), *parameters],
    )


def _check(connection: duckdb.DuckDBPyConnection, at: Snapshot) -> None:
    """The rows must be the events 1 to `at.last`, each once, each with a type."""
    found = connection.execute(
        "SELECT count(*), count(DISTINCT seq), count(type), coalesce(min(seq), 1), coalesce(max(seq), 0) "
        "FROM events"
    ).fetchone()
    if found != (at.last, at.last, at.last, 1, at.last):
        count, _, _, low, high = found or (0, 0, 0, 0, 0)
        raise NotTrusted(
            f"{count} rows with seq {low} to {high} were read where the log holds {at.last} events"
        )
