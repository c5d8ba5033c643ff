"""A store: one directory with `log/` (streams), `blobs/` and `cache/` (disposable).

`store.json` names the layout's version and gives the store an id; a store of a newer version is refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import uuid
from pathlib import Path

from eventlog import clock
from eventlog.blobs import BlobStore
from eventlog.disk import fsync_dir, make_dir, replacing
from eventlog.errors import StoreError, StreamNotFound

STORE_SCHEMA = "hemra.store/1"
CATALOG = "catalog"
_STREAM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Store:
    """An opened store. Cheap: nothing is read but `store.json`."""

    def __init__(self, path: Path, store_id: str) -> None:
        self.path = path
        self.id = store_id
        self.log = path / "log"
        self.cache = path / "cache"
        self.blobs = BlobStore(path / "blobs")

    @classmethod
    def open(cls, path: Path | str, *, create: bool = False) -> Store:
        """Open the store at `path`; with `create`, make an empty one where there is none.

        Raises StoreError when it is absent (and not to be created), not a store, or of a newer version.
        """
        path = Path(path).expanduser().absolute()
        meta = path / "store.json"
        if not meta.exists():
            if not create:
                raise StoreError(
                    f"{path} is not a store (no store.json); `hemra run` makes one, or see --store"
                )
            _create(path, meta)
        elif create:
            _settle(path)
        try:
            content = json.loads(meta.read_text("utf-8"))
            schema, store_id = str(content["schema"]), str(content["id"])
        except OSError as error:
            raise StoreError(f"{meta} cannot be read: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{meta} cannot be read: {error}") from error
        if schema != STORE_SCHEMA:
            raise StoreError(
                f"{path} is a store of version {schema}; this hemra reads {STORE_SCHEMA}: upgrade hemra"
            )
        return cls(path, store_id)

    def streams(self) -> list[str]:
        """Names of all streams, sorted; run ids sort by start time."""
        if not self.log.is_dir():
            if os.path.lexists(self.log):
                raise StoreError(
                    f"{self.log} is no folder, and the streams should be in it: this is no whole store"
                )
            return []
        return sorted(p.name for p in self.log.iterdir() if p.is_dir() and _STREAM_NAME.fullmatch(p.name))

    def stream_path(self, name: str) -> Path:
        """The directory of stream `name`, whether or not it exists. Raises StreamNotFound for an impossible name."""
        if not _STREAM_NAME.fullmatch(name):
            raise StreamNotFound(f"{name!r} cannot be the name of a stream")
        return self.log / name

    def existing_stream(self, name: str) -> Path:
        """The directory of an existing stream. Raises StreamNotFound."""
        path = self.stream_path(name)
        if not path.is_dir():
            raise StreamNotFound(f"no stream {name!r} in {self.path}; `hemra log list` shows what there is")
        return path


def _create(path: Path, meta: Path) -> None:
    try:
        if path.exists() and any(p.name not in {"log", "blobs", "cache"} for p in path.iterdir()
                                 if not p.name.startswith(".")):  # fmt: skip
            raise StoreError(f"{path} is not empty and not a store; choose another folder with --store")
        for directory in (path, path / "log", path / "blobs", path / "cache"):
            make_dir(directory)
        content = {"schema": STORE_SCHEMA, "id": str(uuid.uuid4()), "created": clock.rfc3339(clock.wall_ns())}
        with replacing(meta) as file:
            file.write(json.dumps(content).encode() + b"\n")
    except OSError as error:
        raise StoreError(f"cannot make a store at {path}: {error.strerror or error}") from error


def _settle(path: Path) -> None:
    """Make sure of a store's name: its maker may have died before it was durable. Where we only read, others do."""
    try:
        with contextlib.suppress(PermissionError):
            fsync_dir(path)
    except OSError as error:
        raise StoreError(f"cannot write to the store at {path}: {error.strerror or error}") from error
