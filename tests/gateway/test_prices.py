"""Prices: what a call cost by the table, and that what the table does not know costs nobody knows what, not 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventlog.schemas.trials import Usage
from hemra.errors import NotFound, UsageError
from hemra.gateway import prices
from hemra.gateway.prices import Entry, LongPrompts, PriceTable, load_prices, read_prices

HEAD = "name: mine\ndate: 2026-11-30\n"


def table(*entries: Entry) -> PriceTable:
    """A table with these entries."""
    return PriceTable("mine", "2026-11-30", entries)


def written(folder: Path, text: str, *, head: str = HEAD) -> Path:
    """A price table file."""
    path = folder / "prices.yaml"
    path.write_text(head + text, encoding="utf-8")
    return path


def test_cached_tokens_are_charged_once_at_their_own_price() -> None:
    """Cached tokens, which are part of the input, would be charged again (C40), or at the price of new ones."""
    at = table(Entry(models=["m"], input=3, cached_input=0.3, cache_write=3.75, output=15))
    usage = Usage(
        input_tokens=130_213, cache_read_tokens=128_955, cache_write_tokens=1_253, output_tokens=1_000
    )
    expected = (5 * 3 + 128_955 * 0.3 + 1_253 * 3.75 + 1_000 * 15) / 1e6
    assert at.cost("m", usage) == pytest.approx(expected)
    codex = Usage(input_tokens=117_231, cache_read_tokens=115_584, output_tokens=225)
    assert at.cost("m", codex) == pytest.approx((1_647 * 3 + 115_584 * 0.3 + 225 * 15) / 1e6)


def test_an_unknown_model_has_no_cost() -> None:
    """263 million tokens of a model without a price would be free (C41)."""
    at = table(Entry(models=["priced"], input=1, output=2), Entry(models=["local"], input=0, output=0))
    much = Usage(input_tokens=263_000_000, output_tokens=1)
    assert at.cost("other", much) is None
    assert at.cost(None, much) is None
    assert at.cost("local", much) == 0.0
    assert at.cost("local", None) == 0.0, "an explicit price of 0 needs no count"


def test_tokens_that_are_not_known_have_no_cost() -> None:
    """A call whose tokens nobody told, or told wrongly, would cost 0 or less."""
    at = table(Entry(models=["m"], input=1, output=2))
    assert at.cost("m", None) is None
    assert at.cost("m", Usage(output_tokens=5)) is None
    assert at.cost("m", Usage(input_tokens=5)) is None
    assert at.cost("m", Usage(input_tokens=5, cache_read_tokens=6, output_tokens=1)) is None
    assert at.cost("m", Usage(input_tokens=1_000_000, output_tokens=500_000)) == 2.0


def test_cache_prices_that_are_left_out_are_those_of_input() -> None:
    """What is read from a cache would be free where the table has no price for it."""
    at = table(Entry(models=["m"], input=2, output=0))
    usage = Usage(
        input_tokens=1_000_000, cache_read_tokens=400_000, cache_write_tokens=100_000, output_tokens=9
    )
    assert at.cost("m", usage) == 2.0


def test_the_most_exact_pattern_wins() -> None:
    """A wide pattern would take the price of a model that has its own."""
    at = table(
        Entry(models=["gpt-*"], input=1, output=0),
        Entry(models=["*"], input=9, output=0),
        Entry(models=["gpt-5*"], input=2, output=0),
        Entry(models=["gpt-5-mini"], input=3, output=0),
        Entry(models=["*-5-codex"], input=4, output=0),
        Entry(models=["x[1m]", "a.b"], input=5, output=0),
    )
    found = {
        m: e.input
        for m in ("gpt-4", "gpt-5-nano", "gpt-5-mini", "gpt-5-codex", "llama", "x[1m]", "x1", "a.b", "axb")
        if (e := at.entry(m))
    }
    assert found == {
        "gpt-4": 1, "gpt-5-nano": 2, "gpt-5-mini": 3, "gpt-5-codex": 4, "llama": 9, "x[1m]": 5, "x1": 9,
        "a.b": 5, "axb": 9,
    }  # fmt: skip


def test_long_prompts_have_their_own_prices() -> None:
    """A long prompt would be charged as a short one, or a short one as a long one."""
    long = LongPrompts(above=100_000, input=0.5, cached_input=0.05, output=2.5)
    at = table(Entry(models=["m"], input=0.1, cached_input=0.01, output=0.5, long=long))
    short = Usage(input_tokens=100_000, cache_read_tokens=50_000, output_tokens=1_000)
    longer = Usage(input_tokens=100_001, cache_read_tokens=50_000, output_tokens=1_000)
    assert at.cost("m", short) == pytest.approx((50_000 * 0.1 + 50_000 * 0.01 + 1_000 * 0.5) / 1e6)
    assert at.cost("m", longer) == pytest.approx((50_001 * 0.5 + 50_000 * 0.05 + 1_000 * 2.5) / 1e6)
    dear = Entry(models=["m"], input=0, output=0, long=LongPrompts(above=9, input=1, output=0))
    assert table(dear).cost("m", None) is None, "free only for short prompts"


def test_the_bundled_table_can_be_used() -> None:
    """The table that everybody gets would not be read, or have entries without a source."""
    bundled = read_prices(prices.BUNDLED)
    assert bundled.date == "2026-10-24"
    assert all(entry.source for entry in bundled.entries)
    assert bundled.cost("claude-haiku-4-5-20251001", Usage(input_tokens=10**6, output_tokens=10**6)) == 6.0
    assert bundled.cost("gpt-5-mini-2025-08-07", Usage(input_tokens=10**6, output_tokens=0)) == 0.25
    assert bundled.cost("test-model", Usage(input_tokens=1, output_tokens=1)) is None


def test_a_recorded_table_comes_back_whole() -> None:
    """A resumed run would go on with other prices than those it was planned with."""
    bundled = read_prices(prices.BUNDLED)
    again = PriceTable.of_record(bundled.recorded())
    assert again == bundled
    assert again.digest == bundled.recorded()["digest"]
    other = table(Entry(models=["m"], input=1, output=2))
    assert other.digest != table(Entry(models=["m"], input=1, output=3)).digest
    with pytest.raises(UsageError, match="recorded price table"):
        PriceTable.of_record({"name": "x"})


def test_the_users_table_goes_before_the_bundled_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices that the user wrote down would not be used, or hide all others without being asked to."""
    monkeypatch.setattr(prices, "user_file", lambda: tmp_path / "prices.yaml")
    assert load_prices().name == "hemra list prices"
    local = "prices:\n  - {models: [llama], input: 0, output: 0}\n"
    written(tmp_path, local)
    assert load_prices().label == "mine (2026-11-30)"
    assert load_prices().entry("gpt-5") is None
    written(tmp_path, "extends: bundled\n" + local)
    assert load_prices().name == "mine + hemra list prices (2026-10-24)"
    assert load_prices().entry("gpt-5") is not None
    assert load_prices(str(prices.BUNDLED)).entry("llama") is None, "--prices goes before both"
    with pytest.raises(NotFound, match="absent"):
        load_prices(str(tmp_path / "absent.yaml"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prices: [{models: [a], input: 1}]", "missing required field output"),
        ("prices: [{models: [a], input: -1, output: 1}]", "entry 1: input is -1"),
        ("prices: [{models: [a], input: .nan, output: 1}]", "input is nan"),
        ("prices: [{models: [a], input: 1, output: 1, cached: 1}]", "unknown field cached"),
        ("prices: [{models: [], input: 1, output: 1}]", "name at least one model"),
        ("prices: [{models: [' '], input: 1, output: 1}]", "a name is empty"),
        ("prices: [{models: [a], input: 1, output: 1}, {models: [b, a], input: 2, output: 1}]",
         "entry 2: 'a' has a price already, in entry 1"),
        ("prices: [{models: [a], input: 1, output: 1, long: {above: 0, input: 1, output: 1}}]", "above"),
        ("prices: [{models: [a], input: free, output: 1}]", "input"),
        ("currency: EUR\nprices: []", "currency"),
        ("prices: []\nextends: others", "extends"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table_is_said(tmp_path: Path, text: str, said: str) -> None:
    """A slip in the table would be taken for a price, or end in a traceback."""
    path = written(tmp_path, text + "\n")
    with pytest.raises(UsageError) as caught:
        read_prices(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_must_be_dated_and_named(tmp_path: Path) -> None:
    """Costs would be compared whose prices are of different times, and nobody could see it."""
    for head, said in (("name: x\n", "date"), ("date: 2026-11-30\n", "name"),
                       ("name: x\ndate: soon\n", "date"), ("name: ' '\ndate: 2026-11-30\n", "name")):  # fmt: skip
        with pytest.raises(UsageError, match=said):
            read_prices(written(tmp_path, "prices: []\n", head=head))
