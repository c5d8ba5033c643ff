"""What is said of a trial's score and of the limit that ended it: in progress lines, event lines and lists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from eventlog.schemas import trials as t
from hemra.cli.main import cli
from hemra.cli.progress import style_of, trial_line
from hemra.engine.outcome import Facts, decide
from hemra.reports import numbers as n
from tests.projections.synthetic_runs import SyntheticRun, new_store

ENDED: dict[str, Any] = {
    "trial": "0001", "harness": "alpha", "task": "t01/a", "attempt": 1, "outcome": "completed", "reason": None,
    "scored": True, "score_status": "PASS", "reward": 1.0, "duration_ns": 400_000_000, "limit": None,
}  # fmt: skip


def said(**changes: Any) -> str:
    """What a progress line says after the trial's name."""
    return trial_line(ENDED | changes).partition(": ")[2]


def test_a_trial_that_could_not_be_measured_does_not_read_as_a_failure() -> None:
    """`auth_error, FAIL —` was read as a task that the harness failed at."""
    assert said() == "completed, PASS 1, 400 ms"
    assert said(score_status="FAIL", reward=0.0) == "completed, FAIL 0, 400 ms"
    lost = {"outcome": "auth_error", "scored": False, "reward": None, "reason": "401: no such key"}
    assert said(**lost, score_status="FAIL") == (
        "auth_error, not scored (the scorer said FAIL), 400 ms (401: no such key)"
    )
    assert said(**lost, score_status=None) == "auth_error, not scored, 400 ms (401: no such key)"
    assert style_of(ENDED | lost | {"score_status": "FAIL"}) == "yellow"
    assert (style_of(ENDED), style_of(ENDED | {"score_status": "FAIL", "reward": 0.0})) == ("green", "red")


def test_event_lines_and_lists_say_the_same(tmp_path: Path) -> None:
    """`hemra tail` and `hemra show` would still call it a failure."""
    run = SyntheticRun(new_store(tmp_path), tasks=("t01/a",), harnesses=("alpha",)).begin()
    run.start("0001")
    run.score("0001", "FAIL", 0.0)
    run.finish("0001", "auth_error", score_status="FAIL")
    run.end()
    store = ("--store", str(run.store.path))
    shown = CliRunner().invoke(cli, [*store, "show", run.run]).stdout
    assert re.search(r"auth_error\s+not scored \(the scorer said FAIL\)", shown)
    tailed = CliRunner().invoke(cli, [*store, "tail", run.run]).stdout
    assert "auth_error, not scored (the scorer said FAIL)" in tailed


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (209_715_200.0, "bytes", "200 MiB"), (1_610_612_736, "bytes", "1.5 GiB"), (1023, "bytes", "1023 bytes"),
        (1, "bytes", "1 byte"), (1025, "bytes", "1 KiB"), (1 << 50, "bytes", "1024 TiB"),
        (1_048_575, "bytes", "1024 KiB"), (600.0, "seconds", "600 s"), (600.4, "s", "600.4 s"),
        (0.25, "seconds", "0.25 s"), (1_234_567.89, "seconds", "1234567.9 s"), (2_000_000, "tokens", "2000000 tokens"),
        (1.0, "turns", "1 turn"), (1.0, "processes", "1 process"), (0.1234, "USD", "$0.1234"), (12.0, "USD", "$12.00"),
        (0.5012, "USD", "$0.5012"), (0.00001, "USD", "$1e-05"), (0.0, "USD", "$0.00"), (7, "x", "7 x"),
    ],
)  # fmt: skip
def test_amounts_have_their_units(value: float, unit: str, text: str) -> None:
    """A limit of 200 MiB was told as 2.09715e+08 bytes."""
    assert n.amount(value, unit) == text


def test_a_limits_name_says_its_unit() -> None:
    """`hemra run --dry-run` would show memory_bytes 2.09715e+08."""
    assert n.limit("memory_bytes", 209_715_200.0) == "memory_bytes 200 MiB"
    assert n.limit("wall_seconds", 600.0) == "wall_seconds 600 s"
    assert n.limit("cost_usd", 0.5) == "cost_usd $0.50"
    assert n.limit("tokens", 2_000_000) == "tokens 2000000"
    assert n.limit("cpus", 0.5) == "cpus 0.5"


def test_a_limits_reason_is_for_people() -> None:
    """`memory_bytes limit of 2.09715e+08 bytes reached (measured 2.09715e+08)` says nothing to a person."""
    fired = t.LimitFired(name="memory_bytes", value=209_715_200.0, measured=210_000_000.0, unit="bytes")
    assert decide(Facts(limit=fired)).reason == "memory_bytes limit of 200 MiB reached (measured 200.3 MiB)"


def test_numbers_have_no_exponents() -> None:
    """A condition or a limit would be shown as 1.23457e+06."""
    assert n.quantity(1_234_567.5) == "1234567.5"
    assert n.quantity(0.5) == "0.5"
    assert n.quantity(0.00002) == "0.00002"
    assert n.quantity(1e300) == "1e+300", "three hundred digits say less"
