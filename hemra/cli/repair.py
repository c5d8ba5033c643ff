"""`hemra log repair`: a copy of a damaged run with everything that is left of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hemra.cli.context import common_options, end_with, json_option
from hemra.cli.lazy import Command
from hemra.cli.output import note, print_json, say
from hemra.cli.stores import open_store, resolve_stream

if TYPE_CHECKING:
    from eventlog.repair_report import LostEvents, RepairReport
    from eventlog.store import Store

#: At most this many places without loss are told to a person; --json has all.
_MAX_TOLD = 20


@click.command(
    "repair",
    cls=Command,
    examples=[
        ("hemra log repair latest -n", "what is missing, and what a copy would hold; writes nothing"),
        ("hemra log repair latest -o rescued", "a copy in the store `rescued`, made if it is not there"),
        ("hemra log repair latest --json | jq .ranges", "which events are missing, and where they stood"),
    ],
)
@click.argument("run", metavar="RUN")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="The store to write the copy to (made if it is not there). Default: this store's path with `.repaired`.",
)
@click.option(
    "-n", "--dry-run", is_flag=True, help="Only say what is missing; exit code 1 where something is."
)
@json_option
@common_options
def repair(run: str, output: str | None, dry_run: bool, as_json: bool) -> None:
    """Write a repaired copy of a damaged run, and say exactly what is missing from it.

    The original is never touched. In the copy every event keeps its number; where one was lost, an
    `event.lost` stands. The last event says what is missing, and so does every report on the copy.
    """
    import msgspec

    from eventlog.repair import examine
    from eventlog.repair import repair as repaired

    store = open_store()
    stream = resolve_stream(store, run)
    if dry_run:
        report = examine(store, stream)
        end_with(0 if report.sound else 1)
    else:
        target = Path(output) if output is not None else store.path.with_name(f"{store.path.name}.repaired")
        report = repaired(store, stream, target)
    planned = _has_plan(store, report)
    if as_json:
        facts = {"dry_run": dry_run, "plan": planned, **msgspec.to_builtins(report)}
        print_json({"schema": "hemra.repair/1", **facts})
    else:
        _tell(report, dry_run, planned)


def _has_plan(store: Store, report: RepairReport) -> bool:
    """Whether the plan is in the copy (where none was made: in what can be read of the original), without which
    there is no report."""
    from eventlog.errors import LogError
    from eventlog.reader import read
    from eventlog.store import Store

    try:
        copy = store if report.target is None else Store.open(report.target)
        plans = read(copy, report.stream, types=("run.planned",), on_damage=lambda _: None)
        return next(plans, None) is not None
    except (LogError, OSError):
        return False


def _tell(report: RepairReport, dry_run: bool, planned: bool) -> None:
    from hemra.reports.numbers import many

    if report.sound:
        say(f"{report.stream} is sound ({many(report.last, 'event')}): nothing to repair")
        return
    for lost in report.ranges:
        say(f"missing: {_range(lost)}: {lost.cause}{_where(lost.file, lost.offset)}")
    for blob in report.lost_blobs:
        seqs = ", ".join(map(str, blob.events))
        say(f"missing: {blob.digest}, named by event {seqs}: {blob.cause} [{blob.file}]")
    lossless = [d for d in report.damage if not any(d.file == lost.file for lost in report.ranges)]
    for place in lossless[:_MAX_TOLD]:
        say(
            f"damaged, and nothing lost by it: {place.cause}{_where(place.file, place.offset)}, {place.bytes} bytes"
        )
    if len(lossless) > _MAX_TOLD:
        say(f"… and {len(lossless) - _MAX_TOLD} more places; --json has all")
    if report.end:
        say(f"in doubt: {report.end}")
    _conclude(report, dry_run, planned)


def _conclude(report: RepairReport, dry_run: bool, planned: bool) -> None:
    from eventlog.store import CATALOG
    from hemra.reports.numbers import many

    if not planned and report.kept and report.lost and report.stream != CATALOG:
        say("its plan is lost: no report can be made of the rest, only its events can be read")
    kept = f"{report.kept} of {many(report.last, 'event')} and {many(report.blobs, 'blob')}"
    if dry_run:
        remedy = (
            f"`hemra log repair {report.stream}` copies them" if report.kept else "there is nothing to copy"
        )
        say(f"{report.stream}: {kept} are left; {remedy}")
        return
    say(f"{report.stream}: {kept} are in the copy, {many(report.lost, 'event')} and "
        f"{many(len(report.lost_blobs), 'blob')} are not")  # fmt: skip
    if report.stream == CATALOG:
        note(
            f"the copy is {report.target}/log/{CATALOG}: put it in the place of {report.source}/log/{CATALOG}"
        )
        return
    quoted = shlex.quote(str(report.target))
    command = "report" if planned else "log cat"
    note(f"the copy is in {report.target}: `hemra {command} {report.stream} --store {quoted}`")


def _range(lost: LostEvents) -> str:
    events = f"event {lost.first}" if lost.events == 1 else f"events {lost.first} to {lost.last}"
    return (
        events if lost.frames is None else f"{events} ({lost.frames} frame{'' if lost.frames == 1 else 's'})"
    )


def _where(file: str | None, offset: int | None) -> str:
    return "" if file is None else f" [{file}: byte {offset}]"
