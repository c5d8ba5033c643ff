"""What a reader must know before using the figures of a report, one sentence each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from projections import words
from projections.figures import COVERAGE_LIMIT
from projections.models import warning as model_warning
from projections.repaired import warning as repair_warning

Row = dict[str, Any]

#: So many models without a price are named.
MAX_NAMED = 3


def report_warnings(report: Row, notes: Sequence[Row], too_new: Sequence[str]) -> list[str]:
    """The sentences. `notes` are rows of tables/notes.sql; `too_new`: types of events that a later hemra wrote.

    What is said of one harness begins with its name.
    """
    out = repair_warning(report["repaired"])
    if report["status"] != "finished":
        out.append(f"The run is {words.STATUSES[report['status']]}.")
    for h in report["harnesses"]:
        out += [f"{h['name']}: {sentence}" for sentence in _of_harness(h, report)]
    if len({h["coverage"] for h in report["harnesses"]}) > 1:
        out.append("The harnesses lack different shares of their scores: scored-only figures are biased.")
    codes: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for note in notes:
        if note["level"] in ("warning", "error"):
            codes[note["code"], note["text"]].append(note)
    for (code, text), members in codes.items():
        times = f" ({len(members)} times)" if len(members) > 1 else ""
        out.append(f"{code}: {text}{times}")
    if too_new:
        out.append(
            f"Events of a later hemra are read as far as they are known: {', '.join(too_new)}; upgrade hemra."
        )
    return out


def _of_harness(h: Row, report: Row) -> list[str]:
    """What is to be said of one harness."""
    out = []
    if h["planned"] and h["coverage"] < COVERAGE_LIMIT:
        out.append(
            f"{h['scored']} of {h['planned']} planned trials are scored, on "
            f"{h['tasks_scored']} of {h['tasks']} tasks. Do not rank it by its scored-only figure."
        )
    out += run_again(h["retries"]["outcomes"])
    return out + model_warning(h["models"]) + _of_spending(h, report)


def run_again(outcomes: dict[str, int]) -> list[str]:
    """That tries were run again for how they ended; what was only interrupted and resumed is not counted."""
    chosen = {o: n for o, n in outcomes.items() if o not in ("interrupted", "cancelled")}
    if not chosen:
        return []
    tries = sum(chosen.values())
    causes = ", ".join(f"{n} {words.result_label(o)}" for o, n in chosen.items())
    were = "try was" if tries == 1 else "tries were"
    return [f"{tries} {were} run again ({causes}); retries can shift scores."]


def _of_spending(h: Row, report: Row) -> list[str]:
    """What a reader must know of a harness's calls: answers of a cassette, models without a price."""
    out = []
    if replayed := h["replayed"]["trials"]:
        source = report["cassette"] or {}
        named = f" {source['run']}" + (f"/{source['trial']}" if source.get("trial") else "") if source else ""
        out.append(
            f"{replayed} of {h['planned']} trials were answered by cassette{named}: nothing was spent "
            "on their replayed calls, and their times are no model's."
        )
    if models := h["cost"]["unpriced_models"]:
        table = report["prices"]
        where = f"{table['name']} ({table['date']})" if table else "a price table"
        named = ", ".join(models[:MAX_NAMED]) + (
            f" and {len(models) - MAX_NAMED} more" if len(models) > MAX_NAMED else ""
        )
        out.append(f"its cost is not whole; {where} does not price every call of {named}.")
    return out
