"""What credentials look like: the known shapes, for whole texts and for texts that come in pieces.

A shape begins with a literal (that is what makes a search over a lot of output fast) which does not stand in
the middle of a word. `whole` decides that a credential is there; `begun` says that the end of a text may grow
into one. Whatever `begun` does not hold at a place can no longer change what `whole` says there. Repetitions
are possessive or of bounded length, so that no text takes more than linear time. Only repetitions of a single
character are possessive: of groups, not every Python 3.11 gets that right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Characters of tokens, of base64url, of base64 (`/` may be escaped as JSON allows) and of Bearer values.
_WORD = rb"[A-Za-z0-9]"
_TOKEN = rb"[A-Za-z0-9_-]"
_BASE64 = rb"(?:[A-Za-z0-9+/=]|\\/)"
_VALUE = rb"[A-Za-z0-9._~+/=-]"
#: Between lines of a key: white space, JSON escapes of it, and what quotes or numbers lines.
_GAP = rb"(?:[ \t\r\n>|]|\\{1,8}[rnt]|-(?=[A-Za-z0-9+/])|[0-9]{1,4}[:\t])"
_KEY_HEADER = rb"(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): "
#: Between the last line and the end of a key.
_SPACE = rb"(?:[ \t\r\n>|]|\\{1,8}[rnt])"
_NUMBER = rb"(?:[0-9]{1,4}[:\t])?"
#: The last line of a PGP key.
_CHECKSUM = rb"(?:=[A-Za-z0-9+/]{4}" + _SPACE + rb"{1,8})?"
_CHECKSUM_BEGUN = rb"(?:=[A-Za-z0-9+/]{0,4}" + _SPACE + rb"{0,8})?"
#: Between a name and its value, in headers, shell, JSON (escaped too), Python and XML.
_ASSIGN = rb"[\\\"': =\t>]{1,12}+"

#: Bytes before a place that decide whether a credential can begin there.
CONTEXT_BYTES = 6


@dataclass(frozen=True)
class Shape:
    """One kind of credential.

    The group `value` of `whole` is what must go; what stands before it in the match may stay. `rest` matches
    what belongs to the credential behind the match, however much; with `open` and no `rest` it is a private
    key, which has lines. One that is not `open` ends with the match. `most` is
    the length in bytes of the longest text that is only `begun`. `start` is the literal that it begins with,
    `clear` matches where it may begin.
    """

    kind: str
    start: bytes
    clear: re.Pattern[bytes]
    whole: re.Pattern[bytes]
    begun: re.Pattern[bytes]
    most: int
    rest: re.Pattern[bytes] | None = None
    open: bool = False


def _clear(glued: bytes, start: bytes = b"") -> bytes:
    """No character of `glued` stands before `start`, or it is the end of an escape or of a colour."""
    escapes = (rb"%[0-9A-Fa-f]{2}", rb"\\[bfnrt]", rb"\\u[0-9A-Fa-f]{4}", rb"[0-9;\[]m")
    literal = re.escape(start)
    ways = [rb"(?<!" + glued + literal + rb")", *(rb"(?<=" + way + literal + rb")" for way in escapes)]
    return rb"(?:" + rb"|".join(ways) + rb")"


def _shape(
    kind: str, start: bytes, whole: bytes, begun: bytes, most: int, *,
    rest: bytes | None = None, glued: bytes = _WORD, after: bytes | None = None, lines: bool = False,
) -> Shape:  # fmt: skip
    """`whole` and `begun` are what follows `start`; `after` is what must stand before it, if anything."""
    if b"(?P<value>" not in whole:
        head, whole = rb"(?P<value>", whole + rb")"
    else:
        head = b""
    literal = re.escape(start)
    before = rb"(?<=" + after + literal + rb")" if after else _clear(glued, start)
    return Shape(
        kind=kind,
        start=start,
        clear=re.compile(rb"(?<=" + after + rb")" if after else _clear(glued)),
        whole=re.compile(head + literal + before + whole),
        begun=re.compile(literal + before + rb"(?:" + begun + rb")\Z"),
        most=len(start) + most,
        rest=re.compile(rest + rb"*+") if rest else None,
        open=rest is not None or lines,
    )


def _plain(kind: str, start: bytes, second: bytes, character: bytes, least: int) -> Shape:
    """A prefix and at least `least` characters. `second` are parts of the prefix that vary, one byte each."""
    parts = re.findall(rb"\[[^]]+\]|.", second)
    begun = character + rb"{0,%d}+" % least
    for part in reversed(parts):
        begun = rb"(?:" + part + begun + rb")?"
    return _shape(
        kind, start, second + character + rb"{%d}" % least, begun, len(parts) + least, rest=character
    )


_SCHEME = (
    rb"(?=(?i:bearer)[ ]|(?i:basic|token)[ ]{1,4}[a-z._~+/-]{0,23}[A-Z0-9=])[A-Za-z]{5,6}+[ ]{1,4}+"
    rb"(?P<value>" + _VALUE + rb"{8})"
)
_SCHEME_BEGUN = (
    rb"(?:" + _ASSIGN + rb"(?:[A-Za-z]{0,6}+(?:[ ]{1,4}+" + _VALUE + rb"{0,24}+)?)?)?"
)  # fmt: skip


def _authorization(start: bytes) -> Shape:
    return _shape(
        "authorization", start, _ASSIGN + _SCHEME, _SCHEME_BEGUN, 12 + 6 + 4 + 24, rest=_VALUE
    )  # fmt: skip


def _bearer(start: bytes) -> Shape:
    """Without the name of the header it has to look like a token: long, with a digit."""
    whole = rb"[ ]{0,3}+(?=[A-Za-z._~+/=-]{0,23}[0-9])(?P<value>" + _VALUE + rb"{20})"
    return _shape("authorization", start, whole, rb"[ ]{0,3}+" + _VALUE + rb"{0,24}+", 27, rest=_VALUE)


def _aws_secret(start: bytes, second: bytes) -> Shape:
    letters = re.findall(rb"\[[^]]+\]\??|.", second)
    value = rb"[A-Za-z0-9/+]"
    begun = rb"(?:" + _ASSIGN + value + rb"{0,40}+)?"
    for letter in reversed(letters):
        begun = rb"(?:" + (letter + rb"+" if letter.endswith(b"?") else letter) + begun + rb")?"
    whole = second + _ASSIGN + rb"(?P<value>" + value + rb"{40})(?![A-Za-z0-9/+=])"
    return _shape("aws-secret-key", start, whole, begun, len(letters) + 12 + 40)


def _url(start: bytes) -> Shape:
    # A user that is a known value was replaced before: its label has a colon as well.
    user = rb"(?:\[redacted:\w{1,256}\])?[^\s/?#:@\"'<>\\]{0,256}+"
    password = rb"[^\s/?#\"'<>\\]"
    named = rb"(?<!\[redacted:)(?!\[redacted:|\$[({A-Z]|%[s(]|\*\*\*|\{)"
    whole = user + rb":" + named + rb"(?P<value>" + password + rb"{1,256})@"
    return _shape(
        "url-password", start, whole, user + rb"(?::" + password + rb"{0,256}+)?", 800, after=rb"[A-Za-z0-9]:"
    )


def _private_key() -> Shape:
    name = rb"[A-Z0-9 ]"
    body = rb"(?=" + _BASE64 + rb"{16}|" + _KEY_HEADER + rb")"
    whole = (
        rb"(?=" + name + rb"{0,40}PRIVATE KEY)" + name + rb"{11,50}+-----" + _GAP + rb"{0,16}" + body
    )  # fmt: skip
    begun = (
        name + rb"{0,50}+(?:-{1,4}+|-----" + _GAP + rb"{0,16}(?:\\{1,8}|-|" + _BASE64
        + rb"{0,16}\\?|[PDVCH][A-Za-z-]{0,9}+:?[ ]?)?)?"
    )  # fmt: skip
    return _shape(
        "private-key", b"-----BEGIN ", whole, begun, 50 + 5 + 16 * 9 + 33, glued=rb"[-]", lines=True
    )


_JWT_PART = rb"[A-Za-z0-9_-]{%d,4096}+"

#: All kinds. What has the same start has the same kind.
SHAPES = (
    _plain("github-token", b"gh", b"[pousr]_", _WORD, 20),
    _plain("github-token", b"github_pat_", b"", rb"\w", 20),
    _shape(
        "aws-access-key", b"A", rb"[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])",
        rb"(?:[KS](?:I(?:A[A-Z0-9]{0,16}+)?)?)?", 19,
    ),
    _aws_secret(b"secret", b"[_ ]?[Aa]ccess[_ ]?[Kk]ey"),
    _aws_secret(b"Secret", b"[_ ]?[Aa]ccess[_ ]?[Kk]ey"),
    _aws_secret(b"SECRET", b"[_ ]?ACCESS[_ ]?KEY"),
    _shape(
        "jwt", b"eyJ",
        _JWT_PART % 16 + rb"\.(?:eyJ|" + _JWT_PART % 20 + rb"\.[A-Za-z0-9_-]{8})",
        _JWT_PART % 0 + rb"(?:\.(?:" + _JWT_PART % 0 + rb"(?:\.[A-Za-z0-9_-]{0,8}+)?)?)?", 4096 * 2 + 10,
        rest=rb"[A-Za-z0-9_.-]",
    ),
    _authorization(b"Authorization"),
    _authorization(b"authorization"),
    _authorization(b"AUTHORIZATION"),
    _bearer(b"Bearer "),
    _bearer(b"bearer "),
    _url(b"//"),
    _url(rb"\/\/"),
    _private_key(),
    _shape(
        "api-key", b"sk-",
        rb"(?:" + _WORD + rb"{20}|(?:ant|proj|svcacct|admin|or|lf)-" + _TOKEN + rb"{20}"
        rb"|(?=[A-Za-z_-]{0,23}[0-9])" + _TOKEN + rb"{20})",
        _TOKEN + rb"{0,28}+", 28, rest=_TOKEN, glued=_TOKEN,
    ),
    _plain("slack-token", b"xox", b"[abeprs]-", _TOKEN, 10),
    _plain("huggingface-token", b"hf_", b"", _WORD, 20),
    _plain("google-api-key", b"AIza", b"", _TOKEN, 30),
    _plain("npm-token", b"npm_", b"", _WORD, 30),
    _plain("gitlab-token", b"glpat-", b"", _TOKEN, 20),
)  # fmt: skip

#: Inside a private key, by turns: what stands between its base64, and that.
KEY_BETWEEN = re.compile(
    rb"(?:" + _GAP + rb"|" + _BASE64 + rb"{1,15}(?=" + _SPACE + rb"{0,8}" + _CHECKSUM + _NUMBER + rb"-----END )|"
    + _KEY_HEADER + rb"[^\r\n\\\"]{0,200}+(?=[\r\n\\]))*"
)  # fmt: skip
KEY_MORE = re.compile(rb"(?:[A-Za-z0-9+/=]++|\\/)*")
KEY_RUN = re.compile(_BASE64 + rb"{16}" + KEY_MORE.pattern)
KEY_END = re.compile(rb"-----END [A-Z0-9 ]{0,50}-----")
#: What at the end of a text may still be more of it.
KEY_BEGUN = re.compile(
    rb"(?:\\{1,8}|" + _BASE64 + rb"{0,15}" + _SPACE + rb"{0,8}" + _CHECKSUM_BEGUN + rb"(?:[0-9]{1,4}[:\t]?)?"
    rb"(?:\\{1,8}|-{1,5}(?:E(?:N(?:D(?:[ ][A-Z0-9 ]{0,50}+-{0,4}+)?)?)?)?)?"
    rb"|[PDVCH][A-Za-z-]{0,9}+(?::[^\r\n\\\"]{0,200}+)?)\Z"
)  # fmt: skip
#: What is left of one at the end of everything.
KEY_REST = re.compile(_BASE64 + rb"{1,15}\Z")

#: Every beginning of a start but the whole of it, with the shapes that it may become.
CUT_STARTS: dict[bytes, list[Shape]] = {}
for _each in SHAPES:
    for _length in range(1, len(_each.start)):
        CUT_STARTS.setdefault(_each.start[:_length], []).append(_each)
LONGEST_CUT = max(map(len, CUT_STARTS))

#: So much of a text at most is only begun, in bytes: whoever has seen that much more knows.
MOST_BEGUN = max(shape.most for shape in SHAPES)


#: What every credential of some starts has in it, cheap to search for; the second may be in any case.
_GATES = (
    (
        re.compile(rb"_(?:(?<=gh[pousr]_)|(?<=pat_)|(?<=npm_)|(?<=hf_))"),
        (b"gh", b"github_pat_", b"npm_", b"hf_"),
    ),
    (re.compile(rb"-(?:(?<=sk-)|(?<=pat-)|(?<=xox[abeprs]-))"), (b"sk-", b"glpat-", b"xox")),
    (re.compile(rb"-BEGIN "), (b"-----BEGIN ",)),
    (re.compile(rb"A(?:[KS]IA|Iza)"), (b"A", b"AIza")),
    (re.compile(rb"eyJ"), (b"eyJ",)),
    (re.compile(rb"//[^\s/?#:@\"'<>\\]{0,256}+:"), (b"//",)),
    (re.compile(rb"\\/\\/"), (rb"\/\/",)),
)
_GATES_ANY_CASE = (
    (re.compile(rb"authorization"), (b"Authorization", b"authorization", b"AUTHORIZATION")),
    (re.compile(rb"bearer "), (b"Bearer ", b"bearer ")),
    (re.compile(rb"secret[_ ]?access"), (b"secret", b"Secret", b"SECRET")),
)
_BY_START = {shape.start: shape for shape in SHAPES}


def possible(data: bytes, at: int) -> list[Shape]:
    """The shapes that may be in `data` from `at` on, by a search that is much faster than theirs."""
    found = [start for gate, starts in _GATES if gate.search(data, at) for start in starts]
    lower = data.lower()
    found += [start for gate, starts in _GATES_ANY_CASE if gate.search(lower, at) for start in starts]
    return [_BY_START[start] for start in found]


def looks_like_credential(text: str) -> bool:
    """Whether something in `text` has the shape of a credential."""
    data = text.encode("utf-8", "surrogatepass")
    return any(shape.whole.search(data) for shape in possible(data, 0))
