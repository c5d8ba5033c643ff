"""Reports for people: nothing unknown shown as 0, nothing cut in silence, nothing a terminal would obey."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas import trials as t
from hemra.reports import numbers as n
from hemra.reports.outside import visible
from hemra.reports.render import render_compare, render_report
from projections import query
from projections.compare import compare
from tests.projections.synthetic_runs import SECOND, SyntheticRun, new_store

FORMATS = ("text", "md", "csv", "json")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Report and comparison of one run that has everything: costs, limits, retries, missing scores."""
    run = SyntheticRun(
        new_store(tmp_path_factory.mktemp("reports")),
        tasks=[f"t01_terminal_smoke/t{i:02d}_task" for i in range(8)],
        harnesses=("oracle", "codex-cli"),
        attempts=2,
    ).begin()
    for (harness, _, attempt), trial in run.trials.items():
        number = int(trial)
        if trial == "0004":
            run.start(trial)
            run.event(
                t.TrialRetried(
                    try_no=1, outcome="infra_error", reason="x", backoff_seconds=0, duration_ns=SECOND
                ),
                trial,
            )
            run.trial(trial, 1.0, try_no=2)
        elif trial == "0030":
            run.start(trial)
            run.finish(trial, "infra_error", reason="no space left on device")
        elif trial == "0032":
            fired = t.LimitFired(name="wall_seconds", value=600.0, measured=600.4, unit="s")
            run.start(trial)
            run.score(trial, "FAIL", 0.0)
            run.finish(trial, "timeout", reward=0.0, limit=fired, flags=["leftover_processes"])
        elif harness == "oracle":
            run.trial(trial, 1.0)
        else:
            usage = t.Usage(input_tokens=12_345, output_tokens=100, cost_usd=0.03 if attempt == 1 else None)
            run.trial(trial, 0.5 if number == 6 else float(number % 8 == 0), seconds=65.0, usage=usage)
    name = run.end()
    return query.report(run.store, name), compare(run.store, name)


def text_of(report: dict[str, Any], width: int = 100) -> str:
    """The text form, plain."""
    return render_report(report, "text", width=width, colour=False)


