"""Which models were named, asked for and answered: what a report says beside each harness."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas import conversation as c
from hemra.gateway import conversation
from hemra.reports.render import render_report
from projections import models, query
from tests.projections.synthetic_runs import SyntheticRun, new_store


def report_of(tmp_path: Path, *calls: dict[str, Any], kind: str = "protocol") -> dict[str, Any]:
    """The report of a run of one harness, whose file says `model-alpha`, with such calls in its first trial."""
    run = SyntheticRun(
        new_store(tmp_path), harnesses=("alpha",), served=("alpha",), kinds={"alpha": kind}
    ).begin()
    run.start("0001")
    for number, asked in enumerate(calls, 1):
        answered = {"model": asked["answered"]} if "answered" in asked else {}
        request = {k: v for k, v in asked.items() if k != "answered"}
        run.call("0001", f"m{number}", asked=request, priced_usd=0.01, **answered)
    run.finish("0001", reward=1.0)
    run.trial("0002", 1.0)
    return query.report(run.store, run.end())


def spoken(report: dict[str, Any], format_: str) -> str:
    """The report in a format, in one line."""
    return " ".join(render_report(report, format_, width=100, colour=False).split())  # type: ignore[arg-type]


def test_names_are_gathered_and_side_calls_stand_apart(tmp_path: Path) -> None:
    """A title's small model would be taken for the one under test, or the one under test would not be told."""
    report = report_of(
        tmp_path,
        {"model": "x/model-alpha", "answered": "model-alpha-2026-11-01"},
        {"model": "model-alpha", "answered": "model-alpha-2026-11-01"},
        {"model": "small", "answered": "small-1", "auxiliary": "other_model"},
        {"model": "model-alpha", "answered": "model-alpha-2026-11-01", "auxiliary": "no_tools"},
        {"model": "probed", "answered": "probed", "auxiliary": "probe"},
    )
    assert report["harnesses"][0]["models"] == {
        "file": "model-alpha", "asked": ["model-alpha", "x/model-alpha"],
        "answered": ["model-alpha-2026-11-01"], "side": ["small"], "differs": [], "only_side": [],
    }  # fmt: skip
    assert report["warnings"] == []


def test_the_model_stands_beside_the_harness(tmp_path: Path) -> None:
    """A person would read a score without knowing whose it is."""
    report = report_of(
        tmp_path,
        {"model": "x/model-alpha", "answered": "model-alpha-2026-11-01"},
        {"model": "small", "answered": "small-1", "auxiliary": "other_model"},
    )
    words = (
        "model-alpha; asked for x/model-alpha; answered by model-alpha-2026-11-01; side calls asked for small"
    )
    assert f"alpha 1.0 {words}" in spoken(report, "text")
    assert f"| {words} |" in spoken(report, "md")
    rows = list(csv.DictReader(io.StringIO(render_report(report, "csv"))))
    assert {(r["model"], r["models_asked"], r["models_answered"], r["models_side"]) for r in rows} == {
        ("model-alpha", "x/model-alpha", "model-alpha-2026-11-01", "small")
    }


def test_what_is_as_the_file_says_is_not_repeated(tmp_path: Path) -> None:
    """Every report would be longer by names that say nothing new; unknown ones would look like none."""
    report = report_of(tmp_path, {"model": "model-alpha", "answered": "model-alpha"})
    assert "alpha 1.0 model-alpha Scores" in spoken(report, "text")
    run = SyntheticRun(new_store(tmp_path / "other"), harnesses=("alpha",)).begin()
    run.trial("0001", 1.0)
    nothing = query.report(run.store, run.end())
    assert nothing["harnesses"][0]["models"]["asked"] == []
    row = next(csv.DictReader(io.StringIO(render_report(nothing, "csv"))))
    assert (row["model"], row["models_asked"], row["models_answered"]) == ("model-alpha", "", "")


