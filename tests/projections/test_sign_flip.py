"""The sign-flip test against counting by hand, by brute force, and by other programs."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections import resampling, statistics

#: Rewards as tasks give them: all or nothing, graded in steps, and thirds that no float holds.
REWARDS = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1)]),
    st.integers(0, 10).map(lambda n: Fraction(n, 10)),
    st.integers(0, 100).map(lambda n: Fraction(n, 100)),
    st.integers(0, 3).map(lambda n: Fraction(n, 3)),
)
#: Added to the differences of the drawn cases below, it puts their p beside 0.05.
NEAR = 0.1003
ATTEMPTS = st.lists(REWARDS, min_size=1, max_size=5)


def mean(rewards: list[Fraction]) -> float:
    """A task's mean as the reports make it, in floats."""
    return math.fsum(map(float, rewards)) / len(rewards)


def p_of(differences: Sequence[float]) -> float:
    """What the test makes of these differences."""
    return resampling.sign_flip_test(differences).p


def brute_force(differences: list[Fraction]) -> float:
    """The share of all 2^n choices of signs, zeros included, whose sum is at least as far from 0."""
    observed, hits, n = abs(sum(differences)), 0, len(differences)
    for mask in range(1 << n):
        total = sum((d if mask >> i & 1 else -d for i, d in enumerate(differences)), Fraction(0))
        hits += abs(total) >= observed
    return hits / (1 << n)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(ATTEMPTS, ATTEMPTS), max_size=9))
def test_as_by_brute_force(tasks: list[tuple[list[Fraction], list[Fraction]]]) -> None:
    """Ties that floats tell apart, zeros or graded rewards would change the count of sign patterns."""
    exact = [sum(a) / len(a) - sum(b) / len(b) for a, b in tasks]
    found = resampling.sign_flip_test([mean(a) - mean(b) for a, b in tasks])
    assert (found.p, found.method) == (brute_force(exact), "exact")


@pytest.mark.parametrize("denominator", [2, 3, 10])
def test_fourteen_tasks_as_by_brute_force(denominator: int) -> None:
    """The largest case that can be counted the slow way would come out otherwise."""
    rng = random.Random(denominator)
    exact = [Fraction(rng.randint(-denominator, denominator), denominator) for _ in range(14)]
    assert p_of([float(d) for d in exact]) == brute_force(exact)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1, 1), max_size=11))
def test_any_floats_as_by_brute_force(differences: list[float]) -> None:
    """Rewards without a common denominator would be counted wrongly; sums 1e-10 apart may be ties or not."""
    found = p_of(differences)
    observed, sums = abs(math.fsum(differences)), [0.0]
    for d in differences:
        sums = [s + sign for s in sums for sign in (d, -d)]
    far, near = (sum(abs(s) >= observed + slack for s in sums) / len(sums) for slack in (1e-8, -1e-8))
    assert far <= found <= near


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(ATTEMPTS, ATTEMPTS), max_size=40), st.randoms())
def test_neither_side_nor_order_nor_equal_tasks_matter(
    tasks: list[tuple[list[Fraction], list[Fraction]]], rng: random.Random
) -> None:
    """A swap of the sides, another order of the tasks, or tasks without a difference would move p."""
    d = [mean(a) - mean(b) for a, b in tasks]
    p = p_of(d)
    assert 0 < p <= 1
    assert p_of([-x for x in d]) == p
    assert p_of([*d, 0.0, 0.0]) == p
    rng.shuffle(d)
    assert p_of(d) == p


def test_counts_by_hand() -> None:
    """The exact test would not count all sign patterns."""
    assert p_of([1, 1, 1]) == 0.25
    assert p_of([0.5, 0.5, -0.5, 1.0, 0.0]) == 8 / 16
    assert p_of([]) == 1.0
    assert p_of([0.0, 0.0]) == 1.0
    assert p_of([1.0] * 16) == 2 / 2**16
    assert p_of([1.0] * 40) == 2 / 2**40
    assert p_of([1.0, -1.0]) == 1.0


def test_what_only_rounding_tells_apart_is_a_tie() -> None:
    """(0.1 + 0.2) / 2 against 0.15 would be a task that differs, and equal sums would not be equally far."""
    noise = math.fsum([0.1, 0.2]) / 2 - 0.15
    assert noise != 0
    assert p_of([noise, 0.5, 0.5]) == p_of([0.5, 0.5]) == 0.5
    thirds = [1 / 3, 2 / 3 - 1 / 3, 1 - 2 / 3]
    assert len(set(thirds)) > 1
    assert p_of([*thirds, -thirds[0]]) == 10 / 16


def test_ties_of_floats_without_a_common_denominator() -> None:
    """Sums that are equal but for rounding would be told apart where the rewards are similarities or times."""
    rng = random.Random(13)
    for _ in range(20):
        a, b = rng.uniform(0.01, 0.45), rng.uniform(0.01, 0.45)
        assert p_of([a, b, -(a + b), 1.0]) == 10 / 16


def test_two_attempts_of_seventeen_tasks() -> None:
    """Noise would decide: drawn, this p was 0.05023, and the verdict the other one."""
    found = resampling.sign_flip_test([0.5] * 13 + [-0.5] * 4)
    tail = sum(math.comb(17, i) for i in range(5))
    assert found == resampling.SignFlip(2 * tail / 2**17, "exact", None, None)
    assert found.p == pytest.approx(0.04904175)