def test_text_report_fits_a_hundred_columns(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Lines would wrap or be cut in the place where a report is read and shown most."""
    for text in (text_of(made[0]), render_compare(made[1], "text", width=100, colour=False)):
        assert max(len(line) for line in text.splitlines()) <= 100
        assert "…" not in text, "a cell was cut although there is room"
        assert "\x1b" not in text
        assert all(line == line.rstrip() for line in text.splitlines())
        assert text.endswith("\n")


def test_text_report_says_everything(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Coverage, limits, retries, what was not enforced or why a score is missing would not be seen."""
    text = text_of(made[0])
    for said in (
        "finished, 31 of 32 trials scored",
        "15/16",
        "$0.21+",
        "= planned",
        "scored, and the scorer said PASS",
        "no space left on device",
        "wall_seconds 600 s",
        "600.4 s",
        "not enforced",
        "leftover_processes (1 trial)",
        "1 try was run again (1 infra error)",
        "Do not rank it",
        "pass@2",
        "(7 of 8 tasks)",
        "mean 0.25",
        "never 0",
    ):
        assert said in text, said


def test_partition_is_shown_with_its_sum(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """The counts on the page would not add up to what was planned."""
    lines = text_of(made[0]).splitlines()
    start = next(i for i, x in enumerate(lines) if x == "Trials") + 3
    assert lines[start - 2].split()[-2:] == ["=", "planned"]
    rows = [[int(x) for x in row.split()[1:]] for row in lines[start : start + 3]]
    assert [row[-1] for row in rows] == [16, 16, 32]
    assert [sum(row[:-1]) for row in rows] == [16, 16, 32]
    assert [sum(column) for column in zip(*rows[:2], strict=True)] == rows[2]


def test_unknown_is_never_zero(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """A harness that told no cost would look free."""
    row = next(
        x
        for x in text_of(made[0]).splitlines()
        if x.startswith("oracle 1.0") and "ms" not in x and " s " in x
    )
    assert row.split()[-5:] == ["—", "—", "—", "—", "0"]


@pytest.mark.parametrize("width", [60, 80, 140])
def test_other_widths(made: tuple[dict[str, Any], dict[str, Any]], width: int) -> None:
    """A narrow terminal would get lines that run over its edge."""
    text = text_of(made[0], width)
    assert max(len(line) for line in text.splitlines()) <= width
    compared = render_compare(made[1], "text", width=width, colour=False)
    assert max(len(line) for line in compared.splitlines()) <= width


def test_colour_only_when_asked(
    made: tuple[dict[str, Any], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Escape codes would end in files and pipes, or NO_COLOR be ignored."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert "\x1b" not in render_report(made[0])
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in render_report(made[0])
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in render_report(made[0])
    assert "\x1b[" in render_report(made[0], colour=True)
    plain = text_of(made[0])
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", render_report(made[0], width=100, colour=True)) == plain


def test_formats_are_repeatable(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Two renderings of one report would differ, or depend on the order of its keys."""
    shuffled = json.loads(json.dumps(made[0], sort_keys=True))
    for format_ in FORMATS:
        first = render_report(made[0], format_, width=100, colour=False)
        assert first == render_report(made[0], format_, width=100, colour=False)
        assert first.endswith("\n")
        if format_ != "json":
            assert render_report(shuffled, format_, width=100, colour=False) == first
        assert render_compare(made[1], format_, width=100, colour=False).endswith("\n")


def test_json_is_the_report(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """The JSON form would lose figures or be no JSON."""
    assert json.loads(render_report(made[0], "json")) == made[0]
    assert json.loads(render_compare(made[1], "json")) == made[1]


def test_csv_has_one_row_a_task_and_harness(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """A spreadsheet would get rounded figures, or 0 where nothing is known."""
    rows = list(csv.DictReader(io.StringIO(render_report(made[0], "csv"))))
    assert len(rows) == 16
    assert {row["cost_usd"] for row in rows if row["harness"] == "oracle"} == {""}
    assert sum(int(row["planned"]) for row in rows) == 32
    compared = list(csv.DictReader(io.StringIO(render_compare(made[1], "csv"))))
    assert [row["pairing"] for row in compared] == ["matched"] * 8


def test_markdown_tables_are_whole(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """A cell with a bar in it would break a row of the Markdown table."""
    for text in (render_report(made[0], "md"), render_compare(made[1], "md")):
        lines = text.splitlines()
        tables = [i for i, line in enumerate(lines) if line.startswith("|--")]
        assert tables
        for i in tables:
            width = lines[i].count("|")
            j = i - 1
            while j < len(lines) and lines[j].startswith("|"):
                assert lines[j].replace("\\|", "").count("|") == width, lines[j]
                j += 1


def test_hostile_texts_are_harmless(tmp_path: Path) -> None:
    """A task name or an error message could clear the screen, forge a line, or inject HTML and markup."""
    evil = "\x1b[2J\x07[red]x[/red]\n| <script>alert(1)</script> \u202egnp.exe"
    run = SyntheticRun(new_store(tmp_path), tasks=(evil, "b"), harnesses=("a|b[bold]",)).begin()
    run.start("0001")
    run.finish("0001", "infra_error", reason=evil, flags=[evil])
    name = run.leave()
    report = query.report(run.store, name)
    text = render_report(report, "text", width=140, colour=False)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[red]x[/red]" in text, "markup of rich was obeyed"
    assert "a|b[bold]" in text
    markdown = render_report(report, "md")
    assert "&#60;script&#62;alert" in markdown, "what was escaped was escaped again"
    assert "a\\|b\\[bold\\]" in markdown
    rows = list(csv.DictReader(io.StringIO(render_report(report, "csv"))))
    assert rows[0]["task"] == visible(evil)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", render_report(report, "csv"))
    assert "\u202e" not in render_report(report, "json"), "what reorders text stands in JSON as an escape"
    assert json.loads(render_report(report, "json")) == report


def test_many_harnesses_and_long_names(tmp_path: Path) -> None:
    """Ten harnesses with long names would make the text report fail or hide a column without a sign."""
    names = [f"harness-with-a-long-name-{i}" for i in range(10)]
    run = SyntheticRun(new_store(tmp_path), tasks=["t/" + "x" * 90, "t/b"], harnesses=names).begin()
    for trial in run.trials.values():
        run.trial(trial, 1.0)
    text = text_of(query.report(run.store, run.end()))
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "…" not in text
    for i, name in enumerate(names, 1):
        assert f"#{i} {name}" in text
        assert text.count(f"#{i} ") + text.count(f"#{i}\n") >= 4, "a column or row of it is missing"


def test_comparison_text_says_what_matters(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """The interval, the test, the flips or the size of what cannot be seen would be left out."""
    text = render_compare(made[1], "text", width=100, colour=False)
    for said in (
        "8 tasks matched · 0 only in A · 0 only in B · 0 not comparable",
        "Not like for like",
        "model-codex-cli",
        "difference A − B",
        "sign-flip permutation",
        "Only A passes",
        "No verdict",
    ):
        assert said in text, said


def test_size_of_what_cannot_be_seen_is_said(tmp_path: Path) -> None:
    """Two equal results on 11 tasks would pass for proof that the harnesses are equal."""
    run = SyntheticRun(new_store(tmp_path), tasks=[f"t/{i}" for i in range(11)]).begin()
    for trial in run.trials.values():
        run.trial(trial, 1.0)
    comparison = compare(run.store, run.end())
    for format_ in ("text", "md"):
        text = " ".join(render_compare(comparison, format_, width=100, colour=False).split())
        assert "These 11 tasks do not tell A (alpha) and B (beta) apart: p = 1.00." in text
        assert (
            "With 11 tasks and 10 % of tasks flipping (assumed: none did here), a true difference under 27 "
            "points will often be missed (80 % power, two-sided 5 %)." in text
        )


def test_detectable_difference_is_not_printed_where_it_was_exceeded(tmp_path: Path) -> None:
    """Oracle against nop, 100 points apart, would be told that 85 points are often missed."""
    run = SyntheticRun(new_store(tmp_path), tasks=[f"t/{i}" for i in range(11)], attempts=2).begin()
    for (harness, _, _), trial in run.trials.items():
        run.trial(trial, float(harness == "alpha"))
    text = render_compare(compare(run.store, run.end()), "text", width=100, colour=False)
    assert "often be missed" not in text
    assert "A (alpha) is better than B (beta) on tasks like these: p < 0.001, 11 tasks." in text
    assert "95 % interval (Newcombe)   +63.4 to +100.0" in text


def test_lower_bounds_have_a_plus(tmp_path: Path) -> None:
    """A sum of what was told in part would be read as all of it."""
    run = SyntheticRun(new_store(tmp_path), tasks=["t/a"], harnesses=["part", "all"]).begin()
    for (harness, _, _), trial in run.trials.items():
        flags = ["usage_partial", "cost_partial"] if harness == "part" else []
        usage = t.Usage(input_tokens=120, output_tokens=7, cost_usd=0.5)
        run.start(trial)
        run.score(trial, "PASS", 1.0)
        run.finish(trial, reward=1.0, usage=usage, flags=flags)
    name = run.end()
    report = query.report(run.store, name)
    for text in (text_of(report), render_report(report, "md")):
        costs = re.findall(r"(?:^part|^all|^\| part|^\| all).*(\$0\.50\+?)", text, re.MULTILINE)
        assert costs[:2] == ["$0.50+", "$0.50"]
        tokens = re.findall(r"(120\+?) [ |—]+(7\+?) ", text)
        assert tokens == [("120+", "7+"), ("120", "7")]
        assert "$0.50 + 1 trial priced in part, told" in text
    assert "$0.50+ and $0.50" in render_compare(compare(run.store, name), "md")


def test_nothing_paired(tmp_path: Path) -> None:
    """A comparison without a single pair would end in a traceback or show a difference of 0."""
    store = new_store(tmp_path)
    one = SyntheticRun(store, "20261130-194512-aa0001", harnesses=("alpha",)).begin().end()
    two = SyntheticRun(store, "20261130-194512-aa0002", harnesses=("alpha",), task_salt="x").begin().end()
    comparison = compare(store, one, two)
    for format_ in FORMATS:
        text = render_compare(comparison, format_, width=100, colour=False)
        assert "task changed" in text
    assert "No verdict: no task is paired (task changed: 2 tasks)." in render_compare(comparison, "md")


def test_unknown_formats_are_refused(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """A misspelt format would give nothing, or some other format."""
    with pytest.raises(ValueError, match="text, json, md and csv"):
        render_report(made[0], "html")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="text, json, md and csv"):
        render_compare(made[1], "html")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made_of", "text"),
    [
        (n.percent(None), "—"), (n.percent(0.4545), "45.5 %"), (n.percent(0), "0.0 %"),
        (n.points(0.1), "+10.0"), (n.points(-0.1), "−10.0"), (n.points(-1e-5), "0.0"), (n.points(None), "—"),
        (n.interval(0.333, 0.667), "33–67"), (n.interval(None, None), "—"),
        (n.duration(None), "—"), (n.duration(0), "0 ms"), (n.duration(999_400_000), "999 ms"),
        (n.duration(999_900_000), "1.0 s"), (n.duration(59.94e9), "59.9 s"), (n.duration(6e10), "1 m 00 s"),
        (n.duration(3599.6e9), "1 h 00 m"), (n.duration(125e9), "2 m 05 s"), (n.duration(7380e9), "2 h 03 m"),
        (n.count(None), "—"), (n.count(999), "999"), (n.count(12_345), "12.3k"), (n.count(263e6), "263M"),
        (n.count(999_999), "1M"), (n.total(5, True), "5+"), (n.total(None, True), "—"),
        (n.money(None), "—"), (n.money(0.0), "$0.00"), (n.money(0.42, True), "$0.42+"),
        (n.money(0.0042), "$0.0042"), (n.money(12.345), "$12.35"),
        (n.p_value(0.0001), "p < 0.001"), (n.p_value(0.0625), "p = 0.062"), (n.p_value(None), "p —"),
        (n.moment("2026-11-30T19:45:12.123456789Z"), "2026-11-30 19:45:12 UTC"), (n.moment(None), "—"),
        (n.short_digest("sha256:" + "a" * 64), "sha256:aaaaaaaaaaaa"), (n.short_digest(None), "—"),
        (n.plain("a\x1b[0m\nb\u202e\u200bc"), "a\\x1b[0m b\\u202e\\u200bc"), (n.plain(None), "—"),
        (n.plain("ünï 漢字 🙂"), "ünï 漢字 🙂"), (n.shortened("abcdef", 4), "abc…"),
        (n.shortened("abc", 4), "abc"), (n.quantity(600.0), "600"), (n.quantity(0.5), "0.5"),
        (n.quantity(True), "True"), (n.quantity(None), "—"),
    ],
)  # fmt: skip
def test_numbers_for_people(made_of: str, text: str) -> None:
    """A figure would be written with the wrong unit, sign or rounding."""
    assert made_of == text
