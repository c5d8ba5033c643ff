"""What two machines say to each other, and how large each thing may be.

A frame is `u8 kind · u32 length · length bytes`, big-endian. The greeting (HELLO, CHALLENGE, PROOF, WELCOME)
and REFUSED have the same form in every version of the protocol, so that two versions can tell each other
that they do not fit. After it one side asks (ASK: a JSON object with `ask`) and the other answers (ANSWER:
a JSON object with `answer`, then as many bytes in DATA frames as the answer's `bytes` says). KEEPALIVE may
stand anywhere between frames and means nothing but "still at work".
"""

from __future__ import annotations

import enum
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from eventlog.segments import HIGHEST, Span

PROTOCOL = "hemra-mirror/1"
#: Bytes of one DATA frame at most; of what one question brings at most; and of a file asked for at a time: what
#: is lost when the link breaks in the middle.
DATA_BYTES = 256 * 1024
ANSWER_BYTES = 4 * 1024 * 1024
PIECE_BYTES = 256 * 1024
#: A batch of live units takes no further unit once it has this many bytes.
BATCH_BYTES = 1024 * 1024
#: How long a question for live units waits for the first; an empty answer then says that both ends live.
HEARTBEAT_S = 2.0
#: Who says nothing for this long is gone.
SILENCE_S = 10.0
#: A digest is asked for over events of about this many bytes at a time, so that no answer takes long.
DIGEST_BYTES = 64 * 1024 * 1024


class Kind(enum.IntEnum):
    """What a frame is."""

    HELLO = 1
    CHALLENGE = 2
    PROOF = 3
    WELCOME = 4
    REFUSED = 5
    ASK = 16
    ANSWER = 17
    DATA = 18
    KEEPALIVE = 19


#: Largest payload of each kind: a frame that claims more is not read.
LIMITS = {
    Kind.HELLO: 1024,
    Kind.CHALLENGE: 1024,
    Kind.PROOF: 1024,
    Kind.WELCOME: 1024,
    Kind.REFUSED: 4096,
    Kind.ASK: 16 * 1024,
    Kind.ANSWER: 16 * 1024 * 1024,
    Kind.DATA: DATA_BYTES,
    Kind.KEEPALIVE: 0,
}

Seq: TypeAlias = Annotated[int, Meta(ge=0, le=HIGHEST)]
First: TypeAlias = Annotated[int, Meta(ge=1, le=HIGHEST)]
Sha256: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Link: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
StreamId: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
Name: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")]
BlobDigest: TypeAlias = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
_Word: TypeAlias = Annotated[str, Meta(max_length=200)]


class _Message(msgspec.Struct, frozen=True, kw_only=True):
    """Unknown fields are passed over: a newer version may add some."""


class Hello(_Message, frozen=True, kw_only=True):
    """Client, first frame: `nonce` is 32 random bytes in hex."""

    protocol: _Word
    nonce: Sha256


class Challenge(_Message, frozen=True, kw_only=True):
    """Server: its own nonce."""

    protocol: _Word
    nonce: Sha256


class Proof(_Message, frozen=True, kw_only=True):
    """Who has the token proves it: HMAC-SHA256 over role, both nonces and the certificate's fingerprint."""

    proof: Sha256


class Welcome(_Message, frozen=True, kw_only=True):
    """Server: its own proof, and the id of its store. `pushes`: whether it takes runs."""

    proof: Sha256
    store: _Word
    pushes: bool


class Refusal(_Message, frozen=True, kw_only=True):
    """The last frame before the connection is closed."""

    code: _Word
    text: Annotated[str, Meta(max_length=2000)]


class Ask(_Message, frozen=True, kw_only=True, tag_field="ask", tag=str.lower):
    """A question."""


class Streams(Ask, frozen=True, kw_only=True):
    """Which runs there are."""


class GetHead(Ask, frozen=True, kw_only=True):
    """How far a stream goes and of which sealed files it consists."""

    stream: Name


class GetLink(Ask, frozen=True, kw_only=True):
    """The link of the unit or span that ends with event `seq`."""

    stream: Name
    seq: First


class GetDigest(Ask, frozen=True, kw_only=True):
    """SHA-256 over the lines of events `first` to `last`, or of as many of them as one answer covers."""

    stream: Name
    first: First
    last: First


