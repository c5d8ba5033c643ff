"""What a bundle is: one tar whose first member names all others with size and SHA-256, in their order.

    bundle.json            {"schema": "hemra.bundle/1", "streams": […], "members": […]}
    streams/NAME/00000000000000000001.ndjson.zst, …, streams/NAME/manifest.json
    blobs/sha256/ab/<62 hex digits>

A stream's entry says its id, its last seq, its chain value and link, and whether it is finished; of that
the anchor is made anew on import. Nothing in a bundle depends on when, where or by whom it was made: the
same content gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from typing import Annotated, BinaryIO

import msgspec

from eventlog.errors import BundleError, NotABundle
from eventlog.segments import HIGHEST
from eventlog.store import CATALOG

SCHEMA = "hemra.bundle/1"
INDEX = "bundle.json"
#: Names that every store keeps for itself: its own catalog, and the word for its newest run.
_RESERVED = frozenset({CATALOG, "latest"})
#: Limits of what is imported: members, bytes of the index, and bytes of everything that is unpacked: the files
#: and the events in them, decompressed (changeable by the caller).
MAX_MEMBERS = 1_000_000
MAX_INDEX_BYTES = 256 * 1024 * 1024
MAX_BYTES = 64 * 1024**3
LARGER = "; `hemra log import --max-size` sets another, for a bundle that you trust"
_SCHEMA = re.compile(r"hemra\.bundle/[1-9][0-9]{0,9}")
_PIECE = 1 << 20
_BLOCK = tarfile.BLOCKSIZE
_STREAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SEGMENT = r"\d{20}\.ndjson\.zst|manifest\.json"
_MEMBER = re.compile(
    rf"streams/({_STREAM.pattern})/({_SEGMENT})|blobs/sha256/([0-9a-f]{{2}})/([0-9a-f]{{62}})"
)


_Count = Annotated[int, msgspec.Meta(ge=0, le=HIGHEST)]


class BundledStream(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stream in a bundle. `chain` stands for all its bytes; its next frame must name `link` and `id`."""

    name: str
    id: str
    last: _Count
    chain: str
    link: str
    finished: bool


