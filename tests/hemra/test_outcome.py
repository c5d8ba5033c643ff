"""The outcome table, row by row."""

from __future__ import annotations

import itertools

import pytest

from eventlog.schemas.trials import LimitFired
from hemra.engine.outcome import LIMIT_OUTCOMES, OUTCOMES, RULES, Facts, decide, rule_for

WALL = LimitFired(name="wall_seconds", value=2, measured=2.01, unit="s")


def limit(name: str) -> LimitFired:
    """A limit of that name that fired."""
    return LimitFired(name=name, value=10, measured=11, unit="x")


SAYS = "the harness says that the endpoint did not serve"
ROWS = [
    ("a person or the run stopped it", Facts(cancelled="Ctrl-C", exit_code=0), "cancelled"),
    ("our own code failed", Facts(broke="KeyError: 'x'", unready="late"), "infra_error"),
    ("it could not be set up", Facts(unready="prepare: exit code 1"), "setup_error"),
    ("the sandbox vanished", Facts(lost="container removed", limit=WALL, exit_code=137), "sandbox_lost"),
    ("the model's endpoint did not serve", Facts(endpoint="auth_error", adapter="completed"), "auth_error"),
    ("the model's endpoint did not serve", Facts(endpoint="provider_error", limit=WALL), "provider_error"),
    ("the cassette had no answer", Facts(missed="turn 2", limit=WALL, adapter="provider_error"), "unknown"),
    (SAYS, Facts(adapter="auth_error", exit_code=0), "auth_error"),
    (SAYS, Facts(adapter="quota_error", limit=WALL), "quota_error"),
    (SAYS, Facts(adapter="provider_error", exit_code=1), "provider_error"),
    (
        "a limit stopped it",
        Facts(limit=limit("calls"), refused=True, adapter="provider_error"),
        "budget_exceeded",
    ),
    ("a limit stopped it", Facts(limit=WALL, exit_signal=9), "timeout"),
    ("a limit stopped it", Facts(limit=WALL, adapter="completed", hung=True), "timeout"),
    ("a limit stopped it", Facts(limit=limit("something_new")), "budget_exceeded"),
    ("a limit stopped it", Facts(limit=WALL, unwatched="it killed"), "timeout"),
    ("it ended who watched it", Facts(unwatched="it killed", adapter="completed"), "harness_error"),
    ("it hung after its end", Facts(adapter="completed", hung=True, exit_signal=15), "harness_error"),
    ("its calls to the model show it", Facts(endpoint="harness_error", adapter="completed"), "harness_error"),
    ("it blames an endpoint that served", Facts(adapter="auth_error", served=True), "harness_error"),
    ("the adapter knows", Facts(adapter="completed", exit_code=1), "completed"),
    ("the adapter knows", Facts(adapter="harness_error", exit_code=0), "harness_error"),
    ("the adapter knows", Facts(adapter="turn_limit", exit_code=0), "turn_limit"),
    ("the adapter knows", Facts(adapter="unknown", exit_code=0), "unknown"),
    ("it was done and served on", Facts(dismissed=True, exit_signal=15), "completed"),
    ("it crashed", Facts(exit_signal=11, unrecognised=3), "harness_error"),
    ("the adapter understood nothing", Facts(exit_code=0, unrecognised=3), "unknown"),
    ("it ended by itself", Facts(exit_code=0), "completed"),
    ("it ended by itself", Facts(exit_code=7), "completed"),
    ("it ended by itself", Facts(exit_code=0, recognised=1, unrecognised=3), "completed"),
    ("it ended by itself", Facts(exit_code=0, adapter="no such outcome"), "completed"),
    ("nothing explains it", Facts(), "unknown"),
]


@pytest.mark.parametrize(("row", "facts", "outcome"), ROWS)
def test_row(row: str, facts: Facts, outcome: str) -> None:
    """A row of the table that catches other facts than it should would rename how trials end."""
    assert rule_for(facts).name == row
    assert decide(facts).outcome == outcome


def test_every_row_is_tested() -> None:
    """A new row without a test could be wrong unseen."""
    assert {row for row, _, _ in ROWS} == {rule.name for rule in RULES}


@pytest.mark.parametrize(("name", "outcome"), sorted(LIMIT_OUTCOMES.items()))
def test_every_limit_has_its_outcome(name: str, outcome: str) -> None:
    """A limit mapped to no outcome of the table would make an unscored trial of a scored one."""
    verdict = decide(Facts(limit=limit(name)))
    assert verdict.outcome == outcome
    assert OUTCOMES[outcome].scored
    assert name in (verdict.reason or "")


def test_every_combination_gives_a_known_outcome() -> None:
    """A combination nobody thought of must end in an outcome, never in an exception."""
    texts = (None, "why")
    adapters = (None, *OUTCOMES, "nonsense")
    for cancelled, broke, unready, lost in itertools.product(texts, repeat=4):
        for adapter, fired, hung in itertools.product(adapters, (None, WALL), (False, True)):
            for code, signal, odd in itertools.product((None, 0, 3), (None, 9), (0, 2)):
                facts = Facts(
                    cancelled=cancelled, broke=broke, unready=unready, lost=lost, adapter=adapter,
                    limit=fired, hung=hung, exit_code=code, exit_signal=signal, unrecognised=odd,
                )  # fmt: skip
                verdict = decide(facts)
                assert verdict.outcome in OUTCOMES
                if verdict.outcome not in {"completed"}:
                    assert verdict.reason or adapter is not None


def test_exit_code_is_kept_as_a_flag_and_decides_nothing() -> None:
    """A harness that did its task and exits 1 would otherwise lose its score, or its exit code."""
    verdict = decide(Facts(exit_code=1))
    assert (verdict.outcome, verdict.flags) == ("completed", ["nonzero_exit"])
    assert verdict.reason == "exit code 1"


def test_flags_say_what_the_outcome_hides() -> None:
    """A hang, a crash or output nobody understood would vanish behind the outcome."""
    assert "hang_after_result" in decide(Facts(adapter="completed", hung=True, exit_signal=15)).flags
    assert decide(Facts(dismissed=True, exit_signal=15)).flags == []
    assert "ended_by_signal" in decide(Facts(exit_signal=11)).flags
    assert "ended_by_signal" not in decide(Facts(limit=WALL, exit_signal=9)).flags
    assert decide(Facts(exit_code=0, unrecognised=2)).flags == ["adapter_mismatch"]
    assert decide(Facts(exit_code=0, recognised=1, unrecognised=2)).flags == ["unknown_lines"]
    assert decide(Facts(exit_code=0, adapter="nonsense")).flags == ["adapter_outcome_unknown"]


def test_what_counts_is_what_the_design_says() -> None:
    """A change of which outcomes are scored, retried or resumed changes every published number."""
    scored = {name for name, policy in OUTCOMES.items() if policy.scored}
    assert scored == {
        "completed", "timeout", "turn_limit", "budget_exceeded", "output_limit", "out_of_memory",
        "harness_error",
    }  # fmt: skip
    retried = {name for name, policy in OUTCOMES.items() if policy.retry}
    assert retried == {"provider_error", "setup_error", "sandbox_lost", "infra_error"}
    assert {name for name, policy in OUTCOMES.items() if policy.strikes} == {"auth_error", "quota_error"}
    assert {name for name, policy in OUTCOMES.items() if policy.stopped} == {"cancelled", "not_started"}
    assert all(policy.judged for policy in OUTCOMES.values() if policy.scored)