def test_another_model_than_the_files_is_a_warning(tmp_path: Path) -> None:
    """A score would be put to the account of a model that was never asked."""
    report = report_of(tmp_path, {"model": "model-beta"}, {"model": "model-alpha"})
    assert report["harnesses"][0]["models"]["differs"] == ["model-beta"]
    (warning,) = report["warnings"]
    assert warning == "alpha: its file says model model-alpha; its calls asked for model-beta too."
    (alone,) = report_of(tmp_path / "alone", {"model": "model-beta"})["warnings"]
    assert alone == "alpha: its file says model model-alpha; its calls asked for model-beta."


def test_calls_that_were_all_taken_for_side_calls_are_a_warning(tmp_path: Path) -> None:
    """`Calls 0, Side 2` would be all that tells that the harness file names the wrong model."""
    report = report_of(
        tmp_path,
        {"model": "model-beta", "auxiliary": "other_model"},
        {"model": "model-beta", "auxiliary": "other_model"},
        {"model": "model-beta", "auxiliary": "probe"},
    )
    assert report["harnesses"][0]["models"]["only_side"] == ["model-beta"]
    (warning,) = report["warnings"]
    assert warning == (
        "alpha: all its calls were taken for side calls: its file says model model-alpha, the calls ask for "
        "model-beta. Put that into the harness file, or no call is a turn."
    )
    assert "all calls asked for model-beta" in spoken(report, "text")


def test_many_names_are_cut_short(tmp_path: Path) -> None:
    """A harness that asks for ever new models would fill the report, and every warning."""
    calls = [{"model": f"m{n:02d}", "answered": f"m{n:02d}"} for n in range(30)]
    report = report_of(tmp_path, *calls)
    assert len(report["harnesses"][0]["models"]["asked"]) == 30
    (warning,) = report["warnings"]
    assert warning.endswith("its calls asked for m00, m01, m02, m03, m04 and 25 more.")
    assert (
        "asked for m00, m01, m02, m03, m04 and 25 more; answered by m00, m01, m02, m03, m04 and 25 more"
        in (spoken(report, "text"))
    )


def test_what_only_a_harness_tells_counts_as_answered(tmp_path: Path) -> None:
    """A harness without the gateway would seem to have had no model."""
    run = SyntheticRun(new_store(tmp_path), harnesses=("alpha",)).begin()
    run.start("0001")
    run.event(c.ModelResponded(model="told-1", usage=None), "0001")
    run.finish("0001", reward=1.0)
    run.trial("0002", 1.0)
    report = query.report(run.store, run.end())
    assert report["harnesses"][0]["models"]["answered"] == ["told-1"]
    assert "model-alpha; answered by told-1" in spoken(report, "text")


def test_tries_that_were_run_again_count_too(tmp_path: Path) -> None:
    """The model that a superseded try asked for would be hidden although it was paid for."""
    from eventlog.schemas import trials as t

    run = SyntheticRun(new_store(tmp_path), tasks=("t01/a",), harnesses=("alpha",), served=("alpha",)).begin()
    run.start("0001")
    run.call("0001", "m1", asked={"model": "model-beta"})
    run.event(
        t.TrialRetried(try_no=1, outcome="infra_error", reason="x", backoff_seconds=1.0, duration_ns=1),
        "0001",
    )
    run.trial("0001", 1.0, try_no=2)
    report = query.report(run.store, run.end())
    assert report["harnesses"][0]["models"]["asked"] == ["model-beta"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("claude-x", "claude-x-20260101"), ("provider/m1-2026-01-01", "m1"), ("m1", "m1-mini"), ("M1", "m1"),
        ("m1[1m]", "m1"), ("a/m1", "b/m1"), ("m1-latest", "m1"), ("m1", ""), ("m1@20260101", "m1"),
    ],
)  # fmt: skip
def test_the_gateways_rule_decides_what_is_the_same_model(one: str, other: str) -> None:
    """The report would warn of a name that the gateway takes for the file's own, or be silent of another."""
    assert models.same_model(one, other) == conversation.same_model(one, other)
