"""Which tasks of two sides are a pair: same task content, same scorer, same reward, scored on both."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from projections import words

Row = dict[str, Any]


@dataclass(slots=True)
class SideTask:
    """One task on one side. `rewards` are those of its scored trials, in plan order."""

    task: str
    task_digest: str
    trials: list[Row] = field(default_factory=list)
    scorer_digests: set[str] = field(default_factory=set)
    reward_names: set[str | None] = field(default_factory=set)
    rewards: list[float] = field(default_factory=list)
    passed: int = 0

    @property
    def mean(self) -> float | None:
        """Mean counted reward; None where nothing is scored."""
        return math.fsum(self.rewards) / len(self.rewards) if self.rewards else None

    def figures(self) -> Row:
        """Plain form for a report."""
        return {
            "planned": len(self.trials),
            "scored": len(self.rewards),
            "passed": self.passed,
            "mean": self.mean,
            "trials": [t["trial"] for t in self.trials],
        }

    def missing(self) -> str:
        """Why it has no score, by cause: `2 infra error, 1 not started`."""
        counts: dict[str, int] = defaultdict(int)
        for trial in self.trials:
            counts[trial["result"]] += 1
        parts = [f"{counts[r]} {words.result_label(r)}" for r in sorted(counts, key=words.result_order)]
        return ", ".join(parts)


def side_tasks(trials: Sequence[Row], harness: str) -> dict[str, SideTask]:
    """The tasks of one harness in a trial table, by task id, in plan order."""
    tasks: dict[str, SideTask] = {}
    for trial in trials:
        if trial["harness"] != harness:
            continue
        side = tasks.setdefault(trial["task"], SideTask(trial["task"], trial["task_digest"]))
        side.trials.append(trial)
        side.scorer_digests.add(trial["scorer_digest"])
        if trial["scored"]:
            side.rewards.append(trial["reward"])
            side.reward_names.add(trial["reward_name"])
            side.passed += trial["result"] == "passed"
    return tasks


@dataclass(slots=True)
class Pairing:
    """Matched pairs and everything else with its reason, each sorted by task id."""

    matched: list[tuple[SideTask, SideTask]] = field(default_factory=list)
    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)
    unpaired: list[Row] = field(default_factory=list)

    @property
    def union(self) -> int:
        """Tasks on either side."""
        return len(self.matched) + len(self.only_a) + len(self.only_b) + len(self.unpaired)


def pair(a: dict[str, SideTask], b: dict[str, SideTask]) -> Pairing:
    """Pair two sides task by task."""
    pairing = Pairing()
    for task in sorted(set(a) | set(b)):
        if task not in b:
            pairing.only_a.append(task)
        elif task not in a:
            pairing.only_b.append(task)
        elif reason := _unpaired(a[task], b[task]):
            pairing.unpaired.append({"task": task, **reason})
        else:
            pairing.matched.append((a[task], b[task]))
    return pairing


def _unpaired(a: SideTask, b: SideTask) -> Row | None:
    """Why two tasks of one name are not a pair; None when they are."""
    if a.task_digest != b.task_digest:
        return {"reason": "task changed", "a": a.task_digest, "b": b.task_digest}
    if a.scorer_digests != b.scorer_digests:
        return {"reason": "scorer changed", "a": _listed(a.scorer_digests), "b": _listed(b.scorer_digests)}
    if not a.rewards or not b.rewards:
        side = "either side" if not a.rewards and not b.rewards else ("B" if a.rewards else "A")
        return {"reason": f"not scored on {side}", "a": a.missing(), "b": b.missing()}
    if a.reward_names != b.reward_names:
        return {"reason": "other reward", "a": _listed(a.reward_names), "b": _listed(b.reward_names)}
    return None


def _listed(values: set[Any]) -> str:
    return ", ".join(sorted("not named" if v is None else str(v) for v in values))
