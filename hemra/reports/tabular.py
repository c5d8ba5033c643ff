"""Reports and comparisons as one CSV table each (RFC 4180, LF): raw figures, unrounded; unknown is empty."""

from __future__ import annotations

from typing import Any

from hemra.reports.outside import visible
from projections.export import csv_bytes

Row = dict[str, Any]

_SPENT = (
    "agent_median_ns", "model_median_ns", "first_token_median_ns", "turn_calls", "side_calls", "failed_calls",
    "replayed_calls", "input_tokens", "cache_read_tokens", "output_tokens", "reasoning_tokens", "cost_usd", "told_usd",
    "computed_usd", "cost_unknown_trials",
)  # fmt: skip

_AGAIN = (
    "tries_run_again", "run_again_ns", "run_again_turn_calls", "run_again_side_calls", "run_again_input_tokens",
    "run_again_output_tokens", "run_again_cost_usd", "run_again_cost_unknown", "paid_usd",
)  # fmt: skip
#: Between several names in one cell.
_JOINT = "; "


def report_csv(report: Row) -> str:
    """One row for each task and harness. Durations in ns, cost in US dollars; models are those of the whole run."""
    identities = {h["name"]: {"version": h["version"], **_models(h["models"])} for h in report["harnesses"]}
    rows = []
    for entry in report["grid"]:
        for cell in entry["cells"]:
            rows.append(
                {
                    "run": report["run"],
                    "harness": cell["harness"],
                    **identities[cell["harness"]],
                    "task": entry["task"],
                    "task_digest": entry["task_digest"],
                    "planned": cell["planned"],
                    "scored": cell["scored"],
                    "passed": cell["passed"],
                    "mean_reward": cell["mean"],
                    **{name: cell[name] for name in _SPENT if name != "cost_unknown_trials"},
                    "cost_unknown_trials": cell["cost_unknown"],
                    **{name: cell[name] for name in _AGAIN},
                }
            )
    return _csv(rows)


def _models(models: Row) -> Row:
    """A harness's models, several names of a kind in one cell."""
    kinds = ("asked", "answered", "side")
    return {
        "model": models["file"],
        **{f"models_{kind}": _JOINT.join(models[kind]) or None for kind in kinds},
    }


def compare_csv(comparison: Row) -> str:
    """One row for each task on either side; `pairing` says matched, only A, only B, or why it is no pair."""
    rows = [
        {
            "task": t["task"], "pairing": "matched",
            "a_scored": t["a"]["scored"], "a_passed": t["a"]["passed"], "a_mean": t["a"]["mean"],
            "b_scored": t["b"]["scored"], "b_passed": t["b"]["passed"], "b_mean": t["b"]["mean"],
            "difference": t["difference"],
            **{f"{side}_{name}": t[side]["spent"][name] for side in ("a", "b") for name in _SPENT},
        }
        for t in comparison["tasks"]
    ]  # fmt: skip
    left_out = [(u["task"], u["reason"]) for u in comparison["unpaired"]]
    left_out += [(task, "only A") for task in comparison["only_a"]]
    left_out += [(task, "only B") for task in comparison["only_b"]]
    columns = [
        *("a_scored", "a_passed", "a_mean", "b_scored", "b_passed", "b_mean", "difference"),
        *(f"{side}_{name}" for side in ("a", "b") for name in _SPENT),
    ]
    rows += [{"task": task, "pairing": why, **dict.fromkeys(columns)} for task, why in left_out]
    return _csv(sorted(rows, key=lambda row: row["task"]))


def _csv(rows: list[Row]) -> str:
    """The rows, their texts such that a terminal or a spreadsheet shows them and obeys nothing."""
    shown = [{k: visible(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]
    return csv_bytes(shown).decode()
