"""Built projections on disk: `cache/runs/<run>/<key>/`, disposable, equal every time they are rebuilt.

The key is a digest over the stream's last seq, the link of its last unit, whether it is being written, and
the projection code and SQL. A folder is written aside and renamed; `manifest.json` in it has the SHA-256 of
every file. What does not match is thrown away and rebuilt, never trusted. A cache that cannot be written
(a read-only store, a full disk) only costs time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eventlog.store import Store
from projections import source, sql
from projections.errors import RunNotFound
from projections.export import canonical_json, csv_bytes, ndjson
from projections.report import TABLES, make_report

SCHEMA = "hemra.cache/1"
REPORT, TRIALS, TRIALS_CSV = "report.json", "trials.ndjson", "trials.csv"
_FILES = (REPORT, TRIALS, TRIALS_CSV)


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
    def digests(self) -> dict[str, str]:
        """SHA-256 (hex) of each file."""
        return {name: hashlib.sha256(content).hexdigest() for name, content in sorted(self.files.items())}


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What `replay` found: digests of the cached files before, and of those rebuilt from events alone."""

    identical: bool
    before: dict[str, str]
    after: dict[str, str]
    report: dict[str, Any]
    events: int


def load(store: Store, run: str) -> Built:
    """The run's projections: from the cache if it holds exactly these, else built from the events.

    Raises StreamNotFound, RunNotFound (no plan in the stream), NotTrusted, DamageError.
    """
    at = source.snapshot(store, run)
    return _load(store, at)


def _load(store: Store, at: source.Snapshot) -> Built:
    folder = _folder(store, at)
    cached = _read(folder)
    if cached is not None:
        return cached
    built = build(store, at)
    _write(folder, built)
    return built


def build(store: Store, at: source.Snapshot) -> Built:
    """Project the events up to `at` into canonical bytes; touches no cached projection."""
    with source.opened(store, at, sql.types_read(TABLES)) as connection:

        def work() -> Built:
            if not sql.rows(connection, "SELECT 1 FROM events WHERE type = 'run.planned' LIMIT 1"):
                raise RunNotFound(
                    f"{at.stream} holds no plan: it is not a run, or it died before it was planned"
                )
            sql.build(connection, TABLES)
            trials = sql.rows(connection, "SELECT * FROM trials")
            report = make_report(connection, trials)
            return Built(
                {REPORT: canonical_json(report), TRIALS: ndjson(trials), TRIALS_CSV: csv_bytes(trials)}
            )

        return source.interruptible(connection, work)


def replay(store: Store, run: str) -> ReplayResult:
    """Rebuild the projections from events alone, compare the bytes with the cached ones, and put them in their place.

    What is cached stays when it cannot be rebuilt: it may be the last that is left of a damaged run. Both sides see
    the same snapshot, so a run that is being written can be replayed too.
    """
    at = source.snapshot(store, run)
    before = _load(store, at)
    after = build(store, at)
    discard(store, run)
    _write(_folder(store, at), after)
    return ReplayResult(before.files == after.files, before.digests, after.digests, after.report, at.last)


def discard(store: Store, run: str) -> None:
    """Remove every cached projection of `run`."""
    shutil.rmtree(store.cache / "runs" / run, ignore_errors=True)


def _folder(store: Store, at: source.Snapshot) -> Path:
    key = json.dumps([SCHEMA, at.last, at.link, at.live, sql.code_digest()])
    return store.cache / "runs" / at.stream / hashlib.sha256(key.encode()).hexdigest()[:32]


def _read(folder: Path) -> Built | None:
    """The files of `folder`, or None unless every one of them is as its manifest says."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        if manifest["schema"] != SCHEMA or set(manifest["files"]) != set(_FILES):
            return None
        built = Built({name: (folder / name).read_bytes() for name in _FILES})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return built if built.digests == manifest["files"] else None


def _write(folder: Path, built: Built) -> None:
    """Put `built` in place of whatever the run's cache holds. A cache that cannot be written is no error."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temp = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    except OSError:
        return
    try:
        for name, content in built.files.items():
            (temp / name).write_bytes(content)
        manifest = {"schema": SCHEMA, "files": built.digests}
        (temp / "manifest.json").write_bytes(canonical_json(manifest))
        for other in folder.parent.iterdir():
            if other != temp and not other.name.startswith(".new-"):
                shutil.rmtree(other, ignore_errors=True)
        os.replace(temp, folder)
    except OSError:
        shutil.rmtree(temp, ignore_errors=True)
