"""What providers call the same usage comes out as the same numbers, and nonsense as none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventlog.schemas.trials import Usage
from hemra.gateway.usage_forms import FORMS, usage_of

#: One call in the words of three providers, and another one in Codex's.
VECTORS: list[tuple[str, dict[str, Any], Usage]] = [
    (
        "messages",
        {
            "input_tokens": 5,
            "cache_read_input_tokens": 128_955,
            "cache_creation_input_tokens": 1253,
            "output_tokens": 9,
        },
        Usage(input_tokens=130_213, cache_read_tokens=128_955, cache_write_tokens=1253, output_tokens=9),
    ),
    (
        "chat",
        {"prompt_tokens": 130_213, "prompt_tokens_details": {"cached_tokens": 128_955}},
        Usage(input_tokens=130_213, cache_read_tokens=128_955),
    ),
    (
        "responses",
        {"input_tokens": 130_213, "input_tokens_details": {"cached_tokens": 128_955}, "output_tokens": 4},
        Usage(input_tokens=130_213, cache_read_tokens=128_955, output_tokens=4),
    ),
    (
        "responses",
        {
            "input_tokens": 117_231,
            "cached_input_tokens": 115_584,
            "cache_write_input_tokens": 0,
            "output_tokens": 225,
            "reasoning_output_tokens": 14,
        },
        Usage(
            input_tokens=117_231,
            cache_read_tokens=115_584,
            cache_write_tokens=0,
            output_tokens=225,
            reasoning_tokens=14,
        ),
    ),
]


@pytest.mark.parametrize(("dialect", "raw", "usage"), VECTORS)
def test_input_includes_what_was_cached(dialect: str, raw: dict[str, Any], usage: Usage) -> None:
    """Cached tokens would be added a second time, and cost with them, or be left out."""
    assert usage_of(dialect, raw) == usage
    used = usage_of(dialect, raw)
    assert used is not None
    assert used.input_tokens is not None
    uncached = used.input_tokens - (used.cache_read_tokens or 0) - (used.cache_write_tokens or 0)
    assert uncached in (5, 1258, 1647)


def test_claude_codes_own_sum_is_read() -> None:
    """Fields beside the counts would spoil them; thinking is told in a place of its own."""
    raw = {
        "input_tokens": 468, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2000, "output_tokens": 112,
        "output_tokens_details": {"thinking_tokens": 12}, "server_tool_use": {"web_search_requests": 0},
        "service_tier": "standard", "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
    }  # fmt: skip
    assert usage_of("messages", raw) == Usage(
        input_tokens=2468,
        cache_read_tokens=2000,
        cache_write_tokens=0,
        output_tokens=112,
        reasoning_tokens=12,
    )
    assert usage_of(
        "messages", {"input_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 7}}
    ) == Usage(input_tokens=8, cache_write_tokens=7)


@pytest.mark.parametrize(
    ("raw", "read", "write"),
    [
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5}, 4, None),
        ({"prompt_tokens": 9, "cached_tokens": 4}, 4, None),
        ({"prompt_tokens": 9, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3}, 4, 3),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}}, 4, 3),
        ({"prompt_tokens": 9, "prompt_tokens_details": None}, None, None),
    ],
)
def test_caches_are_found_in_every_field(raw: dict[str, Any], read: int | None, write: int | None) -> None:
    """DeepSeek, Moonshot, LiteLLM and OpenRouter each have their own; not told is null and not 0."""
    assert usage_of("chat", raw) == Usage(input_tokens=9, cache_read_tokens=read, cache_write_tokens=write)


def test_reasoning_that_is_counted_apart_is_output() -> None:
    """xAI's and Google's output would be too small; in OpenAI's it would be counted twice."""
    details = {"completion_tokens_details": {"reasoning_tokens": 30}}
    apart = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45} | details
    assert usage_of("chat", apart) == Usage(input_tokens=10, output_tokens=35, reasoning_tokens=30)
    within = {"prompt_tokens": 10, "completion_tokens": 35, "total_tokens": 45} | details
    assert usage_of("chat", within) == Usage(input_tokens=10, output_tokens=35, reasoning_tokens=30)
    neither = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15} | details
    assert usage_of("chat", neither) == Usage(input_tokens=10, output_tokens=5)


