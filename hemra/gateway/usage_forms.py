"""From what providers call usage to the one normal form, in which input includes what was read from a cache.

Every provider counts in its own way: Anthropic's input leaves cached tokens out, OpenAI's includes them, xAI's output
leaves reasoning out. What is no count (negative, a text, not whole) or cannot be (more cached than there was) is null.
The provider's object is kept beside the normal form, so nothing is lost by that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from eventlog.schemas.trials import Usage

#: Tokens of one answer beyond which a number is none of tokens.
_MOST = 10**12


def chat_usage(raw: Any) -> Usage | None:
    """Usage of a chat completion; null without one."""
    if not isinstance(raw, dict):
        return None
    details = _inner(raw, "prompt_tokens_details")
    read = _first(
        details.get("cached_tokens"),
        raw.get("cache_read_input_tokens"),  # LiteLLM
        raw.get("prompt_cache_hit_tokens"),  # DeepSeek
        raw.get("cached_tokens"),  # Moonshot
    )
    write = _first(
        details.get("cache_write_tokens"),  # OpenRouter
        details.get("cache_creation_tokens"),
        raw.get("cache_creation_input_tokens"),
    )
    reasoning = _first(
        _inner(raw, "completion_tokens_details").get("reasoning_tokens"), raw.get("reasoning_tokens")
    )
    return _included(
        _count(raw.get("prompt_tokens")),
        read,
        write,
        _count(raw.get("completion_tokens")),
        reasoning,
        total=_count(raw.get("total_tokens")),
        cost=told_cost(raw),
    )


def responses_usage(raw: Any) -> Usage | None:
    """Usage of a response, also in the flat form that Codex prints; null without one."""
    if not isinstance(raw, dict):
        return None
    details = _inner(raw, "input_tokens_details")
    return _included(
        _count(raw.get("input_tokens")),
        _first(details.get("cached_tokens"), raw.get("cached_input_tokens")),
        _first(details.get("cache_write_tokens"), raw.get("cache_write_input_tokens")),
        _count(raw.get("output_tokens")),
        _first(
            _inner(raw, "output_tokens_details").get("reasoning_tokens"), raw.get("reasoning_output_tokens")
        ),
        total=_count(raw.get("total_tokens")),
        cost=told_cost(raw),
    )


def messages_usage(raw: Any) -> Usage | None:
    """Usage of an Anthropic message: what was read from and written to a cache comes on top of its input."""
    if not isinstance(raw, dict):
        return None
    read = _count(raw.get("cache_read_input_tokens"))
    write = _first(raw.get("cache_creation_input_tokens"), _sum(_inner(raw, "cache_creation")))
    uncached = _count(raw.get("input_tokens"))
    spoilt = any(
        raw.get(name) is not None and _count(raw[name]) is None
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens")
    )
    output = _count(raw.get("output_tokens"))
    details = _inner(raw, "output_tokens_details")
    reasoning = _first(details.get("thinking_tokens"), details.get("reasoning_tokens"))
    known = uncached is not None and not spoilt
    return Usage(
        input_tokens=(uncached or 0) + (read or 0) + (write or 0) if known else None,
        cache_read_tokens=read,
        cache_write_tokens=write,
        output_tokens=output,
        reasoning_tokens=_at_most(reasoning, output),
        cost_usd=told_cost(raw),
    )


FORMS: dict[str, Callable[[Any], Usage | None]] = {
    "chat": chat_usage,
    "responses": responses_usage,
    "messages": messages_usage,
}


def usage_of(dialect: str, raw: Any) -> Usage | None:
    """The normal form of a usage object in this dialect; null without one. Raises KeyError for no dialect."""
    return FORMS[dialect](raw)


def told_cost(raw: dict[str, Any]) -> float | None:
    """US dollars that the provider says it charged: OpenRouter's `cost` (with a key of the user's own, the
    upstream's on top of its fee) and DeepInfra's `estimated_cost`."""
    cost = _money(raw.get("cost"))
    if cost is not None and raw.get("is_byok") is True:
        upstream = _money(_inner(raw, "cost_details").get("upstream_inference_cost"))
        return None if upstream is None else cost + upstream
    return _money(raw.get("estimated_cost")) if cost is None else cost


def _included(
    given: int | None,
    read: int | None,
    write: int | None,
    output: int | None,
    reasoning: int | None,
    *,
    total: int | None,
    cost: float | None,
) -> Usage:
    """The normal form of a provider whose input includes what was cached."""
    if given is not None and (read or 0) + (write or 0) > given:
        # Two conventions in one object: neither the sum nor its parts can be trusted.
        given = read = write = None
    if reasoning and given is not None and output is not None and total == given + output + reasoning:
        output += reasoning  # xAI and Google count it apart; only the total shows
    return Usage(
        input_tokens=given,
        cache_read_tokens=read,
        cache_write_tokens=write,
        output_tokens=output,
        reasoning_tokens=_at_most(reasoning, output),
        cost_usd=cost,
    )


def _count(value: Any) -> int | None:
    """A number of tokens, or null for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not (math.isfinite(value) and value == int(value)):
        return None
    return int(value) if 0 <= value <= _MOST else None


def _first(*values: Any) -> int | None:
    return next((count for value in values if (count := _count(value)) is not None), None)


def _sum(parts: dict[str, Any]) -> int | None:
    counts = [_count(value) for value in parts.values()]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _at_most(part: int | None, whole: int | None) -> int | None:
    return None if part is not None and whole is not None and part > whole else part


def _money(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    amount = float(value) if abs(value) < 1e9 else math.inf
    return amount if math.isfinite(amount) and amount >= 0 else None


def _inner(raw: dict[str, Any], name: str) -> dict[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}
