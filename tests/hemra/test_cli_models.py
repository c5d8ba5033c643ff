"""`hemra prices` and `hemra show RUN/TRIAL`: what a model costs, and every call of it in one trial."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from eventlog.schemas import trials as t
from hemra.cli.main import cli
from hemra.gateway import prices
from tests.projections.synthetic_runs import SyntheticRun, new_store


@pytest.fixture(autouse=True)
def no_table_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user's own price table would be."""
    place = tmp_path / "config" / "prices.yaml"
    monkeypatch.setattr(prices, "user_file", lambda: place)
    return place


def hemra(*arguments: str) -> Result:
    """The command, in this process."""
    return CliRunner().invoke(cli, list(arguments))


def test_the_price_table_in_use_is_shown(no_table_of_the_user: Path) -> None:
    """Nobody could see by which prices costs are made, or where to put others."""
    text = hemra("prices").stdout
    for said in ("hemra list prices", "2026-10-24", str(no_table_of_the_user), "claude-opus-5-5"):
        assert said in text
    no_table_of_the_user.parent.mkdir()
    no_table_of_the_user.write_text(
        "name: mine\ndate: 2026-12-01\nprices: [{models: [llama], input: 0, output: 0}]\n", encoding="utf-8"
    )
    document = json.loads(hemra("prices", "--json").stdout)
    assert (document["schema"], document["name"], document["file"]) == (
        "hemra.prices/1", "mine", str(no_table_of_the_user),
    )  # fmt: skip
    assert [entry["models"] for entry in document["prices"]] == [["llama"]]


def test_a_models_prices_or_that_it_has_none(tmp_path: Path) -> None:
    """A model without a price would look free, or a script could not tell it from one that has."""
    found = json.loads(hemra("prices", "claude-haiku-4-5-20251001", "--json").stdout)
    assert [entry["input"] for entry in found["prices"]] == [1]
    missing = hemra("prices", "no-such-model")
    assert missing.exit_code == 5 or getattr(missing.exception, "exit_code", None) == 5
    assert "no price for 'no-such-model'" in f"{missing.output}{missing.exception}"


@pytest.fixture
def run(tmp_path: Path) -> SyntheticRun:
    """A run of one trial with calls of every kind, and one that never started."""
    made = SyntheticRun(
        new_store(tmp_path), tasks=("a", "b"), harnesses=("alpha",), served=("alpha",)
    ).begin()
    made.start("0001")
    made.call("0001", "m1", priced_usd=0.25)
    made.call("0001", "m2", status=429, ended="error", usage=None)
    made.call("0001", "m3", asked={"retry_of": "m2"}, replayed="20261129-000000-aaaaaa/0001/m3 (loose)")
    made.call("0001", "m4", asked={"auxiliary": "no_tools"}, usage=t.Usage(output_tokens=1))
    made.call("0001", "m5", answered=False)
    made.score("0001", "PASS", 1.0)
    made.finish("0001", reward=1.0)
    made.end()
    return made


def test_every_call_of_a_trial_is_listed(run: SyntheticRun) -> None:
    """What a trial's tokens and money went into could not be looked up."""
    text = hemra("--store", str(run.store.path), "show", "-v", f"{run.run}/0001").stdout
    lines = {
        line.split()[0]: line.split()
        for line in text.splitlines()
        if line.startswith(("m1", "m2", "m3", "m4", "m5"))
    }
    assert lines["m1"][:6] == ["m1", "turn", "m-1", "complete", "100", "40"]
    assert "$0.25" in lines["m1"]
    assert lines["m2"][3:6] == ["error", "429", "—"]
    assert lines["m3"][-3:] == ["m2", "m3", "(loose)"]
    assert lines["m4"][1] == "no_tools"
    assert lines["m5"][2:5] == ["m", "open", "—"]
    assert "tokens         200 in (80 cached), 23 out (6 reasoning)" in text
    assert "replayed from  20261129-000000-aaaaaa/0001" in text
    document = json.loads(hemra("--store", str(run.store.path), "show", f"{run.run}/0001", "--json").stdout)
    assert (document["schema"], document["trial"]["trial"]) == ("hemra.trial/1", "0001")
    assert [call["call"] for call in document["calls"]] == ["m1", "m2", "m3", "m4", "m5"]


def test_a_trial_that_asked_nothing_is_shown_too(run: SyntheticRun) -> None:
    """A trial that never started would end in a traceback, one that does not exist look empty."""
    shown = hemra("--store", str(run.store.path), "show", f"{run.run}/0002")
    assert shown.exit_code == 0
    assert "not_started" in shown.stdout
    assert "tokens   — in, — out" in shown.stdout
    assert "no call of a model passed the gateway" in shown.stderr
    wrong = hemra("--store", str(run.store.path), "show", f"{run.run}/0003")
    assert "no trial '0003'" in f"{wrong.output}{wrong.exception}"


def test_a_try_that_was_run_again_is_shown_with_its_cost(tmp_path: Path) -> None:
    """Nobody could see that this is the second try, what the first cost, and why it did not count."""
    made = SyntheticRun(
        new_store(tmp_path), tasks=("a", "b"), harnesses=("alpha",), served=("alpha",)
    ).begin()
    made.start("0001")
    made.call("0001", "m1", priced_usd=2.25)
    made.event(
        t.TrialRetried(
            try_no=1,
            outcome="infra_error",
            reason="the sandbox died",
            backoff_seconds=1,
            duration_ns=3 * 10**9,
        ),
        "0001",
    )
    made.start("0001", 2)
    made.call("0001", "m1", priced_usd=9.0)
    made.score("0001", "PASS", 1.0, try_no=2)
    made.finish("0001", reward=1.0, try_no=2)
    made.trial("0002", 1.0)
    made.end()
    store = ("--store", str(made.store.path))
    lines = hemra(*store, "show", f"{made.run}/0001").stdout.splitlines()
    facts = {line[:9].strip(): line[9:].strip() for line in lines[: lines.index("")]}
    assert (facts["try"], facts["cost"]) == ("2", "$9.00 (paid in all $11.25)")
    assert facts["try 1"] == (
        "run again, infra error: the sandbox died; took 3.0 s, 1 call, 100 tokens in, 11 out, cost $2.25"
    )
    other = hemra(*store, "show", f"{made.run}/0002").stdout
    assert not [line for line in other.splitlines() if line.startswith("try")]
    text = hemra(*store, "show", made.run).stdout
    assert "harnesses  alpha 1.0 (model-alpha)" in text
    title, _, first, second = text[text.index("trial  ") :].splitlines()[:4]
    assert title.split()[:5] == ["trial", "harness", "task", "#", "try"]
    assert (first.split()[:5], second.split()[:5]) == (
        ["0001", "alpha", "a", "1", "2"], ["0002", "alpha", "b", "1", "1"],
    )  # fmt: skip
    again = text[text.index("Run again") :].splitlines()
    assert again[1].split() == ["trial", "try", "outcome", "time", "cost", "why"]
    assert again[3].split() == ["0001", "1", "infra_error", "3.0", "s", "$2.25", "the", "sandbox", "died"]
    failed = hemra(*store, "show", made.run, "--failed").stdout
    assert "Run again" not in failed, "the trial that it belongs to is not shown"