def test_differences_of_one_size_are_a_sign_test() -> None:
    """On all-or-nothing tasks the permutation test and McNemar's would disagree."""
    for a, b in ((20, 9), (40, 22), (150, 110), (7, 7)):
        assert p_of([1.0] * a + [-1.0] * b) == statistics.mcnemar_exact(a, b)


@pytest.mark.parametrize(
    ("denominator", "numerators", "hits"),
    [
        (2, [1, 2, -1, 1, -1, 2, 2, 2, 2, 1, -1, 2, -1, 2, 2, 2, -1], 2760),
        (3, [3, 3, -2, -2, -2, 1, 3, -1, 3, 3, 3, 3, 1, 1, 2, -1, 2, -2], 19800),
        (10, [2, 10, 10, -1, 6, 10, 10, 10, 10, -3, 10, -5, 10, 3, 10, 2, 1, 10, 10], 178),
        (60, [1, 8, -17, 60, 20, 31, -11, -19, -22, -28, 21, 40, 60, 7, 60, 60, -23, -2, 36, 38], 35292),
        (
            100,
            [100, 15, 100, 41, 100, 100, 100, 85, -43, 69, 100, 13, 100, -37, -10, -22, 45, 70, 13, 47],
            712,
        ),
    ],
)
def test_as_scipy_counts(denominator: int, numerators: list[int], hits: int) -> None:
    """Beyond what a loop can count in a test; the counts are scipy.stats.permutation_test's, all 2^n cases."""
    found = resampling.sign_flip_test([n / denominator for n in numerators])
    assert (found.p, found.method) == (hits / 2 ** len(numerators), "exact")


def test_many_graded_tasks_as_by_another_count() -> None:
    """The count of a hundred tasks and more would be wrong where no brute force reaches."""
    rng = random.Random(12)
    tenths = [rng.randint(-9, 10) for _ in range(120)]
    sums = {0: 1}
    for size in tenths:
        longer: dict[int, int] = {}
        for total, ways in sums.items():
            for sign in (size, -size):
                longer[total + sign] = longer.get(total + sign, 0) + ways
        sums = longer
    far = sum(ways for total, ways in sums.items() if abs(total) >= abs(sum(tenths)))
    assert p_of([size / 10 for size in tenths]) == far / 2**120 > 1e-6


def test_without_a_common_denominator_exact_up_to_thirty_six() -> None:
    """Rewards such as a similarity would be drawn although all their cases can still be counted."""
    rng = random.Random(11)
    d = [rng.uniform(-0.4, 0.7) for _ in range(36)]
    rounded = [round(x, 2) for x in d]
    found = resampling.sign_flip_test(d)
    assert found.method == "exact"
    assert found.p == pytest.approx(p_of(rounded), rel=0.1)
    assert found.p == pytest.approx(statistics.paired_p(d), rel=0.2)


@pytest.mark.parametrize("attempts", [1, 3, 10, 60])
def test_three_hundred_tasks_within_a_second(attempts: int) -> None:
    """An exact test that keeps its user waiting would be drawn again before long."""
    rng = random.Random(attempts)
    d = [rng.randint(0, attempts) / attempts - rng.randint(0, attempts) / attempts for _ in range(300)]
    began = time.process_time()
    found = resampling.sign_flip_test(d)
    assert time.process_time() - began < 1
    assert (found.p, found.method) == (pytest.approx(statistics.paired_p(d), abs=0.05), "exact")


def test_drawn_where_counting_would_take_too_long() -> None:
    """The test would take for ever, or not say that its p is drawn and how far it may be off."""
    rng = random.Random(7)
    d = [rng.uniform(-0.5, 0.6) for _ in range(60)]
    found = resampling.sign_flip_test(d)
    assert (found.method, found.draws) == ("drawn", resampling.FLIP_DRAWS)
    assert found == resampling.sign_flip_test([-x for x in reversed(d)])
    assert found.p == pytest.approx(statistics.paired_p(d), abs=0.01)
    assert found.error == pytest.approx(3 * math.sqrt(found.p * (1 - found.p) / resampling.FLIP_DRAWS))
    assert not found.undecided_by_draw(0.05)
    assert p_of([x + 0.3 for x in d]) == 1 / (1 + resampling.FLIP_DRAWS), "never 0"
    assert resampling.sign_flip_test([abs(x) for x in d]) == resampling.SignFlip(
        2 / 2**60, "exact", None, None
    )


def test_a_drawn_p_beside_the_limit_says_so() -> None:
    """Chance would choose the verdict: here the draw cannot tell on which side of 5 % the true p is."""
    rng = random.Random(7)
    d = [rng.uniform(-0.5, 0.6) for _ in range(60)]
    found = resampling.sign_flip_test([x + NEAR for x in d])
    assert (found.method, found.draws) == ("drawn", resampling.MORE_FLIP_DRAWS)
    assert found.p == pytest.approx(0.05, abs=0.0006)
    assert found.undecided_by_draw(0.05)
    assert not found.undecided_by_draw(0.06)
    assert not resampling.sign_flip_test([0.5] * 13 + [-0.5] * 4).undecided_by_draw(0.04904175)
