"""The payloads that HEMRA and Inspect AI both record: word-like text that compresses about 2.7 times with zstd -3."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

_LETTERS = "etaoinshrdlucmfwypvbgkqjxz"


@cache
def _words() -> tuple[str, ...]:
    draw = random.Random(20260101)
    weights = range(len(_LETTERS), 0, -1)
    return tuple("".join(draw.choices(_LETTERS, weights, k=draw.randint(2, 10))) for _ in range(2000))


def _text(seed: str, size: int) -> str:
    draw, words, out, length = random.Random(seed), _words(), [], 0
    while length < size:
        word = f"{draw.getrandbits(64):016x}" if len(out) % 10 == 9 else words[int(2000 * draw.random() ** 2)]
        out.append(word)
        length += len(word) + 1
    return " ".join(out)[:size]


@cache
def payloads(sample: int, count: int, size: int) -> tuple[dict[str, Any], ...]:
    """The `count` records of one sample, each with `size` bytes of text; made once, the same for the same sample."""
    return tuple(
        {
            "step": step,
            "tool": ("bash", "python", "edit", "read")[step % 4],
            "exit_code": 0 if step % 7 else 1,
            "duration_ms": (sample * 31 + step * 17) % 5000,
            "output": _text(f"{sample}/{step}", size),
        }
        for step in range(count)
    )