class Member(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file in a bundle; `sha256` in hex, `size` in bytes."""

    name: str
    size: _Count
    sha256: str


class Index(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `bundle.json`."""

    schema: str
    streams: list[BundledStream]
    members: list[Member]


def is_reserved(stream: str) -> bool:
    """Whether no bundle may bring a stream of this name. Some file systems tell no capital letters from small ones."""
    return stream.casefold() in _RESERVED


def stream_of(member: str) -> str | None:
    """The stream that a member belongs to; None for a blob."""
    match = _MEMBER.fullmatch(member)
    return match.group(1) if match else None


def encode_index(index: Index) -> bytes:
    """`bundle.json`, always the same bytes for the same content."""
    return json.dumps(msgspec.to_builtins(index), sort_keys=True, indent=1).encode() + b"\n"


def decode_index(raw: bytes, max_bytes: int) -> Index:
    """The index, after checking all that can be checked without the rest. Raises BundleError."""
    try:
        head = msgspec.json.decode(raw)
        schema = head.get("schema") if isinstance(head, dict) else None
        if schema != SCHEMA:
            later = isinstance(schema, str) and _SCHEMA.fullmatch(schema)
            remedy = ": upgrade hemra" if later else ""
            raise BundleError(f"this is a bundle of version {schema!r}; this hemra reads {SCHEMA}{remedy}")
        index = msgspec.json.decode(raw, type=Index)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise BundleError(f"{INDEX} does not read as one: {error}") from None
    _check_members(index, max_bytes)
    return index


def _check_members(index: Index, max_bytes: int) -> None:
    names = [stream.name for stream in index.streams]
    if len(set(names)) != len(names) or not names:
        raise BundleError(f"{INDEX} names no stream, or one twice")
    for stream in index.streams:
        hexes = ((stream.id, 16), (stream.link, 32), (stream.chain, 64))
        if not _STREAM.fullmatch(stream.name) or not all(_is_hex(*pair) for pair in hexes):
            raise BundleError(f"{INDEX} says of stream {stream.name!r} what cannot be")
        if is_reserved(stream.name):
            raise BundleError(
                f"{INDEX} brings a stream {stream.name!r}, a name that every store keeps for itself"
            )
    if len(index.members) > MAX_MEMBERS:
        raise BundleError(f"{INDEX} names {len(index.members)} members; {MAX_MEMBERS} is the limit")
    seen = set()
    for member in index.members:
        match = _MEMBER.fullmatch(member.name)
        if match is None or member.name in seen or (match.group(1) and match.group(1) not in names):
            raise BundleError(f"{INDEX} names {member.name!r}, which no bundle holds, or names it twice")
        if match.group(3) and match.group(3) + match.group(4) != member.sha256:
            raise BundleError(f"{member.name} is named by another digest than its own")
        if not _is_hex(member.sha256, 64):
            raise BundleError(f"{INDEX} says of {member.name} what cannot be")
        seen.add(member.name)
    if sum(member.size for member in index.members) > max_bytes:
        raise BundleError(f"the bundle unpacks to more than the limit of {max_bytes} bytes{LARGER}")


def _is_hex(text: str, length: int) -> bool:
    return len(text) == length and set(text) <= set("0123456789abcdef")


def _header(name: str, size: int) -> bytes:
    """The one tar header that a member of this name and size has. Raises BundleError."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o644, 0
    try:
        return info.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")
    except ValueError as error:
        raise BundleError(f"{name} does not fit into a tar file: {error}") from None


class Writing:
    """Writes a bundle's members, in the order of its index."""

    def __init__(self, file: BinaryIO, index: Index) -> None:
        self._file = file
        self._written = 0
        raw = encode_index(index)
        #: SHA-256 of `bundle.json`, which stands for the whole bundle.
        self.digest = hashlib.sha256(raw).hexdigest()
        self.add(Member(name=INDEX, size=len(raw), sha256=self.digest), [raw])

    def add(self, member: Member, pieces: Iterable[bytes]) -> None:
        """Write one member; all but its name, size and content is fixed. BundleError when it changed."""
        self._put(_header(member.name, member.size))
        running, size = hashlib.sha256(), 0
        for piece in pieces:
            running.update(piece)
            size += len(piece)
            self._put(piece)
        if size != member.size or running.hexdigest() != member.sha256:
            raise BundleError(
                f"{member.name} changed while it was exported, or is damaged: `hemra log verify`"
            )
        self._put(bytes(-size % _BLOCK))

    def end(self) -> None:
        """Write the end of the archive."""
        self._put(bytes(2 * _BLOCK))
        self._put(bytes(-self._written % tarfile.RECORDSIZE))

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._written += len(data)


class Reading:
    """Reads a bundle's members one after the other, each exactly as the index announces it.

    Only plain file headers are understood: a link, device, folder or extension header is refused before
    anything of it is used, and nothing is ever extracted by name.
    """

    def __init__(self, file: BinaryIO, max_bytes: int) -> None:
        """Read the index. Raises BundleError."""
        self._file = file
        try:
            raw = b"".join(self._pieces(INDEX, None))
        except BundleError as error:
            raise NotABundle(f"this is no bundle (`hemra log export` writes one): {error}") from None
        #: SHA-256 of `bundle.json`, which stands for the whole bundle.
        self.digest = hashlib.sha256(raw).hexdigest()
        self.index = decode_index(raw, max_bytes)

    def contents(self) -> Iterator[tuple[Member, Iterator[bytes]]]:
        """Each member with its bytes in pieces, to be used up; then a wrong byte raises BundleError."""
        for member in self.index.members:
            yield member, self._checked(member)
        rest = self._file.read(2 * _BLOCK)
        while rest:
            if rest.strip(b"\0"):
                raise BundleError(f"the bundle holds more than {INDEX} names")
            rest = self._file.read(_PIECE)

    def _checked(self, member: Member) -> Iterator[bytes]:
        running = hashlib.sha256()
        for piece in self._pieces(member.name, member.size):
            running.update(piece)
            yield piece
        if running.hexdigest() != member.sha256:
            raise BundleError(f"{member.name} is not what {INDEX} says: its SHA-256 differs")

    def _pieces(self, name: str, size: int | None) -> Iterator[bytes]:
        """The bytes of the next member, which must be a plain file of this name and size."""
        header = self._read(_BLOCK, name)
        try:
            info = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise BundleError(f"no tar header stands where {name} should: {error}") from None
        if info.name != name or info.type != tarfile.REGTYPE:
            raise BundleError(f"{info.name!r} stands where the plain file {name} should")
        limit = MAX_INDEX_BYTES if size is None else size
        if info.size < 0 or info.size > limit or (size is not None and info.size != size):
            raise BundleError(f"{name} has {info.size} bytes, not what was announced or is allowed")
        if header != _header(name, info.size):
            raise BundleError(f"the tar header of {name} says more than its name and size")
        for start in range(0, info.size, _PIECE):
            yield self._read(min(_PIECE, info.size - start), name)
        if self._read(-info.size % _BLOCK, name).strip(b"\0"):
            raise BundleError(f"there is something behind {name}")

    def _read(self, size: int, name: str) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._file.read(size - len(data))
            if not piece:
                raise BundleError(f"the bundle is cut: it ends at or in {name}")
            data += piece
        return data
