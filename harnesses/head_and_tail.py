"""The head and the tail of what may be too long to be kept whole: how it begins, and its last words."""

from __future__ import annotations

KEPT_BYTES = 128 * 1024  # of the head and of the tail


class HeadAndTail:
    """Takes bytes or text piece by piece, in little memory: what is no longer than both bounds together is kept whole.

    `errors`: how bytes that are no UTF-8 become text, as `bytes.decode` has it.
    """

    def __init__(self, errors: str = "surrogatepass") -> None:
        self._errors = errors
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def add(self, piece: bytes | str) -> None:
        """More of it. Lone surrogates in text stay what they are."""
        if isinstance(piece, str):
            piece = piece.encode("utf-8", "surrogatepass")
        self.size += len(piece)
        room = KEPT_BYTES - len(self._head)
        if room:
            self._head += piece[:room]
            piece = piece[room:]
        self._tail += piece
        if len(self._tail) > 2 * KEPT_BYTES:
            self._tail = self._tail[-KEPT_BYTES:]

    @property
    def kept(self) -> int:
        """The bytes that it holds now, at most three times KEPT_BYTES."""
        return len(self._head) + len(self._tail)

    @property
    def cut(self) -> bool:
        """Whether something is left out."""
        return self.size > 2 * KEPT_BYTES

    @property
    def text(self) -> str:
        """All of it, or head and tail with a line between them that says how much is left out."""
        if not self.cut:
            return (self._head + self._tail).decode("utf-8", self._errors)
        head, tail = _whole_characters(bytes(self._head), bytes(self._tail[-KEPT_BYTES:]))
        left_out = self.size - len(head) - len(tail)
        note = f"\n[… {left_out} bytes left out; the whole is in the artifact stdout …]\n"
        return head.decode("utf-8", self._errors) + note + tail.decode("utf-8", self._errors)


def _whole_characters(head: bytes, tail: bytes) -> tuple[bytes, bytes]:
    """Both without the part of a character that the cut went through."""
    for back in range(1, 4):
        lead = head[-back]
        if lead >= 0xC0:
            length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            head = head[:-back] if length > back else head
            break
        if lead < 0x80:
            break
    skip = next((index for index in range(4) if tail[index] & 0xC0 != 0x80), 0)
    return head, tail[skip:]
