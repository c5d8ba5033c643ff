"""Whether an instruction can be handed to an agent as one word of its command, and be taken for nothing else there."""

from __future__ import annotations

from collections.abc import Collection

from harnesses.command import ARGUMENT_BYTES


def is_plain_word(text: str, *, marks: str = "-", taken: Collection[str] = ()) -> bool:
    """Whether `text` may stand in a command: it is short enough, holds no NUL, and the agent would not read it as
    something of its own: an option or a file (`marks` are first characters of those), a command (`taken`)."""
    if not text or text[0] in marks or text.strip() in taken or "\0" in text:
        return False
    return len(text.encode("utf-8", "surrogatepass")) <= ARGUMENT_BYTES