@pytest.mark.parametrize(
    ("raw", "cost"),
    [
        ({"cost": 0.42}, 0.42),
        ({"cost": 0}, 0.0),
        ({"estimated_cost": 0.001}, 0.001),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}, 0.21),
        ({"cost": 0.01, "is_byok": True}, None),
        ({"cost": "0.1"}, None),
        ({"cost": -1}, None),
        ({"cost": float("nan")}, None),
        ({"cost": True}, None),
        ({"cost": 10**400}, None),
        ({}, None),
    ],
)
def test_cost_is_what_the_provider_tells(raw: dict[str, Any], cost: float | None) -> None:
    """A cost that nobody told would be 0, and the sum look complete."""
    used = usage_of("chat", {"prompt_tokens": 1, **raw})
    assert used is not None
    assert used.cost_usd == pytest.approx(cost) if cost is not None else used.cost_usd is None


@pytest.mark.parametrize("odd", [-1, 1.5, "12", True, float("nan"), float("inf"), 10**13, [], {}, None])
def test_what_is_no_count_is_null(odd: Any) -> None:
    """One provider's slip would make a sum of a whole run wrong."""
    assert usage_of("chat", {"prompt_tokens": odd, "completion_tokens": 3}) == Usage(output_tokens=3)
    assert usage_of("responses", {"input_tokens": odd, "output_tokens": 3}) == Usage(output_tokens=3)
    assert usage_of("messages", {"input_tokens": odd, "output_tokens": 3}) == Usage(output_tokens=3)
    assert usage_of("chat", {"prompt_tokens": 2.0}) == Usage(input_tokens=2)
    if odd is not None:
        assert usage_of("messages", {"input_tokens": 5, "cache_read_input_tokens": odd}) == Usage()


def test_more_cached_than_there_was_is_null() -> None:
    """A server that mixes both conventions would make cost negative."""
    raw = {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 100}, "completion_tokens": 7}
    assert usage_of("chat", raw) == Usage(output_tokens=7)


@pytest.mark.parametrize("dialect", FORMS)
@pytest.mark.parametrize("raw", [None, 7, "x", []])
def test_no_object_is_no_usage(dialect: str, raw: Any) -> None:
    """An answer without usage would count as one of 0 tokens."""
    assert usage_of(dialect, raw) is None


FIELDS = [
    "prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "cache_read_input_tokens",
    "cache_creation_input_tokens", "cached_input_tokens", "prompt_tokens_details", "input_tokens_details", "cost",
    "completion_tokens_details", "output_tokens_details", "cache_creation", "cost_details", "is_byok", "cached_tokens",
    "cache_write_tokens", "reasoning_tokens", "thinking_tokens", "upstream_inference_cost",
]  # fmt: skip
numbers = st.integers(-5, 200) | st.floats() | st.none() | st.booleans() | st.text(max_size=3)
raws = st.dictionaries(
    st.sampled_from(FIELDS), numbers | st.dictionaries(st.sampled_from(FIELDS), numbers), max_size=8
)


@settings(max_examples=150, deadline=None)
@given(dialect=st.sampled_from(list(FORMS)), raw=raws)
def test_parts_never_exceed_the_whole(dialect: str, raw: dict[str, Any]) -> None:
    """Uncached input or cost would be negative."""
    used = usage_of(dialect, raw)
    assert used is not None
    told = [used.input_tokens, used.cache_read_tokens, used.cache_write_tokens, used.output_tokens]
    assert all(each is None or (type(each) is int and each >= 0) for each in told)
    if used.input_tokens is not None:
        assert (used.cache_read_tokens or 0) + (used.cache_write_tokens or 0) <= used.input_tokens
    if used.output_tokens is not None:
        assert (used.reasoning_tokens or 0) <= used.output_tokens
