"""Permutation test and bootstrap. Draws come from a fixed seed: the same events give the same figures."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist

#: Above this number of non-zero differences the sign-flip test draws instead of counting all 2^n cases.
EXACT_FLIPS = 16
FLIP_DRAWS = 100_000
BOOTSTRAP_DRAWS = 10_000
SEED = 20_240_101

Statistic = Callable[[Sequence[float]], float]


def sign_flip(differences: Sequence[float]) -> float:
    """Two-sided p of the paired sign-flip permutation test on the mean.

    Exact up to 16 non-zero differences; above that 100,000 draws with p = (1 + hits) / (1 + draws).
    Swapping the sides (every difference negated) gives exactly the same p.
    """
    d = [x for x in differences if x]
    observed = abs(math.fsum(d)) - 1e-12
    tables = [_signed_sums(d[i : i + 8]) for i in range(0, len(d), 8)]
    if len(d) <= EXACT_FLIPS:
        cases = 1 << len(d)
        hits = sum(abs(_flipped(tables, mask)) >= observed for mask in range(cases))
        return hits / cases
    draw = random.Random(SEED).getrandbits
    hits = sum(abs(_flipped(tables, draw(len(d)))) >= observed for _ in range(FLIP_DRAWS))
    return (1 + hits) / (1 + FLIP_DRAWS)


def _signed_sums(values: Sequence[float]) -> list[float]:
    """Sum of `values` for each of the 2^n choices of signs: bit i of the index set = value i positive."""
    sums = [0.0]
    for value in values:
        sums = [s - value for s in sums] + [s + value for s in sums]
    return sums


def _flipped(tables: list[list[float]], mask: int) -> float:
    """Sum over all differences with the signs that `mask` says, eight at a time."""
    total = 0.0
    for table in tables:
        total += table[mask & (len(table) - 1)]
        mask >>= 8
    return total


def bootstrap_interval(
    groups: Mapping[str, Sequence[float]],
    statistic: Statistic,
    *,
    draws: int = BOOTSTRAP_DRAWS,
    bca: bool = False,
) -> tuple[float, float] | None:
    """95 % bootstrap interval: tasks are drawn with replacement, then attempts within each of them.

    `statistic` gets one value a drawn task (the mean of its drawn attempts). Percentile, or BCa (Efron
    1987). For odd statistics such as a median; not a test. None below two tasks, or where BCa sees no spread.
    """
    tasks = [list(groups[name]) for name in sorted(groups) if groups[name]]
    if len(tasks) < 2:
        return None
    rng = random.Random(SEED)
    results = sorted(statistic(_redraw(tasks, rng)) for _ in range(draws))
    low, high = 0.025, 0.975
    if bca:
        adjusted = _bca_levels([math.fsum(t) / len(t) for t in tasks], results, statistic)
        if adjusted is None:
            return None
        low, high = adjusted
    return _at(results, low), _at(results, high)


def _redraw(tasks: list[list[float]], rng: random.Random) -> list[float]:
    """One bootstrap sample of task means."""
    drawn = rng.choices(tasks, k=len(tasks))
    return [
        scores[0] if len(scores) == 1 else math.fsum(rng.choices(scores, k=len(scores))) / len(scores)
        for scores in drawn
    ]


def _bca_levels(means: list[float], results: list[float], statistic: Statistic) -> tuple[float, float] | None:
    """The percentile levels that correct for bias and skewness."""
    normal = NormalDist()
    observed = statistic(means)
    below = sum(r < observed for r in results) + sum(r == observed for r in results) / 2
    if not 0 < below < len(results):
        return None
    bias = normal.inv_cdf(below / len(results))
    left_out = [statistic(means[:i] + means[i + 1 :]) for i in range(len(means))]
    centre = math.fsum(left_out) / len(left_out)
    spread = math.fsum((centre - v) ** 2 for v in left_out)
    if spread == 0:
        return None
    skew = math.fsum((centre - v) ** 3 for v in left_out) / (6 * spread**1.5)
    levels = []
    for z in (normal.inv_cdf(0.025), normal.inv_cdf(0.975)):
        levels.append(normal.cdf(bias + (bias + z) / (1 - skew * (bias + z))))
    return levels[0], levels[1]


def _at(ordered: list[float], level: float) -> float:
    """The value at `level` of an ordered sample, linear between neighbours."""
    position = level * (len(ordered) - 1)
    i = int(position)
    if i + 1 == len(ordered):
        return ordered[i]
    return ordered[i] + (ordered[i + 1] - ordered[i]) * (position - i)
