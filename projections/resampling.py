"""Permutation test and bootstrap. Draws come from a fixed seed: the same events give the same figures."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import getitem

ALPHA = 0.05
#: Differences without a common denominator are counted by pairs of half sums, up to so many of them.
EXACT_PAIRS = 36
#: All others are counted sum by sum where that takes about so many bit operations (less than a second).
EXACT_WORK = 4_000_000_000
#: Beyond that the signs are drawn, and more of them where the p of the first draws is beside the limit.
FLIP_DRAWS = 100_000
MORE_FLIP_DRAWS = 1_000_000
#: Common denominators that are tried: attempts, and steps of graded rewards.
MAX_DENOMINATOR = 10_000
#: Differences (of rewards in [0, 1]) that are as near as this are told apart by rounding alone.
ROUNDING = 1e-10
BOOTSTRAP_DRAWS = 10_000
SEED = 20_240_101

Statistic = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class SignFlip:
    """Two-sided p of the sign-flip test. `method` is `exact` or `drawn`.

    `draws` and `error`, three standard errors of a drawn p, are null where it is exact.
    """

    p: float
    method: str
    draws: int | None
    error: float | None

    def undecided_by_draw(self, limit: float) -> bool:
        """Whether other draws might put p on the other side of `limit`."""
        return self.error is not None and abs(self.p - limit) <= self.error


def sign_flip_test(differences: Sequence[float]) -> SignFlip:
    """Paired sign-flip permutation test on the mean: the share of the 2^n choices of signs that are as far from 0.

    Exact wherever the cases can be counted within a second, else drawn. Neither the order of the differences
    nor a swap of the sides (all of them negated) changes p.
    """
    units, slack = _in_units(differences)
    sizes = sorted(abs(u) for u in units if u)
    # Signs are as far from 0 where one side, + or -, weighs no more than the lighter side does here.
    most = min(sum(u for u in units if u > 0), sum(-u for u in units if u < 0)) + slack
    cases = 1 << len(sizes)
    if 2 * most >= sum(sizes):
        return SignFlip(1.0, "exact", None, None)
    if slack and len(sizes) <= EXACT_PAIRS:
        return SignFlip(2 * _count_by_halves(sizes, most) / cases, "exact", None, None)
    if (most + 1) * len(sizes) ** 2 <= EXACT_WORK:
        return SignFlip(2 * _count_by_sum(sizes, most) / cases, "exact", None, None)
    return _drawn(sizes, most)


def _in_units(differences: Sequence[float]) -> tuple[list[int], int]:
    """The differences in whole units, and how many units apart two sums may be that rounding alone tells apart.

    The unit is one over the smallest common denominator, and then sums are exact; where there is none, ROUNDING.
    """
    distinct = {abs(d) for d in differences}
    for q in range(1, MAX_DENOMINATOR + 1):
        if all(abs(d * q - round(d * q)) <= ROUNDING * q for d in distinct):
            return [round(d * q) for d in differences], 0
    return [round(d / ROUNDING) for d in differences], len(differences)


def _count_by_sum(sizes: Sequence[int], most: int) -> int:
    """How many of the 2^n subsets of `sizes` (ascending) add up to `most` or less.

    The shift algorithm (Pagano and Tritchler 1983; Streitberg and Röhmel 1986): the number of subsets with each
    sum, one after the other in one large integer, so that a shift adds a size to all sums at once.
    """
    width = len(sizes) + 1
    ways = 1
    for size in sizes:
        if size > most:
            break
        within = (1 << (most - size + 1) * width) - 1
        ways += (ways & within) << size * width
    # Digits in base 2^width add up to the number modulo 2^width - 1, and there are at most 2^n subsets.
    return ways % ((1 << width) - 1)


def _count_by_halves(sizes: Sequence[int], most: int) -> int:
    """The same from the sums of two halves (Horowitz and Sahni 1974): for few sizes of any magnitude."""
    left, right = _subset_sums(sizes[::2]), _subset_sums(sizes[1::2])
    right.sort()
    return sum(bisect_right(right, most - s) for s in left)


def _subset_sums(sizes: Sequence[int]) -> list[int]:
    """Sum of each of the 2^n subsets: bit i of the index set = size i in it."""
    sums = [0]
    for size in sizes:
        sums += [s + size for s in sums]
    return sums


def _drawn(sizes: Sequence[int], most: int) -> SignFlip:
    """The p of random signs, (1 + hits) / (1 + draws); ten times as many where p is beside the 5 % limit."""
    padded = [*sizes, *[0] * (-len(sizes) % 8)]
    tables = [_subset_sums(padded[i : i + 8]) for i in range(0, len(padded), 8)]
    draw = random.Random(SEED).randbytes
    least, hits, done = sum(sizes) - most, 0, 0
    for draws in (FLIP_DRAWS, MORE_FLIP_DRAWS):
        for _ in range(draws - done):
            total = sum(map(getitem, tables, draw(len(tables))))
            hits += total <= most or total >= least
        done = draws
        p = (1 + hits) / (1 + done)
        found = SignFlip(p, "drawn", done, 3 * math.sqrt(p * (1 - p) / done))
        if not found.undecided_by_draw(ALPHA):
            break
    return found


def bootstrap_interval(
    groups: Mapping[str, Sequence[float]],
    statistic: Statistic,
    *,
    draws: int = BOOTSTRAP_DRAWS,
) -> tuple[float, float] | None:
    """95 % percentile bootstrap interval: tasks are drawn with replacement, then attempts within each of them.

    `statistic` gets one value a drawn task (the mean of its drawn attempts). For odd statistics such as a
    median; not a test. None below two tasks.
    """
    tasks = [list(groups[name]) for name in sorted(groups) if groups[name]]
    if len(tasks) < 2:
        return None
    rng = random.Random(SEED)
    results = sorted(statistic(_redraw(tasks, rng)) for _ in range(draws))
    return _at(results, 0.025), _at(results, 0.975)


def _redraw(tasks: list[list[float]], rng: random.Random) -> list[float]:
    """One bootstrap sample of task means."""
    drawn = rng.choices(tasks, k=len(tasks))
    return [
        scores[0] if len(scores) == 1 else math.fsum(rng.choices(scores, k=len(scores))) / len(scores)
        for scores in drawn
    ]


def _at(ordered: list[float], level: float) -> float:
    """The value at `level` of an ordered sample, linear between neighbours."""
    position = level * (len(ordered) - 1)
    i = int(position)
    if i + 1 == len(ordered):
        return ordered[i]
    return ordered[i] + (ordered[i + 1] - ordered[i]) * (position - i)
