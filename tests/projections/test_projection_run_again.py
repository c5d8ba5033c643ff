"""Tries that were run again: what they cost is in every report, beside what counts, and never in it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas import trials as t
from hemra.reports.render import render_report
from projections import cache, query
from tests.projections.synthetic_runs import SECOND, SyntheticRun, new_store


def again(run: SyntheticRun, trial: str, try_no: int = 1, reason: str = "the sandbox died") -> None:
    """The try ends in an outcome that is run again."""
    run.event(
        t.TrialRetried(
            try_no=try_no, outcome="infra_error", reason=reason, backoff_seconds=1.0, duration_ns=3 * SECOND
        ),
        trial,
    )


@pytest.fixture
def retried(tmp_path: Path) -> SyntheticRun:
    """A run whose first trial was tried twice: $2.25 for the first try, $9.00 for all that counts."""
    run = SyntheticRun(new_store(tmp_path), harnesses=("alpha", "beta"), served=("alpha", "beta")).begin()
    run.start("0001")
    run.call("0001", "m1", asked={"model": "model-alpha"}, priced_usd=2.25)
    run.call("0001", "m2", asked={"model": "model-alpha", "auxiliary": "no_tools"}, priced_usd=0.0)
    again(run, "0001")
    for trial, harness, usd in (("0001", "alpha", 4.0), ("0002", "beta", 1.0), ("0003", "alpha", 5.0),
                                ("0004", "beta", 1.0)):  # fmt: skip
        try_no = 2 if trial == "0001" else 1
        run.start(trial, try_no)
        run.call(trial, "m1", asked={"model": f"model-{harness}"}, priced_usd=usd)
        run.score(trial, "PASS", 1.0, try_no=try_no)
        run.finish(trial, reward=1.0, try_no=try_no)
    run.end()
    return run


def spoken(report: dict[str, Any], format_: str) -> str:
    """The report in a format, in one line."""
    return " ".join(render_report(report, format_, width=100, colour=False).split())  # type: ignore[arg-type]


def test_what_was_paid_in_all_is_counted(retried: SyntheticRun) -> None:
    """Money, calls and tokens of a try that was run again would be in no figure of the report."""
    alpha, beta = query.report(retried.store, retried.run)["harnesses"]
    assert (alpha["cost"]["usd"], alpha["calls"]["turn"]) == (9.0, 2), "only tries that count"
    tries = alpha["retries"]
    assert (tries["tries"], tries["outcomes"], tries["duration_ns"], tries["cost_usd"]) == (
        1, {"infra_error": 1}, 3 * SECOND, 2.25,
    )  # fmt: skip
    assert (tries["calls"]["turn"], tries["calls"]["side"], tries["tokens"]["input"]["sum"]) == (1, 1, 200)
    assert alpha["paid"] == {"usd": 11.25, "lower_bound": False}
    assert (beta["retries"]["tries"], beta["retries"]["cost_usd"]) == (0, None)
    assert beta["paid"] == {"usd": 2.0, "lower_bound": False}


def test_the_report_says_what_was_paid_in_all(retried: SyntheticRun) -> None:
    """A person would read $9.00 where $11.25 were paid, in all formats but JSON."""
    report = query.report(retried.store, retried.run)
    for format_ in ("text", "md"):
        text = spoken(report, format_)
        assert "$9.00, computed; paid in all $11.25, of that $2.25 for 1 try that was run again" in text
        assert "beta: $2.00; paid" not in text
        assert "Run again" in text
    row = next(
        r for r in render_report(report, "md").splitlines() if "infra error" in r and r.startswith("|")
    )
    assert row == "| alpha | 1 | 1 infra error | 3.0 s | 1 + 1 side | 200 | 22 | $2.25 | $11.25 |"
    cells = {(r["harness"], r["task"]): r for r in csv.DictReader(io.StringIO(render_report(report, "csv")))}
    one = cells["alpha", "t01/a"]
    names = ("tries_run_again", "run_again_ns", "run_again_turn_calls", "run_again_side_calls",
             "run_again_input_tokens", "run_again_output_tokens", "run_again_cost_usd",
             "run_again_cost_unknown", "cost_usd", "paid_usd")  # fmt: skip
    assert [one[name] for name in names] == [
        "1", "3000000000", "1", "1", "200", "22", "2.25", "0", "4.0", "6.25",
    ]  # fmt: skip
    other = cells["alpha", "t01/b"]
    assert [other[name] for name in names] == ["0", "", "", "", "", "", "", "0", "5.0", "5.0"]


def test_runs_without_such_tries_say_nothing_of_them(tmp_path: Path) -> None:
    """Every report would have a section about nothing."""
    run = SyntheticRun(new_store(tmp_path), harnesses=("alpha",)).begin()
    run.trial("0001", 1.0)
    run.trial("0002", 1.0)
    report = query.report(run.store, run.end())
    assert report["run_again"] == []
    assert "; paid in all" not in spoken(report, "text") + spoken(report, "md")
    assert "## Run again" not in render_report(report, "md")


def test_what_is_not_known_of_such_a_try_stays_unknown(tmp_path: Path) -> None:
    """A try that died untold would look free, and the sum whole."""
    run = SyntheticRun(new_store(tmp_path), tasks=("t01/a",), harnesses=("alpha",)).begin()
    run.start("0001")
    run.pass_time(5)  # the engine was killed: no end, no usage
    run.start("0001", 2)
    run.finish("0001", reward=1.0, try_no=2, usage=t.Usage(cost_usd=3.0))
    report = query.report(run.store, run.end())
    alpha = report["harnesses"][0]
    assert (alpha["retries"]["duration_ns"], alpha["retries"]["cost_usd"]) == (None, None)
    assert alpha["retries"]["outcomes"] == {"interrupted": 1}
    assert alpha["retries"]["calls"]["turn"] is None
    assert alpha["paid"] == {"usd": 3.0, "lower_bound": True}
    for format_ in ("text", "md"):
        assert "$3.00; paid in all $3.00+, of that — for 1 try that was run again" in spoken(report, format_)
    assert "| alpha | 1 | 1 interrupted | — | — | — | — | — | $3.00+ |" in render_report(report, "md")
    row = next(csv.DictReader(io.StringIO(render_report(report, "csv"))))
    assert (row["run_again_ns"], row["run_again_cost_usd"], row["run_again_cost_unknown"]) == ("", "", "1")


def test_a_try_whose_calls_all_failed_cost_nothing(tmp_path: Path) -> None:
    """The same refusal would cost nothing after a call that was answered, and be unknown as the first one."""
    run = SyntheticRun(new_store(tmp_path), tasks=("t01/a",), harnesses=("alpha",), served=("alpha",)).begin()
    run.start("0001")
    run.call("0001", "m1", status=500, ended="error", usage=None, error="HTTP 500")
    again(run, "0001")
    run.start("0001", 2)
    run.call("0001", "m2", priced_usd=3.0)
    run.score("0001", "PASS", 1.0, try_no=2)
    run.finish("0001", reward=1.0, try_no=2)
    alpha = query.report(run.store, run.end())["harnesses"][0]
    assert (alpha["retries"]["calls"]["failed"], alpha["paid"]) == (1, {"usd": 3.0, "lower_bound": False})


def test_nothing_is_summed_where_no_money_is_known(tmp_path: Path) -> None:
    """`—; paid in all —, of that —` would stand beside every harness without prices."""
    run = SyntheticRun(new_store(tmp_path), tasks=("t01/a",), harnesses=("alpha",)).begin()
    run.start("0001")
    again(run, "0001")
    run.trial("0001", 1.0, try_no=2)
    report = query.report(run.store, run.end())
    assert report["harnesses"][0]["paid"] == {"usd": None, "lower_bound": False}
    for format_ in ("text", "md"):
        assert "; paid in all" not in spoken(report, format_)


def test_each_such_try_is_listed(retried: SyntheticRun) -> None:
    """`hemra show` could not say which try it was, what it cost and why it did not count."""
    (entry,) = query.report(retried.store, retried.run)["run_again"]
    assert entry == {
        "trial": "0001", "harness": "alpha", "task": "t01/a", "attempt": 1, "try_no": 1,
        "outcome": "infra_error", "reason": "the sandbox died", "duration_ns": 3 * SECOND, "agent_ns": None,
        "turn_calls": 1, "side_calls": 1, "input_tokens": 200, "output_tokens": 22, "cost_usd": 2.25,
        "cost_partial": False, "unpriced_calls": 0, "replayed_calls": 0,
    }  # fmt: skip
    document = query.show_trial(retried.store, retried.run, "0001")
    assert document is not None
    assert document["run_again"] == [entry]
    assert document["paid"] == {"usd": 6.25, "lower_bound": False}
    other = query.show_trial(retried.store, retried.run, "0003")
    assert other is not None
    assert other["run_again"] == []


def test_it_rebuilds_to_the_same_bytes(retried: SyntheticRun) -> None:
    """A report with such tries could not be proved."""
    cache.load(retried.store, retried.run)
    assert cache.replay(retried.store, retried.run).identical
