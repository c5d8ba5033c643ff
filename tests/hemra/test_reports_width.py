"""Reports on narrow terminals: within the width, whole words, nothing cut, the same cells as on a wide one."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas import trials as t
from hemra.reports import page
from hemra.reports.render import render_compare, render_report
from hemra.reports.sheet import Sheet
from projections import query
from projections.compare import compare
from tests.projections.synthetic_runs import SECOND, SyntheticRun, new_store

HEADS = (
    "Harness", "Scored", "Passed", "Strict", "Reasoning", "Cached", "Failed", "Tokens", "Measured", "planned",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> SyntheticRun:
    """A run with something in every section of the report."""
    made = SyntheticRun(
        new_store(tmp_path_factory.mktemp("narrow")), tasks=("deep/shell/one", "deep/shell/two", "edit/one"),
        harnesses=("oracle", "a-harness-with-a-very-long-name"), attempts=2, served=("oracle",),
    ).begin()  # fmt: skip
    for trial in made.trials.values():
        made.start(trial)
        made.call(trial, "m1", asked={"model": "a-model-of-some-length-too-2026"}, priced_usd=0.25)
        if trial == "0002":
            made.event(
                t.TrialRetried(try_no=1, outcome="infra_error", reason="x", backoff_seconds=0, duration_ns=SECOND),
                trial,
            )  # fmt: skip
            made.start(trial, 2)
        limit = t.LimitFired(name="memory_bytes", value=209715200.0, measured=209715200.0, unit="bytes")
        fired: dict[str, Any] = {"outcome": "out_of_memory", "limit": limit} if trial == "0003" else {}
        made.score(trial, "PASS", 1.0)
        made.finish(trial, reward=1.0, try_no=2 if trial == "0002" else 1, **fired)
    made.end()
    return made


@pytest.mark.parametrize("width", [32, 40, 50, 60, 72])
def test_narrow_pages_hold_their_width_and_break_between_words(run: SyntheticRun, width: int) -> None:
    """At 40 columns a terminal broke lines of 60, and at 60 the heads stood as `Mode` over `l wait`."""
    report = query.report(run.store, run.run)
    for text in (
        render_report(report, width=width, colour=False),
        render_compare(compare(run.store, run.run), width=width, colour=False),
    ):
        assert max(map(len, text.splitlines())) <= width
        assert "…" not in text
        tokens = set(re.findall(r"\S+", text))
        broken = {head[:at] for head in HEADS for at in range(3, len(head))} & tokens
        assert not broken - {"Token", "plan"}, broken


def test_a_table_that_does_not_fit_goes_on_below(run: SyntheticRun) -> None:
    """Figures would be cut, or no row could be told from another in the second half of a table."""
    narrow = Sheet([("Harness", "+"), *((f"Column{i}", ">") for i in range(6))])
    narrow.add_row("alpha", *(f"{i}{i}.5 %" for i in range(6)))
    text = page.write([narrow], width=40, colour=False)
    for i in range(6):
        assert f"Column{i}" in text
        assert f"{i}{i}.5 %" in text
    assert text.count("alpha") == text.count("Harness") == 2
    wide = page.write([narrow], width=100, colour=False)
    assert wide.count("alpha") == 1


def test_the_terminals_width_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """COLUMNS=40 would be answered with 60."""
    monkeypatch.setenv("COLUMNS", "40")
    assert shutil.get_terminal_size().columns == 40
    assert page.page_width() == 40
    monkeypatch.setenv("COLUMNS", "7")
    assert page.page_width() == page.MIN_WIDTH, "nothing can be shown in so few"
