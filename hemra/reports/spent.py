"""What harnesses took of their models, for all formats: the same columns for every harness, and cost in words."""

from __future__ import annotations

from typing import Any

from hemra.reports import numbers as n

Row = dict[str, Any]

#: Titles of the columns of calls and tokens, in the order of `calls_and_tokens`.
CALLS_AND_TOKENS = ("Calls", "Side", "Failed", "Tokens in", "Cached", "Tokens out", "Reasoning")


def calls_and_tokens(spent: Row) -> list[str]:
    """Cells for `CALLS_AND_TOKENS`. Cached tokens are part of those in, reasoning of those out."""
    counted = (n.count(spent["calls"][kind]) for kind in ("turn", "side", "failed"))
    tokens = (spent["tokens"][kind] for kind in ("input", "cache_read", "output", "reasoning"))
    return [*counted, *(n.total(t["sum"], t["lower_bound"]) for t in tokens)]


def short_cost(spent: Row) -> str:
    """The cost for a narrow column: `$0.42+`, `replayed`."""
    cost, replayed = spent["cost"], spent["replayed"]["trials"]
    if cost["usd"] is None and replayed and not cost["unknown"]:
        return "replayed"
    return n.money(cost["usd"], cost["lower_bound"])


def cost_words(spent: Row, prices: Row | None) -> str:
    """The cost in words, where a bare sum would say too little; empty where it says all.

    `$0.42 + 1 trial unpriced: $0.40 told, $0.02 computed by mine (2026-11-30); replayed: 2 trials, $0.10 not spent`
    """
    cost, replayed = spent["cost"], spent["replayed"]
    known = cost["usd"] is not None
    missing = []
    if cost["unknown"] and known:
        missing.append(f"{n.many(cost['unknown'], 'trial')} unpriced")
    if cost["partial"]:
        missing.append(f"{n.many(cost['partial'], 'trial')} priced in part")
    again = f"replayed: {n.many(replayed['trials'], 'trial')}" if replayed["trials"] else ""
    if again and replayed["usd"] is not None:
        again += f", {n.money(replayed['usd'])} not spent"
    if not (missing or again or cost["computed_usd"] is not None):
        return ""
    parts = [" + ".join([n.money(cost["usd"]), *missing]) + _accounts(cost, prices)] if known else []
    return "; ".join([*parts, *([again] if again else [])])


def _accounts(cost: Row, prices: Row | None) -> str:
    """Who says so: `, computed by mine (2026-11-30)`; with their sums where there are two of them."""
    table = f" by {n.plain(prices['name'])} ({n.plain(prices['date'])})" if prices else ""
    said = [(cost["told_usd"], "told"), (cost["computed_usd"], f"computed{table}")]
    known = [(usd, words) for usd, words in said if usd is not None]
    if len(known) == 1:
        return f", {known[0][1]}"
    return ": " + ", ".join(f"{n.money(usd)} {words}" for usd, words in known) if known else ""


def table_rows(spent: Row) -> list[tuple[str, str]]:
    """One side of a comparison as (name, text), the same names for every side."""
    rows = [("calls", _calls(spent["calls"]))]
    tokens = spent["tokens"]
    for name, kind in (("tokens in", "input"), ("  of them cached", "cache_read"), ("tokens out", "output"),
                       ("  of them reasoning", "reasoning")):  # fmt: skip
        rows.append((name, n.total(tokens[kind]["sum"], tokens[kind]["lower_bound"])))
    rows += [
        ("model wait, median", n.duration(spent["model_ns"]["median"])),
        ("first token, median", n.duration(spent["first_token_ns"]["median"])),
    ]
    return rows


def _calls(counted: Row) -> str:
    """`12`, `12 + 2 side, 1 failed`."""
    if counted["turn"] is None:
        return n.UNKNOWN
    side = f" + {counted['side']} side" if counted["side"] else ""
    failed = f", {counted['failed']} failed" if counted["failed"] else ""
    return f"{counted['turn']}{side}{failed}"
