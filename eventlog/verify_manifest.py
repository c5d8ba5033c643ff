"""Whether a stream's manifest is what its sealed segments say, and chained."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from eventlog import anchor as anchors
from eventlog import manifest
from eventlog.lock import NAME as LOCK
from eventlog.lock import is_held
from eventlog.manifest import Manifest


class Verdict(NamedTuple):
    """The manifest's chain value, and what is wrong with it; a harmless cause is one that a crash leaves."""

    chain: str
    cause: str | None = None
    harmless: bool = False


def check_manifest(directory: Path) -> Verdict:
    """Judge the manifest of a stream. Raises DamageError, StoreError where it or a trailer cannot be read."""
    written, found = _both(directory)
    for spans in (written.spans, found.spans):
        broken = manifest.chain_break(spans)
        if broken is not None:
            return Verdict(written.head, f"the chain breaks at events {broken.first} to {broken.last}")
    if written == found:
        return Verdict(written.head)
    if not (directory / manifest.NAME).exists():
        return _without_manifest(directory, written.head, found)
    # A crash between the rename of a sealed segment and the manifest leaves the manifest behind; the next
    # seal brings it up. Anything else is tampering or loss.
    count = len(written.spans)
    behind = found.spans[:count] == written.spans
    if behind and (len(found.spans) > count or len(found.segments) < len(written.segments)):
        cause = "it lacks what was sealed or merged last; the next seal brings it up"
        return Verdict(written.head, cause, harmless=True)
    return Verdict(written.head, "the manifest names other sealed segments than there are")


def _both(directory: Path) -> tuple[Manifest, Manifest]:
    """The manifest and what is on disk, at a moment when no seal stood between the two. Raises DamageError."""
    before = None
    while True:
        now = manifest.load(directory), manifest.of_directory(directory)
        if now[0] == now[1] or now == before:
            return now
        before = now


def _without_manifest(directory: Path, head: str, found: Manifest) -> Verdict:
    """Only a stream's very first seal can have been killed before there was a manifest."""
    mark = anchors.load(directory)
    first_seal = len(found.segments) == 1 and mark is not None and mark.state == anchors.OPEN
    if first_seal or is_held(directory / LOCK):
        return Verdict(head, "there is none yet: a seal is under way or was cut short", harmless=True)
    return Verdict(head, f"the manifest is missing, and events up to {found.last} are sealed")
