"""Two harnesses (or two runs of one) set side by side, task by task. Swapping the sides mirrors every figure.

Only pairs count: same task content, same scorer, same reward, scored on both sides. The rest is listed with
its reason. What each figure is and where it comes from: docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from statistics import median

from eventlog.store import Store
from projections import conditions, resampling, statistics
from projections.compare_cautions import compare_cautions
from projections.figures import COVERAGE_LIMIT
from projections.pairing import Pairing, SideTask, pair, side_tasks
from projections.sides import Row, Side, sides
from projections.spending import columns, cost_comparable, spending

SCHEMA = "hemra.compare/1"
#: Below this share of paired tasks a comparison says little about the whole.
OVERLAP_LIMIT = 0.8
#: Share of flipping tasks taken for the detectable difference where none flipped.
ASSUMED_FLIPS = 0.1
ALPHA = resampling.ALPHA
#: Below this many tasks a bootstrap interval is noise.
MIN_BOOTSTRAP = 5

Pairs = Sequence[tuple[SideTask, SideTask]]


def compare(store: Store, left: str, right: str | None = None) -> Row:
    """Compare `RUN[:HARNESS]` with `RUN[:HARNESS]`, or the two harnesses of one RUN.

    Raises BadComparison when a side is not one harness, RunNotFound, and what reading the log raises.
    """
    a, b = sides(store, left, right)
    return comparison(a, b)


def comparison(a: Side, b: Side) -> Row:
    """The comparison of two sides (`hemra.compare/1`)."""
    pairing = pair(side_tasks(a.trials, a.harness), side_tasks(b.trials, b.harness))
    differing = conditions.differences(a, b, pairing.matched)
    withheld = _withheld(a, b, pairing)
    left, right = _side(a, pairing.matched, 0), _side(b, pairing.matched, 1)
    return {
        "schema": SCHEMA,
        "a": left,
        "b": right,
        "like_for_like": not differing,
        "conditions": differing,
        "counts": {
            "matched": len(pairing.matched), "only_a": len(pairing.only_a), "only_b": len(pairing.only_b),
            "unpaired": len(pairing.unpaired), "union": pairing.union,
        },
        "result": _result(pairing.matched, withheld) | {"cost": _cost_difference(left, right)},
        "tasks": [_task(x, y) for x, y in pairing.matched],
        "only_a": pairing.only_a,
        "only_b": pairing.only_b,
        "unpaired": pairing.unpaired,
        "warnings": compare_cautions(a, b, pairing, withheld),
    }  # fmt: skip


def _side(side: Side, matched: Pairs, index: int) -> Row:
    """What is known of one side: identity, coverage over all its tasks, and cost over the matched ones."""
    own, report = side.figures, side.report
    trials = [t for p in matched for t in p[index].trials]
    times = [t["agent_ns"] for t in trials if t["agent_ns"] is not None]
    return {
        "run": report["run"],
        "name": report["name"],
        "status": report["status"],
        "started": report["started"],
        "dataset": report["dataset"],
        "harness": side.harness,
        "version": own["version"],
        "versions": conditions.versions(side, trials),
        "model": own["model"],
        "models": conditions.models(side, trials),
        "planned": own["planned"],
        "scored": own["scored"],
        "passed": own["passed"],
        "coverage": own["coverage"],
        "strict": own["strict"],
        "scored_only": own["scored_only"],
        "prices": report["prices"],
        "cassette": report["cassette"],
        "matched": {"agent_median_ns": median(times) if times else None, **spending(trials)},
    }


def _cost_difference(a: Row, b: Row) -> Row:
    """What A cost more than B on the matched tasks; withheld, with the reason, where either is not known whole."""
    left, right = a["matched"], b["matched"]
    withheld = cost_comparable(left, right)
    return {
        "usd": None if withheld else left["cost"]["usd"] - right["cost"]["usd"],
        "withheld": withheld,
    }


def _task(a: SideTask, b: SideTask) -> Row:
    left, right = (side.figures() | {"spent": columns(side.trials)} for side in (a, b))
    return {"task": a.task, "a": left, "b": right, "difference": _difference(a, b)}


def _difference(a: SideTask, b: SideTask) -> float:
    return (a.mean or 0.0) - (b.mean or 0.0)


def _result(matched: Pairs, withheld: Sequence[Row]) -> Row:
    """The paired figures: difference A - B with interval and tests, and which tasks went which way."""
    d = [_difference(a, b) for a, b in matched]
    # One attempt, or attempts that agree: each task is all or nothing on both sides.
    binary = bool(matched) and all(s.mean in (0, 1) for p in matched for s in p)
    mean_and_se = statistics.mean_se(d) or (None, None)
    interval = statistics.t_interval(d) if mean_and_se[1] else None
    table = _paired_table(matched) if binary else None
    flip = resampling.sign_flip_test(d) if d else None
    flip_p = flip.p if flip else None
    p = table["p"] if table else flip_p
    if flip and not table and flip.undecided_by_draw(ALPHA):
        withheld = [*withheld, {"cause": "drawn", "p": flip.p, "error": flip.error, "limit": ALPHA}]
    return {
        "tasks": len(d),
        "one_attempt": all(len(s.rewards) == 1 for p in matched for s in p),
        "mean_a": _mean_of([a.mean for a, _ in matched]),
        "mean_b": _mean_of([b.mean for _, b in matched]),
        "difference": mean_and_se[0],
        "se": mean_and_se[1],
        "t_low": None if interval is None else max(-1.0, interval[0]),
        "t_high": None if interval is None else min(1.0, interval[1]),
        "t_p": statistics.paired_p(d),
        "sign_flip_p": flip_p,
        "sign_flip": asdict(flip) if flip else None,
        "paired_table": table,
        "p": p,
        "smallest_detectable": _detectable(d, binary),
        "passes_only_on_a": [a.task for a, b in matched if a.passed and not b.passed],
        "passes_only_on_b": [a.task for a, b in matched if b.passed and not a.passed],
        "higher_on_a": [a.task for (a, _), x in zip(matched, d, strict=True) if x > 0],
        "higher_on_b": [a.task for (a, _), x in zip(matched, d, strict=True) if x < 0],
        "agent_time": _time_difference(matched),
        "verdict": _verdict(mean_and_se[0], p, bool(withheld)),
        "withheld": list(withheld),
    }


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return math.fsum(known) / len(known) if known else None


def _paired_table(matched: Pairs) -> Row:
    """Every task all or nothing: the four cells, exact McNemar, and Newcombe's interval."""
    cells = [(a.mean == 1, b.mean == 1) for a, b in matched]
    both, only_a = cells.count((True, True)), cells.count((True, False))
    only_b, neither = cells.count((False, True)), cells.count((False, False))
    newcombe = statistics.newcombe_paired(both, only_a, only_b, neither)
    return {
        "both": both, "only_a": only_a, "only_b": only_b, "neither": neither,
        "p": statistics.mcnemar_exact(only_a, only_b),
        "low": newcombe[1] if newcombe else None, "high": newcombe[2] if newcombe else None,
    }  # fmt: skip


