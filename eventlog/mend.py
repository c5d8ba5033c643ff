"""Giving back a frame in which one bit was flipped: the link that the next frame names is proof of what it was.

A flipped bit is the most frequent way for stored bytes to rot, and one in a sealed frame costs thousands of events.
Every bit is tried until header and frame have a link that something sound names: 128 bits of BLAKE2b do not
agree by chance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container


def work(size: int) -> int:
    """Bytes to be digested, at most, for trying every bit of a unit of `size` bytes."""
    return 4 * size * size + 8 * size


def mend(raw: bytes, links: Container[bytes]) -> bytes | None:
    """`raw` (a unit: header and frame) with one bit flipped so that its link is in `links`; None where none is."""
    view, before = memoryview(raw), hashlib.blake2b(digest_size=16)
    for index, byte in enumerate(raw):
        rest = view[index + 1 :]
        for bit in range(8):
            running = before.copy()
            running.update(bytes((byte ^ (1 << bit),)))
            running.update(rest)
            if running.digest() in links:
                return raw[:index] + bytes((byte ^ (1 << bit),)) + raw[index + 1 :]
        before.update(view[index : index + 1])
    return None
