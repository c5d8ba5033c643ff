"""The log's own errors.

    LogError
    |- StoreError            the store directory is absent, of a newer version, or not ours
    |- StreamNotFound        no such stream in this store
    |- StreamBusy            another process writes this stream
    |- DamageError           bytes below the anchor are not what was written (file, offset, cause)
    |- RecorderUnavailable   no recorder answered in time
    |- RecorderRefused       the recorder answered that it cannot store this (disk full, bad input)
    |- BadEvent              an event that cannot be written as asked
    |- BadFilter             a --since or filter value that says nothing
    |- BundleError           a bundle that must not be imported
    |  `- NotABundle         a file that is none
    `- RepairError           a repaired copy that cannot be made

Each message names the thing and, where there is one, the remedy. Nothing else leaves this package
on bad input.
"""

from __future__ import annotations

from pathlib import Path


class LogError(Exception):
    """Base of every error that eventlog raises on purpose."""


class StoreError(LogError):
    """The store directory cannot be used."""


class StreamNotFound(LogError):
    """No such stream in the store."""


class StreamBusy(LogError):
    """Another process holds the stream's lock."""


class DamageError(LogError):
    """Bytes below the durable mark are wrong: found, named, and never removed."""

    def __init__(self, path: Path, offset: int, cause: str) -> None:
        super().__init__(f"{path}: damaged at byte {offset}: {cause}")
        self.path = path
        self.offset = offset
        self.cause = cause


class RecorderUnavailable(LogError):
    """No recorder answered in time."""


class RecorderRefused(LogError):
    """The recorder could not store what was sent; nothing of it was acknowledged."""


class BadEvent(LogError):
    """An event that cannot be encoded or does not fit its schema."""


class BadFilter(LogError):
    """A filter value that cannot be understood."""


class BundleError(LogError):
    """A bundle that is damaged, hostile or of another version."""


class NotABundle(BundleError):
    """A file that does not begin as a bundle does."""


class RepairError(LogError):
    """A repaired copy that cannot be made."""
