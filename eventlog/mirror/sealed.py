"""A sealed file that arrived aside: whether it is what it says, and what it says is what we had.

Everything that `hemra log verify` would look at is looked at before the file gets a name: each frame's header,
checksum and link, dense seqs, the digest of every span, the chain, the trailer, the seek table byte for byte.
Of what is here already its lines must be the same lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from eventlog import manifest
from eventlog.errors import DamageError
from eventlog.frames import NO_LINK, SEALED, NotAUnit, SeekTable, content_of, walk
from eventlog.mirror.checked import events_of
from eventlog.mirror.errors import BadPeer
from eventlog.mirror.landing import Landing
from eventlog.mirror.messages import SealedFile
from eventlog.mirror.source import digest_lines
from eventlog.payloads import Need
from eventlog.segments import Segment, Span, trailer_in, visible_segments
from eventlog.spans import SpanDigests

Tick = Callable[[], None]


def check(landing: Landing, file: SealedFile, path: Path, before: Span | None, tick: Tick) -> set[Need]:
    """The blobs that its events above `landing.last` need. `before`: the span that it follows, None at the start.

    Raises BadPeer, and removes the file then: it must come anew.
    """
    try:
        checking = _Checking(landing, file, path, before, tick)
        checking.run()
        return checking.needs
    except (BadPeer, DamageError, NotAUnit) as error:
        path.unlink(missing_ok=True)
        cause = error.cause if isinstance(error, DamageError | NotAUnit) else str(error)
        raise BadPeer(
            f"events {file.first} to {file.last} of {landing.name} came damaged: {cause}"
        ) from error


@dataclass
class _Checking:
    landing: Landing
    file: SealedFile
    path: Path
    before: Span | None
    tick: Tick

    def __post_init__(self) -> None:
        self.needs: set[Need] = set()

    def run(self) -> None:
        """All of it; raises BadPeer, DamageError or NotAUnit at the first thing that is wrong."""
        self._spans()
        with self.path.open("rb") as file:
            trailer, place, end = trailer_in(Segment(self.path, self.file.first), file)
            file.seek(place)
            if hashlib.sha256(file.read(end - place)).hexdigest() != self.file.tag:
                raise BadPeer("its trailer is another one than was announced")
            if trailer.spans != self.file.spans:
                raise BadPeer("its spans are others than were announced")
            digests, table = SpanDigests(trailer.spans), SeekTable()
            expected = self.file.first
            link = bytes.fromhex(self.before.end_link) if self.before else NO_LINK
            for unit in walk(file):
                self.tick()
                header = unit.header
                if header.first != expected or header.prev != link or header.stream != self.landing.stream:
                    raise BadPeer(f"event {expected} should stand at byte {header.offset}")
                if not header.flags & SEALED:
                    raise BadPeer("a live frame stands in it")
                content = content_of(unit)
                self.needs |= events_of(content, header, above=self.landing.last)
                for span in digests.feed(content):
                    raise BadPeer(f"events {span.first} to {span.last} do not match their digest")
                table.add_unit(header.size, header.content_len, unit.frame)
                expected, link, offset = header.last + 1, unit.link, header.end
            if link.hex() != trailer.link or not digests.complete or expected != trailer.last + 1:
                raise BadPeer(f"its frames end at event {expected - 1}")
            table.add_skippable(end - place)
            file.seek(end)
            if offset != place or file.read() != table.pack():
                raise BadPeer("the seek table does not match the frames")
        self._same_as_here()

    def _spans(self) -> None:
        value = self.before.chain if self.before else manifest.CHAIN_START
        for span in self.file.spans:
            value = manifest.chain(value, span.sha256)
            if span.chain != value:
                raise BadPeer(f"the chain breaks at events {span.first} to {span.last}")

    def _same_as_here(self) -> None:
        """Events that are here already are compared line by line, by digest, before the file replaces them."""
        known = {(s.first, s.last, s.chain) for s in manifest.of_directory(self.landing.path).spans}
        store, name, last = self.landing.store, self.landing.name, self.landing.last
        for span in self.file.spans:
            if span.first > last or (span.first, span.last, span.chain) in known:
                continue
            here = digest_lines(store, name, span.first, min(span.last, last), self.tick, most=1 << 62)
            theirs = span.sha256 if span.last <= last else self._digest_of(span.first, last)
            if here.sha256 != theirs:
                raise BadPeer(f"events {span.first} to {here.last} are not the ones that are here")

    def _digest_of(self, first: int, last: int) -> str:
        """SHA-256 over its lines `first` to `last`."""
        running = hashlib.sha256()
        with self.path.open("rb") as file:
            for unit in walk(file):
                header = unit.header
                if header.last < first or header.first > last:
                    continue
                lines = content_of(unit).split(b"\n")[max(0, first - header.first) : last - header.first + 1]
                running.update(b"".join(line + b"\n" for line in lines if line))
        return running.hexdigest()


def groups(files: Sequence[SealedFile], directory: Path, last: int) -> Iterator[list[SealedFile]]:
    """Cut `files` into runs that have to take their places together.

    Where a segment that is here goes over the end of one of them, the next one cannot be left out: by its name
    it begins inside that segment, which hides it until the first of them takes the segment's place.
    """
    segments = visible_segments(directory)
    ends = [segment.first - 1 for segment in segments[1:]] + [last]
    inside = [(segment.first, end) for segment, end in zip(segments, ends, strict=True)] if segments else []
    group: list[SealedFile] = []
    for file in files:
        group.append(file)
        if not any(first <= file.last < end for first, end in inside):
            yield group
            group = []
    if group:
        yield group
