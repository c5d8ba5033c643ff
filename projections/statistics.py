"""Estimates, intervals and tests for small benchmarks. Pure functions of numbers; no third-party library.

Scores are plain floats, usually in [0, 1]. A function that has nothing to say returns None, never 0.
Where each formula comes from is in its docstring and, with the choices made, in docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import comb

#: Two-sided 95 % point of the normal distribution.
Z95 = 1.959963984540054
#: z for 95 % two-sided confidence plus z for 80 % power (Miller 2024, section on sample size).
Z95_POWER80 = 2.8015852181130225

Groups = Mapping[str, Sequence[float]]


def wilson(passes: float, n: int, z: float = Z95) -> tuple[float, float] | None:
    """Wilson's score interval (1927) for `passes` of `n`; None for n = 0. Never of width 0 at 0/n or n/n."""
    if n == 0:
        return None
    p = passes / n
    d = 1 + z * z / n
    m = (p + z * z / (2 * n)) / d
    h = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / d
    return (0.0 if passes == 0 else m - h, 1.0 if passes == n else m + h)


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Chance that one of `k` attempts passes, from `c` passes in `n` (Chen et al. 2021); None if n < k."""
    return None if n < k else 1 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """Chance that all of `k` attempts pass, from `c` passes in `n` (Yao et al. 2024); None if n < k."""
    return None if n < k else comb(c, k) / comb(n, k)


def mean_se(values: Sequence[float]) -> tuple[float, float | None] | None:
    """Mean and its standard error sd/sqrt(n), ddof 1. None for no values; error None for one value."""
    n = len(values)
    if n == 0:
        return None
    m = math.fsum(values) / n
    if n < 2:
        return m, None
    return m, math.sqrt(math.fsum((v - m) ** 2 for v in values) / (n - 1) / n)


def rerun_se(groups: Groups) -> float | None:
    """Standard error of the mean of task means if exactly these tasks were run again.

    Needs at least two scores in every group; otherwise it is not available (None).
    """
    if not groups or any(len(g) < 2 for g in groups.values()):
        return None
    total = 0.0
    for g in groups.values():
        m = math.fsum(g) / len(g)
        total += math.fsum((x - m) ** 2 for x in g) / (len(g) - 1) / len(g)
    return math.sqrt(total) / len(groups)


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Two-sided exact McNemar p: a sign test on the tasks that exactly one side passes (1947)."""
    n = only_a + only_b
    if n == 0:
        return 1.0
    tail = sum(comb(n, i) for i in range(min(only_a, only_b) + 1))
    return min(1.0, 2 * tail / (1 << n))


def newcombe_paired(both: int, only_a: int, only_b: int, neither: int) -> tuple[float, float, float] | None:
    """Difference of two paired proportions with its 95 % interval (Newcombe 1998, method 10; phi corrected).

    Returns (difference, low, high), or None without pairs.
    """
    n = both + only_a + only_b + neither
    wa, wb = wilson(both + only_a, n), wilson(both + only_b, n)
    if wa is None or wb is None:
        return None
    pa, pb = (both + only_a) / n, (both + only_b) / n
    q = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    num = both * neither - only_a * only_b
    phi = 0.0 if q == 0 else (max(num - n / 2, 0) if num > 0 else num) / math.sqrt(q)
    dl, du, el, eu = pa - wa[0], wa[1] - pa, pb - wb[0], wb[1] - pb
    d = (only_a - only_b) / n
    low = math.sqrt(max(0.0, dl * dl - 2 * phi * dl * eu + eu * eu))
    high = math.sqrt(max(0.0, du * du - 2 * phi * du * el + el * el))
    return d, d - low, d + high


def smallest_detectable(flip_share: float, tasks: int) -> float | None:
    """Smallest true difference that a paired comparison finds with 80 % power at two-sided 5 % (Miller 2024).

    `flip_share` is the share of tasks on which the two sides differ; one binary attempt a task. At most 1.
    """
    if tasks == 0:
        return None
    return min(1.0, Z95_POWER80 * math.sqrt(flip_share / tasks))


def t_two_sided_p(t: float, df: int) -> float:
    """Chance of a Student t at least as far from 0 as `t` with `df` degrees of freedom."""
    if math.isinf(t):
        return 0.0
    return _incomplete_beta(df / 2, 0.5, df / (df + t * t))


@lru_cache(maxsize=256)
def t_quantile(df: int, confidence: float = 0.95) -> float:
    """The t that encloses `confidence` of Student's distribution between -t and t."""
    low, high = 0.0, 2.0
    while t_two_sided_p(high, df) > 1 - confidence:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_two_sided_p(middle, df) > 1 - confidence else (low, middle)
    return (low + high) / 2


def t_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % t interval of the mean with n-1 degrees of freedom, not clipped; None below two values."""
    estimate = mean_se(values)
    if estimate is None or estimate[1] is None:
        return None
    h = t_quantile(len(values) - 1) * estimate[1]
    m = estimate[0]
    return m - h, m + h


def paired_p(differences: Sequence[float]) -> float | None:
    """Two-sided p of the paired t test; None below two pairs or where no pair differs from another."""
    estimate = mean_se(differences)
    if estimate is None or not estimate[1]:
        return None
    return t_two_sided_p(estimate[0] / estimate[1], len(differences) - 1)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta I_x(a, b), by its continued fraction (Abramowitz and Stegun 26.5.8)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    h = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1 + step * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + step / c
            c = c if abs(c) > tiny else tiny
            h *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return h
