"""The two sides of a comparison: which harness of which run each is, and what is recorded of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eventlog.store import Store
from projections import cache
from projections.errors import BadComparison, NoSuchHarness
from projections.query import resolve_run

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Side:
    """One harness in one run. `ran_under` are the rows of tables trial_conditions of the run."""

    report: Row
    trials: list[Row]
    harness: str
    ran_under: list[Row]

    @property
    def figures(self) -> Row:
        """This harness's part of the report."""
        found: Row = next(h for h in self.report["harnesses"] if h["name"] == self.harness)
        return found

    @property
    def run(self) -> str:
        """The run's id."""
        return str(self.report["run"])


def sides(store: Store, left: str, right: str | None) -> tuple[Side, Side]:
    """The sides that `RUN[:HARNESS]` and `RUN[:HARNESS]` mean, or the two harnesses of one RUN.

    Raises BadComparison when a side is not one harness, RunNotFound, and what reading the log raises.
    """
    run_a, _, harness_a = left.partition(":")
    built = cache.load(store, resolve_run(store, run_a))
    if right is not None:
        run_b, _, harness_b = right.partition(":")
        other = cache.load(store, resolve_run(store, run_b))
        return _side(built, _one_harness(built.report, harness_a)), _side(
            other, _one_harness(other.report, harness_b)
        )
    report = built.report
    names = [h["name"] for h in report["harnesses"]]
    first = _one_harness(report, harness_a) if harness_a else names[0]
    if len(names) != 2:
        raise BadComparison(
            f"{report['run']} has {_harnesses(names)}, so it is not clear which two to compare: "
            "name both sides as RUN:HARNESS"
        )
    second = next(name for name in names if name != first)
    return _side(built, first), _side(built, second)


def _side(built: cache.Built, harness: str) -> Side:
    return Side(built.report, built.trials, harness, built.conditions)


def _one_harness(report: Row, harness: str) -> str:
    names: list[str] = [h["name"] for h in report["harnesses"]]
    if harness in names:
        return harness
    if harness:
        raise NoSuchHarness(f"{report['run']} has no harness {harness!r}; it has {', '.join(names)}")
    if len(names) != 1:
        raise BadComparison(f"{report['run']} has {_harnesses(names)}; say which: {report['run']}:{names[0]}")
    return names[0]


def _harnesses(names: Sequence[str]) -> str:
    return f"one harness ({names[0]})" if len(names) == 1 else f"{len(names)} harnesses ({', '.join(names)})"