def _detectable(d: Sequence[float], binary: bool) -> Row | None:
    """The smallest true difference that so many tasks would find in four cases of five.

    From the share of flips (all-or-nothing tasks) or the spread of the differences (`flip_share` is then
    null); where nothing differed, from an assumed share, and `assumed` says so.
    """
    if not d:
        return None
    _, se = statistics.mean_se(d) or (None, None)
    assumed = not any(d)
    share: float | None = None
    if binary or assumed or not se:
        share = ASSUMED_FLIPS if assumed else math.fsum(x * x for x in d) / len(d)
        value = statistics.smallest_detectable(share, len(d))
    else:
        value = min(1.0, statistics.Z95_POWER80 * se)
    return {"difference": value, "flip_share": share, "assumed": assumed, "tasks": len(d)}


def _time_difference(matched: Pairs) -> Row | None:
    """Median over tasks of the difference in mean agent time (A - B, ns), with a bootstrap interval."""
    groups = {}
    for a, b in matched:
        left, right = _agent_mean(a), _agent_mean(b)
        if left is not None and right is not None:
            groups[a.task] = [left - right]
    if not groups:
        return None
    interval = resampling.bootstrap_interval(groups, median) if len(groups) >= MIN_BOOTSTRAP else None
    return {
        "median_ns": median(v[0] for v in groups.values()),
        "low_ns": interval[0] if interval else None,
        "high_ns": interval[1] if interval else None,
        "tasks": len(groups),
    }


def _agent_mean(side: SideTask) -> float | None:
    return _mean_of([t["agent_ns"] for t in side.trials])


def _verdict(difference: float | None, p: float | None, withheld: bool) -> str:
    """`a` or `b` (better), `undecided`, `withheld` (`withheld` says why) or `none` (nothing is paired)."""
    if difference is None or p is None:
        return "none"
    if withheld:
        return "withheld"
    if p >= ALPHA or difference == 0:
        return "undecided"
    return "a" if difference > 0 else "b"


def _withheld(a: Side, b: Side, pairing: Pairing) -> list[Row]:
    """What makes the comparison unfit for a verdict: of what there is too little, how much, and what is needed."""
    out = []
    matched, union = len(pairing.matched), pairing.union
    if union and matched / union < OVERLAP_LIMIT:
        out.append(_lack("overlap", None, matched, union, OVERLAP_LIMIT))
    for letter, side in (("a", a), ("b", b)):
        own = side.figures
        if own["planned"] and own["coverage"] < COVERAGE_LIMIT:
            out.append(_lack("coverage", letter, own["scored"], own["planned"], COVERAGE_LIMIT))
    return out


def _lack(cause: str, side: str | None, number: int, of: int, needed: float) -> Row:
    return {
        "cause": cause, "side": side, "number": number, "of": of, "share": number / of, "needed": needed,
    }  # fmt: skip
