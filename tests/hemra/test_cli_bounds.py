"""Every number that a person can give has bounds: past them it is refused by name, before anything is recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eventlog.store import Store
from hemra.cli.sizes import SEED
from hemra.datasets.model import TaskSpec
from hemra.datasets.yamlfile import parse_yaml
from hemra.engine.check import MOST_SEED
from hemra.errors import UsageError
from hemra.gateway.prices import read_prices
from tests.hemra.command_line import Run
from tests.projections.synthetic_runs import SyntheticRun

#: More than any number of the record, and more than a double can be.
HUGE, ENDLESS = str(10**23), "9" * 400


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--seed", HUGE, f"--seed {HUGE}: a seed is from -9007199254740991 to 9007199254740991"),
        ("--seed", str(2**53), "a seed is from"),
        ("--seed", f"-{HUGE}", "a seed is from"),
        ("--retries", str(2**63), "--retries 9223372036854775808: at most 100"),
        ("--retries", "101", "--retries 101: at most 100"),
        ("-k", HUGE, "trials are more than a run can have"),
        ("-j", HUGE, "at most 256 trials"),
        ("--timeout", ENDLESS, "limit wall_seconds is inf"),
        ("--timeout", f"{HUGE}h", "limit wall_seconds is"),
        ("--memory-limit", ENDLESS, "a size is from 1 byte to 1024T"),
        ("--output-limit", f"{HUGE}T", "a size is from 1 byte to 1024T"),
        ("--limit", f"tokens={HUGE}", "limit tokens is"),
        ("--limit", f"tokens={ENDLESS}", "limit tokens is"),
        ("--limit", f"cost_usd={ENDLESS}", "cost_usd a number"),
        ("--limit", "cost_usd=1e999", "cost_usd a number"),
        ("--limit", "cost_usd=1e300", "limit cost_usd is 1e+300"),
        ("--limit", "calls=1.5", "give calls a whole number"),
        ("--limit", f"calls=-{ENDLESS}", "limit calls is"),
    ],
)  # fmt: skip
def test_a_number_past_its_bounds_is_refused_before_the_run(
    store: Store, hemra: Run, flag: str, value: str, said: str
) -> None:
    """If this failed, a run could be recorded that no command can list again."""
    given = f"{flag}={value}" if flag.startswith("--") else f"{flag}{value}"
    code, out, err = hemra(
        "-q", "run", "--dataset", "hermes", "--harness", "nop", "--task", "t01_echo", given
    )
    assert (code, out) == (2, "")
    assert said in err
    assert len(err) < 800
    assert store.streams() == []


def test_seeds_have_one_bound() -> None:
    """If this failed, a seed that a run takes could not be prepared again by hand."""
    assert (SEED.min, SEED.max) == (-MOST_SEED, MOST_SEED)


def test_a_run_file_has_the_same_bounds(tmp_path: Path, store: Store, hemra: Run) -> None:
    """If this failed, what a flag refuses could be recorded by way of a file."""
    file = tmp_path / "night.yaml"
    file.write_text(f"dataset: hermes\nharness: nop\ntask: t01_echo\nseed: {HUGE}\nretries: {HUGE}\n")
    code, _, err = hemra("run", str(file))
    assert code == 2
    assert "--seed" in err
    assert "--retries" in err
    assert store.streams() == []


@pytest.mark.parametrize(
    "words",
    [
        ("task", "prepare", "t01_echo", "--seed", HUGE, "-o", "out"),
        ("task", "check", "--task", "t01_echo", "--seeds", HUGE),
        ("harness", "check", "nop", "--seconds", "1e300"),
        ("harness", "check", "nop", "--seconds", "nan"),
        ("log", "pull", "tls+tcp://127.0.0.1:1", "--timeout", "nan"),
        ("tail", "latest", "-n", HUGE),
        ("log", "import", "absent.tar", "--max-size", ENDLESS),
    ],
)
def test_numbers_of_other_commands_have_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hemra: Run, words: tuple[str, ...]
) -> None:
    """If this failed, a slip at a number would end in a traceback, or in work without an end."""
    monkeypatch.chdir(tmp_path)
    code, out, err = hemra(*words)
    assert (code, out) == (2, "")
    assert "unexpected" not in err
    assert any(word in err for word in ("range", "at most", "from"))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("retries", {"retries": 2**63}),
        ("seed", {"seed": 10**23}),
        ("seed", {"seed": -(10**39)}),
        ("jobs", {"jobs": 10**23}),
    ],
)
def test_a_run_recorded_with_a_number_past_all_bounds_is_listed(
    store: Store, hemra: Run, changed: str, said: dict[str, int]
) -> None:
    """If this failed, one such run in a store would take the list of all runs away."""
    made = SyntheticRun(store, run="20261130-194512-aaaaaa", plan=said).begin()
    made.end()
    code, out, _ = hemra("runs", "--json")
    assert code == 0
    [row] = json.loads(out)["runs"]
    assert (row["status"], row["error"]) == ("finished", None)
    code, out, err = hemra("report", "latest", "--json")
    assert (code, err) == (0, "")
    if changed == "seed" and said["seed"] > 0:
        assert json.loads(out)["seed"] == 10**23


def test_a_run_that_cannot_be_projected_is_listed_as_unreadable(store: Store, hemra: Run) -> None:
    """If this failed, one run that nobody foresaw would take the list of all runs away."""
    SyntheticRun(store, run="20261130-194512-aaaaaa").begin().end()
    SyntheticRun(store, run="20261130-194512-bbbbbb", plan={"attempts": "many"}).begin().end()
    code, out, err = hemra("runs")
    assert code == 0
    assert ["unreadable" in line for line in out.splitlines()[2:]] == [True, False]
    assert "1 run cannot be read" in err
    code, out, err = hemra("report", "latest")
    assert (code, out) == (1, "")
    assert "unexpected" not in err
    assert "20261130-194512-bbbbbb" in err
    assert "`hemra tail 20261130-194512-bbbbbb`" in err


TASK = """id: one
version: 1
title: One
difficulty: 1
"""


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("version", TASK.replace("version: 1", f"version: {HUGE}")),
        ("sampling.seed", f"{TASK}sampling: {{seed: {HUGE}}}\n"),
        ("sampling.top_k", f"{TASK}sampling: {{top_k: {HUGE}}}\n"),
        ("quota_kb", f"{TASK}quota_kb: {{tmp: {HUGE}}}\n"),
        ("limits.memory_mb", f"{TASK}limits: {{memory_mb: {HUGE}}}\n"),
        ("limits.calls", f"{TASK}limits: {{calls: {HUGE}}}\n"),
        ("limits.wall_seconds", f"{TASK}limits: {{wall_seconds: .inf}}\n"),
        ("limits.cost_usd", f"{TASK}limits: {{cost_usd: .nan}}\n"),
    ],
)
def test_numbers_of_a_task_have_bounds(field: str, text: str) -> None:
    """If this failed, a task could bring a number into the record that nothing can read again."""
    with pytest.raises(UsageError) as caught:
        parse_yaml(text.encode(), TaskSpec, "task.yaml")
    assert field in str(caught.value)
    assert "<=" in str(caught.value) or ".nan" in text


def test_numbers_of_a_price_table_have_bounds(tmp_path: Path) -> None:
    """If this failed, a price table could bring a number into the record that nothing can read again."""
    file = tmp_path / "prices.yaml"
    file.write_text(
        "name: mine\ndate: 2026-01-01\nprices:\n  - models: [m]\n    input: 1\n    output: 1\n"
        f"    long: {{above: {HUGE}, input: 1, output: 1}}\n"
    )
    with pytest.raises(UsageError, match="above"):
        read_prices(file)


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        ("protocol", f"{{depth: {{most: [1, {HUGE}]}}}}", "settings.depth.most[1]"),
        ("codex", f"{{context_tokens: {HUGE}}}", "settings.context_tokens"),
        ("codex", f"{{output_tokens: {10**15}}}", "settings.output_tokens"),
        ("hermes", "{api_max_retries: -1}", "settings.api_max_retries"),
        ("hermes", f"{{api_max_retries: {10**9}}}", "settings.api_max_retries"),
    ],
)
def test_numbers_of_a_harness_file_have_bounds(
    tmp_path: Path, hemra: Run, kind: str, settings: str, said: str
) -> None:
    """If this failed, a harness file could bring a number into the record that nothing can read again."""
    file = tmp_path / "mine.yaml"
    file.write_text(
        f"name: mine\nkind: {kind}\ncommand: [sh]\nmodel: m\nupstream: {{base_url: 'http://127.0.0.1:1/v1'}}\n"
        f"settings: {settings}\n"
    )
    code, _, err = hemra("harness", "show", str(file))
    assert code == 2
    assert said in err
    assert "from" in err
