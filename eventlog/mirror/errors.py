"""What can go wrong between two machines.

LogError
`- MirrorError
   |- Unreachable   no connection, or it broke: trying again may help
   |- Refused       the other side will not do it, and says why
   |- Untrusted     the server's certificate is unknown or another than before
   |- Unwritable    this store's disk does not take it: full, read-only, broken
   |- BadPeer       what came is not what the protocol or the digests allow; nothing of it was kept
   `- Parted        the two copies of a run are the same up to an event and then differ
"""

from __future__ import annotations

from eventlog.errors import LogError


class MirrorError(LogError):
    """Base of every error of serving, pulling and pushing. Its text is one line, whatever a peer put into it."""

    def __init__(self, text: str) -> None:
        super().__init__(one_line(text))


def one_line(text: str) -> str:
    """What cannot be printed, line ends among it, as escapes: a peer's words never begin a line of ours."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


class Unreachable(MirrorError):
    """No connection, or it broke on the way; what was brought so far stays."""


class Refused(MirrorError):
    """The other side answered that it will not. `code` is one of the words of `messages.Failed`."""

    def __init__(self, text: str, code: str = "other") -> None:
        super().__init__(text)
        self.code = code


class Untrusted(MirrorError):
    """The server's certificate is unknown, or another than the one that was remembered."""


class NotOurs(MirrorError):
    """An unfinished copy is written by pulls only; see `note`."""


class Unwritable(MirrorError):
    """The disk here does not take what came. What came before stays, and the same command goes on behind it."""


class BadPeer(MirrorError):
    """The other side sent what no honest one sends."""


class Parted(MirrorError):
    """Two copies of one run went on differently. `seq` is the first event that differs."""

    def __init__(self, text: str, seq: int) -> None:
        super().__init__(text)
        self.seq = seq


class Changed(MirrorError):
    """A file was replaced at the source while it was being read: look again (internal to copying)."""
