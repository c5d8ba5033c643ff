"""Scores of one harness, from its tasks: estimate, interval, bounds, pass@k. What is not known is None."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from projections import statistics

#: Below this share of scored trials a figure is not fit for ranking.
COVERAGE_LIMIT = 0.95
LIKE_THESE = "How good on tasks like these?"


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task's attempts: how many were planned, scored and passed, and the sum of the counted rewards."""

    planned: int
    scored: int
    passed: int
    reward_sum: float


def estimate(task_means: Sequence[float]) -> dict[str, Any]:
    """Mean over tasks with a 95 % interval within [0, 1]. `method` says which interval it is.

    `wilson` where every task mean is 0 or 1 (one attempt, or attempts that agree); `t` with T-1 degrees of
    freedom otherwise; null where there is nothing to tell a spread from.
    """
    mean_and_se = statistics.mean_se(task_means)
    if mean_and_se is None:
        return {"mean": None, "low": None, "high": None, "method": None, "tasks": 0}
    mean, se = mean_and_se
    interval: tuple[float, float] | None = None
    method = None
    if all(value in (0, 1) for value in task_means):
        interval, method = statistics.wilson(math.fsum(task_means), len(task_means)), "wilson"
    elif se:
        interval, method = statistics.t_interval(task_means), "t"
    low, high = (None, None) if interval is None else (max(0.0, interval[0]), min(1.0, interval[1]))
    return {"mean": mean, "low": low, "high": high, "method": method, "tasks": len(task_means)}


def scores(tasks: Sequence[TaskResult], rewards: dict[str, list[float]]) -> dict[str, Any]:
    """Strict and scored-only estimates side by side, the bounds of the full score, and the re-run error.

    `rewards` maps a task to its counted rewards (tasks without any may be left out).
    """
    strict = [t.reward_sum / t.planned for t in tasks]
    optimistic = [(t.reward_sum + t.planned - t.scored) / t.planned for t in tasks]
    scored = [t.reward_sum / t.scored for t in tasks if t.scored]
    return {
        "question": LIKE_THESE,
        "strict": estimate(strict),
        "scored_only": estimate(scored),
        "bounds": {"low": _mean(strict), "high": _mean(optimistic)},
        "rerun_se": statistics.rerun_se(rewards) if len(rewards) == len(tasks) else None,
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def pass_k(tasks: Sequence[TaskResult], attempts: int) -> list[dict[str, Any]]:
    """pass@k and pass^k for k = 1 … attempts (1, 2, 4, 8 … beyond 5 attempts).

    Each is the mean over the tasks with at least k scored attempts;
    `tasks` says how many those are, `of` how many there are; both figures are null where it is none.
    """
    ks = list(range(1, attempts + 1)) if attempts <= 5 else _doubling(attempts)
    out = []
    for k in ks:
        at = [v for t in tasks if (v := statistics.pass_at_k(t.scored, t.passed, k)) is not None]
        hat = [v for t in tasks if (v := statistics.pass_hat_k(t.scored, t.passed, k)) is not None]
        out.append(
            {"k": k, "pass_at_k": _mean(at), "pass_hat_k": _mean(hat), "tasks": len(at), "of": len(tasks)}
        )
    return out


def _doubling(limit: int) -> list[int]:
    ks = [1]
    while ks[-1] * 2 < limit:
        ks.append(ks[-1] * 2)
    return [*ks, limit]
