"""What harnesses took of their models, for all formats: the same columns for every harness, and cost in words."""

from __future__ import annotations

from typing import Any

from hemra.reports import numbers as n
from projections import words
from projections.models import listed

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


def paid_words(harness: Row, prices: Row | None) -> str:
    """`cost_words`, and what was paid in all where tries were run again and a price is known; empty where the bare sum
    says all.

    `$9.00, computed; paid in all $11.25, of that $2.25 for 1 try that was run again`
    """
    told, tries = cost_words(harness, prices), harness["retries"]["tries"]
    if not tries or harness["paid"]["usd"] is None:
        return told
    paid, again = harness["paid"], harness["retries"]["cost"]
    that = "1 try that was" if tries == 1 else f"{tries} tries that were"
    return (
        f"{told or short_cost(harness)}; paid in all {n.money(paid['usd'], paid['lower_bound'])}, "
        f"of that {n.money(again['usd'], again['lower_bound'])} for {that} run again"
    )


#: Titles of the columns of what was run again, in the order of `run_again`.
RUN_AGAIN = ("Tries", "Why", "Time", "Calls", "Tokens in", "Tokens out", "Cost", "Paid in all")


def run_again(harness: Row) -> list[str]:
    """Cells for `RUN_AGAIN`: what the tries took that do not count, and the money for all tries."""
    again, paid = harness["retries"], harness["paid"]
    why = ", ".join(f"{count} {n.plain(words.result_label(o))}" for o, count in again["outcomes"].items())
    part = again["duration_ns"] is not None and again["duration_known"] < again["tries"]
    tokens = (again["tokens"][kind] for kind in ("input", "output"))
    return [
        str(again["tries"]), why, n.duration(again["duration_ns"]) + ("+" if part else ""), _calls(again["calls"]),
        *(n.total(t["sum"], t["lower_bound"]) for t in tokens),
        n.money(again["cost"]["usd"], again["cost"]["lower_bound"]), n.money(paid["usd"], paid["lower_bound"]),
    ]  # fmt: skip


def model_words(models: Row) -> str:
    """The model of a harness's file, and those asked for and answering where they are others; empty for none.

    `model-alpha; asked for x/model-alpha; answered by model-alpha-2026-11-01; side calls asked for small`
    """
    parts = [] if models["file"] is None else [n.plain(models["file"])]
    if models["only_side"]:
        return "; ".join([*parts, f"all calls asked for {_names(models['only_side'])}"])
    for text, key in (("asked for", "asked"), ("answered by", "answered")):
        if models[key] and models[key] != [models["file"]]:
            parts.append(f"{text} {_names(models[key])}")
    if models["side"]:
        parts.append(f"side calls asked for {_names(models['side'])}")
    return "; ".join(parts)


def _names(names: list[str]) -> str:
    return listed([n.plain(name) for name in names])


def _accounts(cost: Row, prices: Row | None) -> str:
    """Who says so: `, computed by mine (2026-11-30)`; with their sums where there are two of them."""
    table = f" by {n.plain(prices['name'])} ({n.plain(prices['date'])})" if prices else ""
    said = [(cost["told_usd"], "told"), (cost["computed_usd"], f"computed{table}")]
    known = [(usd, by) for usd, by in said if usd is not None]
    if len(known) == 1:
        return f", {known[0][1]}"
    return ": " + ", ".join(f"{n.money(usd)} {by}" for usd, by in known) if known else ""


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
