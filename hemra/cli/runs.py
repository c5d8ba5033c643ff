"""`hemra runs` and `hemra show`: what is in the store, and one run with its trials."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import click

from hemra.cli.context import common_options, json_option, settings
from hemra.cli.lazy import Command
from hemra.cli.output import note, print_facts, print_json, print_table, say
from hemra.cli.stores import open_store, resolve_run, store_if_any
from hemra.reports.columns import Column

Row = dict[str, Any]

#: So many trials are listed unless more are asked for.
LISTED = 200
#: How long a list may take before it says why. Seconds.
PATIENCE_S = 1.0


@click.command(
    cls=Command,
    examples=[
        ("hemra runs", "all runs, newest first"),
        ("hemra runs --limit 1 --json | jq -r '.runs[0].run'", "the newest run's id"),
    ],
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N.")
@json_option
@common_options
def runs(limit: int | None, as_json: bool) -> None:
    """List the runs in the store, newest first."""
    from hemra.reports.numbers import many
    from projections.query import list_runs

    store = store_if_any()
    with _told_if_it_takes_long() as on_missing:
        rows = list_runs(store, limit=limit, on_missing=on_missing) if store else []
    if as_json:
        print_json({"schema": "hemra.runs/1", "runs": rows})
        return
    if not rows:
        return
    print_table(
        [Column("run"), Column("name", least=8), Column("status"), Column("dataset", least=8, drop=3),
         Column("harnesses", least=10, drop=1), Column("scored", right=True), Column("passed", right=True),
         Column("time", right=True, drop=2)],
        [_run_row(row) for row in rows],
    )  # fmt: skip
    unreadable = [row for row in rows if row["error"]]
    if unreadable:
        note(
            f"{many(len(unreadable), 'run')} cannot be read; `hemra log verify` says why: {unreadable[0]['error']}"
        )


@contextlib.contextmanager
def _told_if_it_takes_long() -> Iterator[Callable[[int], None]]:
    """Takes how many runs have to be read; while that goes on, one line on stderr says so after `PATIENCE_S`."""
    from hemra.reports.numbers import many

    timers: list[threading.Timer] = []

    def on_missing(runs: int) -> None:
        what = "that is not cached as it stands" if runs == 1 else "that are not cached as they stand"
        text = f"reading {many(runs, 'run')} {what} …"
        if settings().quiet:
            return
        timer = threading.Timer(PATIENCE_S, say, [text], {"err": True})
        timer.daemon = True
        timers.append(timer)
        timer.start()

    try:
        yield on_missing
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()  # what it says must not fall into the list


def _run_row(row: Row) -> list[Any]:
    from hemra.reports.numbers import UNKNOWN, duration

    planned = row.get("planned")
    scored = UNKNOWN if planned is None else f"{row['scored']}/{planned}"
    harnesses = ", ".join(row["harnesses"]) if row.get("harnesses") else None
    return [row["run"], row["name"], row["status"], row["dataset"], harnesses, scored, row["passed"],
            duration(row["duration_ns"])]  # fmt: skip


@click.command(
    cls=Command,
    examples=[
        ("hemra show latest", "the newest run"),
        ("hemra show latest --failed", "only its trials that did not pass"),
        ("hemra show latest/0003", "one trial, with every call of its model"),
        ("hemra show 20261130-19 --json", "a run by the beginning of its id, as JSON"),
    ],
)
@click.argument("run", metavar="RUN[/TRIAL]")
@click.option("--failed", is_flag=True, help="Only trials that did not pass.")
@click.option(
    "--all", "all_", is_flag=True, help=f"All trials, however many (default: {LISTED}); also with -v."
)
@json_option
@common_options
def show(run: str, failed: bool, all_: bool, as_json: bool) -> None:
    """Show one run with its trials, or one trial.

    RUN is an id, the beginning of one, a name, or `latest`. With -v nothing is shortened to the width of the
    terminal.
    """
    from hemra.reports.numbers import many
    from projections import query

    store = open_store()
    run, slash, trial = run.partition("/")
    if slash and failed:
        raise click.UsageError("--failed is for a whole run; leave it out, or the trial")
    if slash:
        from hemra.cli.trial_page import show_trial

        show_trial(store, resolve_run(store, run), trial, as_json=as_json)
        return
    document = query.show(store, resolve_run(store, run))
    if failed:
        document["trials"] = [t for t in document["trials"] if t["result"] != "passed"]
        document["run_again"] = _tries_of(document["trials"], document)
    if as_json:
        print_json(document)
        return
    _print_header(document)
    say()
    verbose = settings().verbose > 0
    trials = document["trials"]
    shown = trials if all_ or verbose else trials[:LISTED]
    again = _tries_of(shown, document)
    tries = [Column("try", right=True)] if again else []
    print_table(
        [Column("trial"), Column("harness", least=8), Column("task", least=16, end=True), Column("#", right=True),
         *tries, Column("outcome"), Column("score", least=10), Column("time", right=True, drop=1),
         Column("why", least=16)],
        [_trial_row(trial, with_try=bool(again)) for trial in shown],
        whole=verbose,
    )  # fmt: skip
    if again:
        _print_tries(again, whole=verbose)
    if len(shown) < len(trials):
        note(f"… and {len(trials) - len(shown)} more of {many(len(trials), 'trial')}: --all lists them")
    note(f"More: `hemra report {document['run']}`, `hemra tail {document['run']} --trial 0001`")


def _print_header(document: Row) -> None:
    from hemra.reports.numbers import duration, many, moment, short_digest

    dataset = document["dataset"]
    harnesses = ", ".join(
        h["name"] + (f" {h['version']}" if h["version"] else "") + (f" ({h['model']})" if h["model"] else "")
        for h in document["harnesses"]
    )
    print_facts(
        [
            ("run", document["run"]),
            ("name", document["name"]),
            ("status", document["status"]),
            ("started", moment(document["started"])),
            ("time", duration(document["duration_ns"])),
            (
                "dataset",
                f"{dataset['name']} {short_digest(dataset['digest'])}, {many(dataset['tasks'], 'task')}",
            ),
            ("harnesses", harnesses),
            ("sandbox", document["sandbox"]),
            (
                "trials",
                f"{document['planned']} planned, {document['scored']} scored, {document['passed']} passed",
            ),
        ]
    )


def _tries_of(trials: list[Row], document: Row) -> list[Row]:
    """The tries of these trials that were run again."""
    names = {trial["trial"] for trial in trials}
    return [one for one in document["run_again"] if one["trial"] in names]


def _print_tries(again: list[Row], *, whole: bool) -> None:
    """The tries that do not count, under a heading."""
    from hemra.reports.retried import try_row

    say("\nRun again: tries that do not count")
    print_table(
        [Column("trial"), Column("try", right=True), Column("outcome"), Column("time", right=True, drop=1),
         Column("cost", right=True), Column("why", least=16)],
        [try_row(one) for one in again],
        whole=whole,
    )  # fmt: skip


def _trial_row(trial: Row, *, with_try: bool) -> list[Any]:
    from hemra.reports.numbers import duration
    from hemra.reports.scores import score_words

    status, reward = trial["score_status"], trial["reward"]
    score = None if status is None and reward is None else score_words(status, reward)
    why = "; ".join(filter(None, (trial.get("reason"), trial.get("score_reason"))))
    return [
        trial["trial"], trial["harness"], trial["task"], trial["attempt"],
        *([trial["try_no"]] if with_try else []), trial["outcome"] or trial["state"],
        score, duration(trial["agent_ns"]), why or None,
    ]  # fmt: skip
