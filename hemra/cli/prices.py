"""`hemra prices`: the price table in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hemra.cli.context import common_options, json_option
from hemra.cli.lazy import Command
from hemra.cli.output import note, print_facts, print_json, print_table, say
from hemra.reports.columns import Column

if TYPE_CHECKING:
    from hemra.gateway.prices import Entry


@click.command(
    cls=Command,
    examples=[
        ("hemra prices", "the table in use, its date, and where your own is looked for"),
        ("hemra prices claude-opus-5-5", "what a million tokens of a model cost"),
        ("hemra prices --prices ./mine.yaml --json", "another table, checked"),
    ],
)
@click.argument("model", required=False)
@click.option("--prices", metavar="FILE", help="This table (default: your own, else the bundled one).")
@json_option
@common_options
def prices(model: str | None, prices: str | None, as_json: bool) -> None:
    """Show the price table in use, or a model's prices.

    Prices are US dollars per million tokens. A model that is not in the table has no price, which is not the same as a
    price of 0: exit code 5.
    """
    import msgspec

    from hemra.errors import NotFound
    from hemra.gateway.prices import chosen_file, load_prices, user_file

    table, file = load_prices(prices), chosen_file(prices)
    entries = list(table.entries)
    if model is not None:
        entry = table.entry(model)
        if entry is None:
            raise NotFound(f"{table.label} has no price for {model!r}; add it to {user_file()}")
        entries = [entry]
    if as_json:
        document: dict[str, Any] = {"schema": "hemra.prices/1", "file": str(file), "own": str(user_file())}
        print_json(document | table.recorded() | {"prices": msgspec.to_builtins(entries)})
        return
    if model is None:
        print_facts([("table", table.name), ("date", table.date), ("file", file), ("your own", user_file())])
        say()
    print_table(
        [Column("models", least=30), Column("input", right=True), Column("cached", right=True),
         Column("cache write", right=True), Column("output", right=True), Column("longer prompts", drop=1),
         Column("source", least=24, drop=2)],
        [_row(entry) for entry in entries],
    )  # fmt: skip
    if model is None:
        note("US dollars per million tokens; a blank cache price is that of input")


def _row(entry: Entry) -> list[Any]:
    longer = ""
    if entry.long is not None:
        longer = f"above {entry.long.above}: {entry.long.input:g} in, {entry.long.output:g} out"
    cached, write = (
        "" if price is None else f"{price:g}" for price in (entry.cached_input, entry.cache_write)
    )
    return [", ".join(entry.models), f"{entry.input:g}", cached, write, f"{entry.output:g}", longer,
            entry.source or ""]  # fmt: skip
