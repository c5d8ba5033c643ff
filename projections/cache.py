"""Built projections on disk: `cache/runs/<run>/<key>/`, disposable, equal every time they are rebuilt.

The key is a digest over the stream's last seq, the link of its last unit, whether it is being written, and
the projection code and SQL. A folder is written aside and renamed; `manifest.json` in it has the SHA-256 of
every file, and name, size and time of change of each segment that was read: where these differ the log is read
again, so that what was damaged since is not reported as sound. What does not match is thrown away and rebuilt,
never trusted. A cache that cannot be written (a read-only store, a full disk) only costs time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eventlog.manifest import NAME as MANIFEST
from eventlog.segments import SUFFIX
from eventlog.store import Store
from projections import source, sql
from projections.errors import RunNotFound
from projections.export import canonical_json, csv_bytes, ndjson
from projections.report import TABLES, make_report

SCHEMA = "hemra.cache/1"
REPORT, TRIALS, TRIALS_CSV = "report.json", "trials.ndjson", "trials.csv"
CONDITIONS = "conditions.ndjson"
_FILES = (REPORT, TRIALS, TRIALS_CSV, CONDITIONS)
#: What is built: a report's tables, and what a comparison needs besides.
_TABLES = (*TABLES, "trial_conditions")
#: A run of at most so many events is projected by one thread: several only wait for each other.
SMALL = 20_000
#: Name, size and time of change (ns) of each file that the events are read from.
Files = list[list[str | int]]


@dataclass(frozen=True, slots=True)
class Built:
    """The canonical bytes of a run's projections, by file name."""

    files: dict[str, bytes]

    @property
    def report(self) -> dict[str, Any]:
        """The report as data."""
        report: dict[str, Any] = json.loads(self.files[REPORT])
        return report

    @property
    def trials(self) -> list[dict[str, Any]]:
        """The trial table as data."""
        return [json.loads(line) for line in self.files[TRIALS].splitlines()]

    @property
    def conditions(self) -> list[dict[str, Any]]:
        """What each trial that was started ran under (columns: metrics/trial_conditions.sql)."""
        return [json.loads(line) for line in self.files[CONDITIONS].splitlines()]

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 (hex) of each file."""
        return {name: hashlib.sha256(content).hexdigest() for name, content in sorted(self.files.items())}


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What `replay` found: digests of the cached files before, and of those rebuilt from events alone.

    Where nothing was cached of these events there was nothing to compare: `before` is empty, `identical` is null.
    """

    identical: bool | None
    before: dict[str, str]
    after: dict[str, str]
    report: dict[str, Any]
    events: int


def load(store: Store, run: str) -> Built:
    """The run's projections: from the cache if it holds exactly these, else built from the events.

    Raises StreamNotFound, RunNotFound (no plan in the stream), NotTrusted, DamageError.
    """
    looked = look(store, run)
    return looked.built or project(store, looked)


@dataclass(frozen=True, slots=True)
class Looked:
    """A run as it stands now. `built` is what the cache has of exactly that, null where it has to be projected."""

    at: source.Snapshot
    files: Files
    built: Built | None


def look(store: Store, run: str) -> Looked:
    """Look at the log's end, at its files' times, and into the cache; no event is read. Raises as `load`."""
    at = source.snapshot(store, run)
    files = _files(store, run)
    return Looked(at, files, _read(_folder(store, at), files))


def project(store: Store, looked: Looked) -> Built:
    """Build what was not cached, and keep it. Raises as `load`."""
    built = build(store, looked.at)
    _write(_folder(store, looked.at), built, looked.files)
    return built


def remembered(store: Store, run: str) -> Built | None:
    """What was last built of the run and is still cached, of whatever state of its log: good for its name only."""
    try:
        folders = sorted((store.cache / "runs" / run).iterdir())
    except OSError:
        return None
    return next((built for folder in folders if (built := _read(folder)) is not None), None)


