"""The sums of tokens that an agent tells with its last reply, in the one normal form."""

from __future__ import annotations

from typing import Any

from harnesses.jsonl import number


def normal_usage(told: dict[str, Any]) -> dict[str, int | None] | None:
    """Input with what was read from and written to a cache, output with what was thought; None where it cannot be told.

    The schema does not say whether `inputTokens` includes the cached ones and `outputTokens` the thoughts, and agents
    differ; their `totalTokens` says which it is.
    """
    whole, sent, answered = (
        number(told.get(name)) for name in ("totalTokens", "inputTokens", "outputTokens")
    )
    if sent is None or answered is None:
        return None
    read, written, thought = (
        number(told.get(name)) for name in ("cachedReadTokens", "cachedWriteTokens", "thoughtTokens")
    )
    cached, thoughts = (read or 0) + (written or 0), thought or 0
    for more_in, more_out in ((0, 0), (cached, 0), (cached, thoughts), (0, thoughts)):
        if whole == sent + more_in + answered + more_out:
            return {
                "input_tokens": sent + more_in,
                "cache_read_tokens": read,
                "cache_write_tokens": written,
                "output_tokens": answered + more_out,
                "reasoning_tokens": thought,
            }
    return None
