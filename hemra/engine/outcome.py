"""How a trial ended: one table from facts to outcome, and what each outcome means for the run.

The first rule that fits decides. The order is the point: what a person or our own side did comes
before what the harness did, a model endpoint that did not serve comes before the limit that a
harness waiting for it ran into, and an exit code never decides more than "it ended by itself".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from eventlog.schemas.trials import LimitFired
from hemra.reports.numbers import amount

ENDPOINT_OUTCOMES = frozenset({"provider_error", "auth_error", "quota_error"})


@dataclass(frozen=True)
class Policy:
    """What an outcome means. `scored`: the scorer's word counts. `retry`: run again in the same run.

    `judged`: the scorer runs at all (its word is kept even where it does not count). `strikes`: a
    few in a row stop the run. `stopped`: it is no end of the trial's own, and a resumed run carries it out.
    """

    scored: bool = False
    judged: bool = False
    retry: bool = False
    strikes: bool = False
    stopped: bool = False


_COUNTS = Policy(scored=True, judged=True)
_OURS = Policy(retry=True)

OUTCOMES: dict[str, Policy] = {
    "completed": _COUNTS,
    "timeout": _COUNTS,
    "turn_limit": _COUNTS,
    "budget_exceeded": _COUNTS,
    "output_limit": _COUNTS,
    "out_of_memory": _COUNTS,
    "harness_error": _COUNTS,
    "provider_error": Policy(judged=True, retry=True),
    # Waiting does not mend these: who has mended them says so, by `hemra resume --retry-errors`.
    "auth_error": Policy(judged=True, strikes=True),
    "quota_error": Policy(judged=True, strikes=True),
    "setup_error": _OURS,
    "sandbox_lost": _OURS,
    "infra_error": _OURS,
    "cancelled": Policy(stopped=True),
    "not_started": Policy(stopped=True),
    "unknown": Policy(judged=True),
}

#: What it means that a limit ended a trial, by the limit's name.
LIMIT_OUTCOMES = {
    "wall_seconds": "timeout",
    "cpu_seconds": "timeout",
    "output_bytes": "output_limit",
    "file_bytes": "output_limit",
    "workspace_bytes": "output_limit",
    "memory_bytes": "out_of_memory",
    "processes": "harness_error",
    "turns": "turn_limit",
    "calls": "budget_exceeded",
    "tokens": "budget_exceeded",
    "input_tokens": "budget_exceeded",
    "output_tokens": "budget_exceeded",
    "cost_usd": "budget_exceeded",
}


@dataclass(frozen=True)
class Facts:
    """What is known about a try once nothing of it runs any more. Texts are one line; None = it was not so.

    `broke` is a failure of our own code, `unready` one of preparing, creating or starting, `lost` of the sandbox under
    the harness; `unwatched`: it ended the process of ours that watched it. `hung`: it had said that it was done and had
    to be ended; `dismissed`: the same of one that serves as long as it is talked to, and is not blamed for it.
    `endpoint` is the outcome that the gateway's record of the model calls says, with `endpoint_reason`; `served`: its
    calls were answered, the last one included; `refused`: a budget of ours refused it calls; `missed`: the cassette
    that stood in for its model had no answer. `adapter` is the outcome that the harness's own words say, with
    `adapter_reason`.
    """

    cancelled: str | None = None
    broke: str | None = None
    unready: str | None = None
    lost: str | None = None
    unwatched: str | None = None
    limit: LimitFired | None = None
    endpoint: str | None = None
    endpoint_reason: str | None = None
    refused: bool = False
    served: bool = False
    missed: str | None = None
    adapter: str | None = None
    adapter_reason: str | None = None
    hung: bool = False
    dismissed: bool = False
    exit_code: int | None = None
    exit_signal: int | None = None
    recognised: int = 0
    unrecognised: int = 0


@dataclass(frozen=True)
class Verdict:
    """An outcome, why, and what a reader should also know."""

    outcome: str
    reason: str | None
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Rule:
    """A row of the table: its name, when it fits, and the outcome and reason that it gives."""

    name: str
    fits: Callable[[Facts], bool]
    outcome: Callable[[Facts], str]
    reason: Callable[[Facts], str | None]


def _fixed(outcome: str) -> Callable[[Facts], str]:
    return lambda _: outcome


def _limit_reason(facts: Facts) -> str | None:
    fired = facts.limit
    assert fired is not None
    value, measured = amount(fired.value, fired.unit), amount(fired.measured, fired.unit)
    return f"{fired.name} limit of {value} reached (measured {measured})"


def _exit_reason(facts: Facts) -> str | None:
    return facts.adapter_reason or (f"exit code {facts.exit_code}" if facts.exit_code else None)


RULES: tuple[Rule, ...] = (
    Rule("a person or the run stopped it", lambda f: f.cancelled is not None, _fixed("cancelled"),
         lambda f: f.cancelled),
    Rule("our own code failed", lambda f: f.broke is not None, _fixed("infra_error"), lambda f: f.broke),
    Rule("it could not be set up", lambda f: f.unready is not None, _fixed("setup_error"),
         lambda f: f.unready),
    Rule("the sandbox vanished", lambda f: f.lost is not None, _fixed("sandbox_lost"), lambda f: f.lost),
    Rule("the model's endpoint did not serve", lambda f: f.endpoint in ENDPOINT_OUTCOMES,
         lambda f: str(f.endpoint), lambda f: f.endpoint_reason),
    Rule("the cassette had no answer", lambda f: f.missed is not None, _fixed("unknown"), lambda f: f.missed),
    Rule("the harness says that the endpoint did not serve",
         lambda f: f.adapter in ENDPOINT_OUTCOMES and not f.refused and not f.served,
         lambda f: str(f.adapter), lambda f: f.adapter_reason),
    Rule("a limit stopped it", lambda f: f.limit is not None,
         lambda f: LIMIT_OUTCOMES.get(f.limit.name if f.limit else "", "budget_exceeded"), _limit_reason),
    Rule("it ended who watched it", lambda f: f.unwatched is not None, _fixed("harness_error"),
         lambda f: f.unwatched),
    Rule("it hung after its end", lambda f: f.hung, _fixed("harness_error"),
         lambda f: "did not exit after it had said that it was done"),
    Rule("its calls to the model show it", lambda f: f.endpoint in OUTCOMES, lambda f: str(f.endpoint),
         lambda f: f.endpoint_reason),
    Rule("it blames an endpoint that served", lambda f: f.adapter in ENDPOINT_OUTCOMES and f.served,
         _fixed("harness_error"), lambda f: f"its calls to the model were answered, yet it said: {f.adapter_reason}"),
    Rule("the adapter knows", lambda f: f.adapter in OUTCOMES, lambda f: str(f.adapter), _exit_reason),
    Rule("it was done and served on", lambda f: f.dismissed, _fixed("completed"), lambda f: f.adapter_reason),
    Rule("it crashed", lambda f: f.exit_signal is not None, _fixed("harness_error"),
         lambda f: f.adapter_reason or f"ended by signal {f.exit_signal}"),
    Rule("the adapter understood nothing", lambda f: f.unrecognised > 0 and f.recognised == 0,
         _fixed("unknown"),
         lambda f: f.adapter_reason or f"none of the {f.unrecognised} lines it printed was understood"),
    Rule("it ended by itself", lambda f: f.exit_code is not None, _fixed("completed"), _exit_reason),
    Rule("nothing explains it", lambda _: True, _fixed("unknown"),
         lambda f: f.adapter_reason or "no exit status and no limit explain how it ended"),
)  # fmt: skip


def rule_for(facts: Facts) -> Rule:
    """The first row of the table that fits."""
    return next(rule for rule in RULES if rule.fits(facts))


def _flags(facts: Facts, outcome: str) -> list[str]:
    flags = []
    if facts.exit_code:
        flags.append("nonzero_exit")
    ended_by_us = facts.hung or facts.dismissed
    # A limit or a cancellation kills by signal: only a harness that died unasked is worth a flag.
    if facts.exit_signal is not None and outcome in {"completed", "harness_error"} and not ended_by_us:
        flags.append("ended_by_signal")
    if facts.hung:
        flags.append("hang_after_result")
    if facts.unrecognised and facts.recognised == 0:
        flags.append("adapter_mismatch")
    elif facts.unrecognised:
        flags.append("unknown_lines")
    if facts.adapter is not None and facts.adapter not in OUTCOMES:
        flags.append("adapter_outcome_unknown")
    return flags


def decide(facts: Facts) -> Verdict:
    """The outcome of a try. Never raises: what nothing explains is `unknown`."""
    rule = rule_for(facts)
    outcome = rule.outcome(facts)
    return Verdict(outcome, rule.reason(facts), _flags(facts, outcome))