def build(store: Store, at: source.Snapshot) -> Built:
    """Project the events up to `at` into canonical bytes; touches no cached projection."""
    with source.opened(store, at, sql.types_read(_TABLES)) as connection:

        def work() -> Built:
            if at.last <= SMALL:
                connection.execute("SET threads = 1")
            if not sql.rows(connection, "SELECT 1 FROM events WHERE type = 'run.planned' LIMIT 1"):
                raise RunNotFound(
                    f"{at.stream} holds no plan: it is not a run, or it died before it was planned"
                )
            sql.build(connection, _TABLES)
            trials = sql.rows(connection, "SELECT * FROM trials")
            report = make_report(connection, trials)
            conditions = sql.rows(connection, "SELECT * FROM trial_conditions")
            return Built(
                {
                    REPORT: canonical_json(report),
                    TRIALS: ndjson(trials),
                    TRIALS_CSV: csv_bytes(trials),
                    CONDITIONS: ndjson(conditions),
                }
            )

        return source.interruptible(connection, work)


def replay(store: Store, run: str) -> ReplayResult:
    """Rebuild the projections from events alone, compare the bytes with the cached ones, and put them in their place.

    Compared is what was cached of these events by this code, also where their files were touched since. It stays
    when it cannot be rebuilt: it may be the last that is left of a damaged run. Both sides see the same snapshot, so
    a run that is being written can be replayed too.
    """
    at = source.snapshot(store, run)
    files, before = _files(store, run), _read(_folder(store, at))
    after = build(store, at)
    discard(store, run)
    _write(_folder(store, at), after, files)
    identical = None if before is None else before.files == after.files
    return ReplayResult(identical, before.digests if before else {}, after.digests, after.report, at.last)


def discard(store: Store, run: str) -> None:
    """Remove every cached projection of `run`."""
    shutil.rmtree(store.cache / "runs" / run, ignore_errors=True)


def _folder(store: Store, at: source.Snapshot) -> Path:
    key = json.dumps([SCHEMA, at.last, at.link, at.live, sql.code_digest()])
    return store.cache / "runs" / at.stream / hashlib.sha256(key.encode()).hexdigest()[:32]


def _files(store: Store, run: str) -> Files:
    """The segments and the manifest of a stream, sorted by name."""
    with os.scandir(store.existing_stream(run)) as entries:
        return sorted(_states(entry for entry in entries if entry.name.endswith((SUFFIX, MANIFEST))))


def _states(entries: Iterator[os.DirEntry[str]]) -> Iterator[list[str | int]]:
    for entry in entries:
        with contextlib.suppress(FileNotFoundError):  # merged into another meanwhile: the next look sees that
            status = entry.stat()
            yield [entry.name, status.st_size, status.st_mtime_ns]


def _read(folder: Path, files: Files | None = None) -> Built | None:
    """The files of `folder`, or None unless every one of them is as its manifest says, and the log's `files` (None:
    whichever) are those that it was built from."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        if manifest["schema"] != SCHEMA or set(manifest["files"]) != set(_FILES):
            return None
        if files is not None and manifest["log"] != files:
            return None
        built = Built({name: (folder / name).read_bytes() for name in _FILES})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return built if built.digests == manifest["files"] else None


def _write(folder: Path, built: Built, files: Files) -> None:
    """Put `built` in place of whatever the run's cache holds. A cache that cannot be written is no error."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temp = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    except OSError:
        return
    try:
        for name, content in built.files.items():
            (temp / name).write_bytes(content)
        manifest = {"schema": SCHEMA, "files": built.digests, "log": files}
        (temp / "manifest.json").write_bytes(canonical_json(manifest))
        for other in folder.parent.iterdir():
            if other != temp and not other.name.startswith(".new-"):
                shutil.rmtree(other, ignore_errors=True)
        os.replace(temp, folder)
    except OSError:
        shutil.rmtree(temp, ignore_errors=True)
