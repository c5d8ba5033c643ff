"""The statistics against hand-checked vectors and, where scipy is installed, against scipy."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from projections import resampling, statistics

GROUPS = {
    "t1": [1.0, 1.0, 0.0],
    "t2": [0.0, 0.0, 0.0],
    "t3": [1.0, 1.0, 1.0],
    "t4": [1.0, 0.0, 0.0],
    "t5": [0.0, 1.0, 1.0, 1.0],
}
A = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
B = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
D = [a - b for a, b in zip(A, B, strict=True)]


@pytest.mark.parametrize(
    ("x", "n", "low", "high"),
    [
        (7, 50, 0.0695083343, 0.2618619371),
        (0, 20, 0.0, 0.1611251581),
        (20, 20, 0.8388748419, 1.0),
        (1, 3, 0.0614919447, 0.7923403992),
        (265, 499, 0.4872064684, 0.5744431817),
    ],
)
def test_wilson(x: int, n: int, low: float, high: float) -> None:
    """Pass-rate intervals would be wrong, or of width 0 at 0/n and n/n."""
    assert statistics.wilson(x, n) == pytest.approx((low, high), abs=1e-9)


def test_wilson_without_trials() -> None:
    """An interval would be shown for nothing measured."""
    assert statistics.wilson(0, 0) is None


@pytest.mark.parametrize(
    ("b", "c", "p"),
    [
        (12, 4, 0.076812744141),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (30, 15, 0.035697803555),
        (10, 10, 1.0),
        (1, 0, 1.0),
        (0, 0, 1.0),
        (3, 0, 0.25),
    ],
)
def test_mcnemar(b: int, c: int, p: float) -> None:
    """The exact paired test would report another p, or change when the sides are swapped."""
    assert statistics.mcnemar_exact(b, c) == pytest.approx(p, abs=1e-11)
    assert statistics.mcnemar_exact(c, b) == statistics.mcnemar_exact(b, c)


def test_newcombe() -> None:
    """The interval of a paired difference of proportions would be off."""
    assert statistics.newcombe_paired(36, 12, 2, 0) == pytest.approx((0.2, 0.0569, 0.3404), abs=5e-5)
    assert statistics.newcombe_paired(0, 0, 0, 0) is None


@pytest.mark.parametrize("table", [(36, 12, 2, 0), (5, 3, 1, 2), (0, 4, 4, 0), (10, 0, 0, 0), (0, 7, 0, 3)])
def test_newcombe_mirrors(table: tuple[int, int, int, int]) -> None:
    """Swapping the sides would change more than the sign."""
    both, a, b, neither = table
    d, low, high = statistics.newcombe_paired(both, a, b, neither) or (0.0, 0.0, 0.0)
    mirrored = statistics.newcombe_paired(both, b, a, neither)
    assert mirrored == pytest.approx((-d, -high, -low), abs=1e-12)


@pytest.mark.parametrize(
    ("n", "c", "k", "at", "hat"),
    [
        (5, 2, 3, 0.9, 0.0),
        (10, 3, 5, 0.9166666667, 0.0),
        (4, 3, 2, 1.0, 0.5),
        (4, 1, 1, 0.25, 0.25),
        (200, 13, 100, 0.9999194972, 0.0),
        (2, 0, 5, None, None),
        (2, 1, 3, None, None),
        (0, 0, 1, None, None),
    ],
)
def test_pass_k(n: int, c: int, k: int, at: float | None, hat: float | None) -> None:
    """pass@k would be 1 for a task with fewer attempts than k (the usual short-circuit bug)."""
    assert statistics.pass_at_k(n, c, k) == (at if at is None else pytest.approx(at, abs=1e-9))
    assert statistics.pass_hat_k(n, c, k) == (hat if hat is None else pytest.approx(hat, abs=1e-9))


def test_standard_errors() -> None:
    """The standard errors over tasks, single trials and re-runs would be mixed up."""
    pooled = [v for g in GROUPS.values() for v in g]
    mean, se = statistics.mean_se(pooled) or (0.0, 0.0)
    assert mean == pytest.approx(0.5625)
    assert se == pytest.approx(0.128086884574, abs=1e-11)
    assert statistics.rerun_se(GROUPS) == pytest.approx(0.106718737291, abs=1e-11)
    means = [sum(g) / len(g) for g in GROUPS.values()]
    assert statistics.mean_se(means) == pytest.approx((0.55, 0.174005108482), abs=1e-11)
    assert statistics.t_interval(means) == pytest.approx((0.0668843683, 1.0331156316), abs=1e-9)


def test_errors_that_are_not_available() -> None:
    """A spread would be invented where there is one value or one attempt a task."""
    assert statistics.mean_se([]) is None
    assert statistics.mean_se([0.5]) == (0.5, None)
    assert statistics.t_interval([0.5]) is None
    assert statistics.rerun_se({"t": [1.0, 0.0], "u": [1.0]}) is None
    assert statistics.rerun_se({}) is None
    assert statistics.paired_p([0.0, 0.0]) is None


def test_paired() -> None:
    """The paired difference would lose the pairing."""
    assert statistics.mean_se(D) == pytest.approx((0.25, 0.130558241967), abs=1e-11)
    assert statistics.t_interval(D) == pytest.approx((-0.0373567531, 0.5373567531), abs=1e-9)
    assert statistics.paired_p(D) == pytest.approx(0.0818642312, abs=1e-9)
    assert resampling.sign_flip_test(D).p == 0.25
    (_, se_a), (_, se_b) = statistics.mean_se(A) or (0, 0), statistics.mean_se(B) or (0, 0)
    assert math.hypot(se_a or 0, se_b or 0) == pytest.approx(0.205664726674, abs=1e-11)


def test_bootstrap_is_repeatable() -> None:
    """Two reports of one run would show different intervals, or depend on the order of the tasks."""
    mean = lambda x: math.fsum(x) / len(x)  # noqa: E731
    once = resampling.bootstrap_interval(GROUPS, mean, draws=500)
    assert once == resampling.bootstrap_interval(dict(reversed(GROUPS.items())), mean, draws=500)
    assert once is not None
    assert once[0] < 0.55 < once[1]
    assert resampling.bootstrap_interval({"t": [1.0]}, mean) is None


@pytest.mark.parametrize(
    ("n", "row"),
    [
        (30, (0.162, 0.229, 0.280, 0.323)),
        (50, (0.125, 0.177, 0.217, 0.251)),
        (89, (0.094, 0.133, 0.163, 0.188)),
        (100, (0.089, 0.125, 0.153, 0.177)),
        (200, (0.063, 0.089, 0.109, 0.125)),
        (500, (0.040, 0.056, 0.069, 0.079)),
    ],
)
def test_smallest_detectable(n: int, row: tuple[float, ...]) -> None:
    """The line about differences too small to see would mislead."""
    for share, expected in zip((0.1, 0.2, 0.3, 0.4), row, strict=True):
        assert statistics.smallest_detectable(share, n) == pytest.approx(expected, abs=6e-4)


def test_smallest_detectable_at_the_ends() -> None:
    """A comparison of nothing would see something, or one of two tasks promise more than the whole range."""
    assert statistics.smallest_detectable(0.5, 0) is None
    assert statistics.smallest_detectable(1.0, 2) == 1.0


@pytest.fixture(scope="module")
def scipy_stats() -> Any:
    """scipy.stats, a development-only cross-check."""
    return pytest.importorskip("scipy.stats")


def test_student_t_against_scipy(scipy_stats: Any) -> None:
    """Every t interval rests on these quantiles."""
    for df in (1, 2, 3, 5, 10, 29, 88, 499, 5000):
        assert statistics.t_quantile(df) == pytest.approx(scipy_stats.t.ppf(0.975, df), rel=1e-10)
        for t in (0.0, 0.01, 0.7, 1.9, 4.0, 40.0):
            assert statistics.t_two_sided_p(t, df) == pytest.approx(
                2 * scipy_stats.t.sf(t, df), rel=1e-9, abs=1e-15
            )
    assert statistics.t_two_sided_p(math.inf, 3) == 0.0


def test_random_samples_against_scipy(scipy_stats: Any) -> None:
    """A formula could be right for the vectors only."""
    rng = random.Random(3)
    for _ in range(20):
        n = rng.randint(2, 40)
        x = rng.randint(0, n)
        expected = scipy_stats.binomtest(x, n).proportion_ci(method="wilson")
        assert statistics.wilson(x, n) == pytest.approx((expected.low, expected.high), abs=1e-10)
        assert statistics.mcnemar_exact(x, n - x) == pytest.approx(
            scipy_stats.binomtest(x, n).pvalue, abs=1e-10
        )
        d = [rng.gauss(0.1, 1) for _ in range(n)]
        assert statistics.paired_p(d) == pytest.approx(scipy_stats.ttest_1samp(d, 0).pvalue, rel=1e-8)