class GetUnits(Ask, frozen=True, kw_only=True):
    """Live units after event `after`, whose unit has the link `link`; waits for one if there is none yet."""

    stream: Name
    after: Seq
    link: Link
    wait: bool


class GetSealed(Ask, frozen=True, kw_only=True):
    """A piece of the sealed file that begins at event `first`, as long as it is the one that `tag` names."""

    stream: Name
    first: First
    tag: Sha256
    offset: Seq


class GetManifest(Ask, frozen=True, kw_only=True):
    """The manifest's bytes."""

    stream: Name


class GetBlob(Ask, frozen=True, kw_only=True):
    """A piece of a blob."""

    digest: BlobDigest
    offset: Seq


class Push(Ask, frozen=True, kw_only=True):
    """Take this stream from me: from now on the server asks. `session` tells one pusher from another."""

    stream: Name
    session: Link
    store: _Word
    follow: bool


class Done(Ask, frozen=True, kw_only=True):
    """Server to pusher: all of it is here."""

    events: Seq
    last: Seq
    blobs: Seq
    bytes: Seq
    what: _Word


class Answer(_Message, frozen=True, kw_only=True, tag_field="answer", tag=str.lower):
    """An answer; `bytes` is how much follows in DATA frames."""

    bytes: Annotated[int, Meta(ge=0, le=ANSWER_BYTES)] = 0


class Failed(Answer, frozen=True, kw_only=True):
    """It cannot be answered. `code`: not_found, changed, damaged, busy, readonly, parted, other."""

    code: _Word
    text: Annotated[str, Meta(max_length=2000)]


class Listed(_Message, frozen=True, kw_only=True):
    """A stream in a list. `origin`: see Head."""

    stream: Name
    last: Seq
    finished: bool
    live: bool
    origin: _Word | None = None


class StreamList(Answer, frozen=True, kw_only=True):
    """The answer to Streams."""

    streams: list[Listed]


class SealedFile(_Message, frozen=True, kw_only=True):
    """A sealed file: `tag` is SHA-256 over its trailer, which names the link of its last unit and so all its bytes."""

    first: First
    size: First
    tag: Sha256
    spans: Annotated[list[Span], Meta(min_length=1)]

    @property
    def last(self) -> int:
        """Seq of the file's last event."""
        return self.spans[-1].last


class Head(Answer, frozen=True, kw_only=True):
    """The answer to GetHead. `revision` changes whenever the set of files does; `live`: somebody writes.

    `origin`: of an unfinished copy the id of the store where the run is recorded.
    """

    id: StreamId
    last: Seq
    link: Link
    finished: bool
    live: bool
    revision: _Word
    sealed: list[SealedFile]
    origin: _Word | None = None

    @property
    def sealed_last(self) -> int:
        """Seq of the last sealed event; 0 when nothing is."""
        return self.sealed[-1].last if self.sealed else 0

    @property
    def whole(self) -> bool:
        """Whether the run is finished and nothing of it is left to seal."""
        return self.finished and self.sealed_last == self.last


class LinkAt(Answer, frozen=True, kw_only=True):
    """The answer to GetLink; None where no unit or span ends with that event."""

    link: Link | None


class Digested(Answer, frozen=True, kw_only=True):
    """The answer to GetDigest: over events up to `last`, at most what was asked."""

    last: First
    sha256: Sha256


class Units(Answer, frozen=True, kw_only=True):
    """The answer to GetUnits: units of the live segment `segment` follow, the last of which has the link `end`.

    `sealed`: those events are sealed by now.
    """

    segment: Seq
    sealed: bool
    end: Link
    last: Seq
    finished: bool
    live: bool
    revision: _Word


class Piece(Answer, frozen=True, kw_only=True):
    """A piece of something that has `size` bytes in all."""

    size: Seq


Asked: TypeAlias = (
    Streams | GetHead | GetLink | GetDigest | GetUnits | GetSealed | GetManifest | GetBlob | Push | Done
)
Answered: TypeAlias = Failed | StreamList | Head | LinkAt | Digested | Units | Piece
ASK = msgspec.json.Decoder(Asked)
ANSWER = msgspec.json.Decoder(Answered)
