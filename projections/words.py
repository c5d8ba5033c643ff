"""The words of a report and what they mean, printed with every report: no label is left to guessing."""

from __future__ import annotations

#: result -> (label, meaning), in the order in which they are shown. Every planned trial is in exactly one.
RESULTS = {
    "passed": ("passed", "scored, and the scorer said PASS"),
    "failed": ("failed", "scored, and the scorer did not say PASS"),
    "verifier_error": ("verifier error", "the scorer itself failed: no score"),
    "skipped": ("skipped", "the scorer declined to judge"),
    "no_score": ("no score", "the trial ended in a way that is scored, but no score is recorded"),
    "provider_error": ("provider error", "the model's endpoint did not serve"),
    "auth_error": ("sign-in error", "the model's endpoint refused the credentials"),
    "quota_error": ("quota error", "the model's endpoint refused for lack of quota"),
    "setup_error": ("setup error", "our side failed before the harness ran"),
    "sandbox_lost": ("sandbox lost", "the sandbox vanished under the harness"),
    "infra_error": ("infra error", "our side failed under the harness"),
    "unknown": ("unknown", "nothing explains how it ended"),
    "cancelled": ("cancelled", "a person or a budget stopped it"),
    "interrupted": ("interrupted", "it was started and nobody goes on with it; `hemra resume` does"),
    "running": ("running", "it is under way"),
    "waiting": ("waiting", "it is planned and its turn has not come"),
    "not_started": ("not started", "it was planned and never started"),
}

#: outcome -> meaning, for how a trial ended; None stands for one that has not ended.
OUTCOMES = {
    "completed": "the harness ended by itself",
    "timeout": "the time limit stopped it",
    "turn_limit": "the limit of turns stopped it",
    "budget_exceeded": "the budget stopped it",
    "output_limit": "the limit of output stopped it",
    "out_of_memory": "the memory limit stopped it",
    "harness_error": "the harness crashed, hung after its end, refused its input, or killed who watched it",
}

STATUSES = {
    "finished": "finished: every planned trial has a final state",
    "cancelled": "cancelled: it was stopped before its end; `hemra resume` goes on with it",
    "running": "still running: a recorder is writing it now",
    "incomplete": "incomplete: it stopped without an end; `hemra resume` goes on with it",
}

LEGEND = {
    "scored": "trials whose score counts, of those planned",
    "strict": "mean reward over all planned trials, absent scores count as 0; each task weighs the same",
    "scored only": "mean reward over scored trials; each task weighs the same",
    "interval": "95 %, over tasks: Wilson where every task is all or nothing, else Student's t",
    "pass@k": "chance that one or more of k attempts pass; mean over tasks with at least k scored attempts",
    "pass^k": "chance that all of k attempts pass; same tasks",
    "agent time": "wall time of the harness process by the monotonic clock: median and 90th percentile",
    "model wait": "time during which a call of a model was open: median over the trials",
    "first token": "from a request to the first token of its answer: median over the trials' own medians",
    "calls": "turns of the conversation with the model; side: other calls, such as for a title; failed: of both, those "
    "without a whole answer, whose tokens are not counted",
    "tokens": "cached ones are part of those in, reasoning is part of those out",
    "cost": "told by the provider or the harness where it is, else computed by the price table",
    "run again": "tries that do not count, for the trial was tried again: what they took is in no other figure but "
    "what was paid in all",
    "—": "not known (never 0); a + after a sum marks a lower bound: some of it is not known",
}


def result_label(result: str) -> str:
    """Label of a result; a result of a later version is shown as it is."""
    return RESULTS.get(result, (result, ""))[0]


def result_order(result: str) -> tuple[int, str]:
    """Sort key: known results in their order, others after them by name."""
    known = list(RESULTS)
    return (known.index(result) if result in RESULTS else len(known), result)
