"""`hemra report`, `compare` and `replay`: projections, rendered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hemra.cli.context import common_options, end_with, json_option
from hemra.cli.lazy import Command
from hemra.cli.output import note, print_json, write_text
from hemra.cli.stores import open_store, resolve_run

if TYPE_CHECKING:
    from eventlog.store import Store
    from hemra.reports.render import Format
    from projections.cache import ReplayResult

FORMATS: dict[str, Format] = {"text": "text", "json": "json", "md": "md", "csv": "csv"}
_BY_SUFFIX: dict[str, Format] = {
    ".txt": "text", ".text": "text", ".json": "json", ".md": "md", ".markdown": "md", ".csv": "csv",
}  # fmt: skip

format_option = click.option(
    "--format", "format_", type=click.Choice(list(FORMATS)), help="Default: text, or as FILE ends."
)
output_option = click.option(
    "-o", "--output", metavar="FILE", help="Write there instead of stdout; `-` is stdout."
)


def chosen_format(format_: str | None, output: str | None, *, as_json: bool) -> Format:
    """The format asked for by --json, --format or the file's ending. Raises UsageError for another ending."""
    from hemra.errors import UsageError

    if as_json:
        if format_ not in (None, "json"):
            raise UsageError(f"--json and --format {format_} contradict each other; give one of them")
        if format_ is None and _BY_SUFFIX.get(Path(output or "").suffix.lower(), "json") != "json":
            raise UsageError(
                f"--json and -o {output} contradict each other; name the file .json, or leave --json out"
            )
        return "json"
    if format_ is not None:
        return FORMATS[format_]
    if output is None or output == "-":
        return "text"
    suffix = Path(output).suffix.lower()
    if suffix not in _BY_SUFFIX:
        known = ", ".join(_BY_SUFFIX)
        raise UsageError(f"{output}: its ending says no format ({known}); add --format")
    return _BY_SUFFIX[suffix]


def text_is_for_a_file(output: str | None) -> bool | None:
    """`colour` for the renderers: never in a file, else as stdout allows."""
    return None if output in (None, "-") else False


@click.command(
    cls=Command,
    examples=[
        ("hemra report latest", "the newest run's report"),
        ("hemra report latest -o report.md", "the same as a Markdown file"),
        ("hemra report latest --json | jq '.harnesses[] | {name, strict}'", "one figure of it"),
    ],
)
@click.argument("run", metavar="RUN")
@format_option
@output_option
@json_option
@common_options
def report(run: str, format_: str | None, output: str | None, as_json: bool) -> None:
    """Report on one run.

    RUN is an id, the beginning of one, a name, or `latest`.
    """
    from hemra.reports.render import render_report
    from projections import query

    chosen = chosen_format(format_, output, as_json=as_json)
    store = open_store()
    document = query.report(store, resolve_run(store, run))
    write_text(render_report(document, chosen, colour=text_is_for_a_file(output)), output)


@click.command(
    cls=Command,
    examples=[
        ("hemra compare latest", "the two harnesses of the newest run"),
        ("hemra compare latest:oracle latest:nop", "the same, named"),
        ("hemra compare 20261130-1945 20261201-0712 -o change.md", "two runs of one harness each"),
    ],
)
@click.argument("left", metavar="RUN[:HARNESS]")
@click.argument("right", metavar="[RUN[:HARNESS]]", required=False)
@format_option
@output_option
@json_option
@common_options
def compare(left: str, right: str | None, format_: str | None, output: str | None, as_json: bool) -> None:
    """Compare two harnesses task by task.

    Only like is compared with like: a task is paired when its content, its scorer and its reward are the
    same on both sides. What is not paired is listed with the reason.
    """
    from hemra.reports.render import render_compare
    from projections.compare import compare as compared

    chosen = chosen_format(format_, output, as_json=as_json)
    store = open_store()
    document = compared(store, _side(store, left), None if right is None else _side(store, right))
    write_text(render_compare(document, chosen, colour=text_is_for_a_file(output)), output)


def _side(store: Store, text: str) -> str:
    """RUN[:HARNESS] with the run's full id."""
    run, colon, harness = text.partition(":")
    return resolve_run(store, run) + colon + harness


@click.command(
    cls=Command,
    examples=[("hemra replay latest", "prove that the newest run's report follows from its events alone")],
)
@click.argument("run", metavar="RUN")
@json_option
@common_options
def replay(run: str, as_json: bool) -> None:
    """Rebuild a run's report and prove it equal.

    Throws the cached projections away, builds them again, compares the bytes of the report and of the
    trial table, and prints the report. Exit code 1 when they differ. Where nothing was cached there is
    nothing to compare, and that is said.
    """
    from hemra.reports.render import render_report
    from projections.cache import replay as replayed

    store = open_store()
    name = resolve_run(store, run)
    result = replayed(store, name)
    end_with(1 if result.identical is False else 0)
    if as_json:
        print_json(
            {
                "schema": "hemra.replay/1", "run": name, "identical": result.identical,
                "events": result.events, "before": result.before, "after": result.after,
                "report": result.report,
            }
        )  # fmt: skip
    else:
        write_text(render_report(result.report), None)
        _tell_replay(name, result)


def _tell_replay(name: str, result: ReplayResult) -> None:
    """The digests of what was built, and what they were compared with."""
    for file, digest in result.after.items():
        same = result.identical is None or result.before.get(file) == digest
        note(f"{file:<17} {'=' if same else 'differs from before:'} sha256:{digest}")
    if result.identical is None:
        note(f"{name}: nothing was cached before: built from {result.events} events, compared with nothing; "
             "a second replay compares")  # fmt: skip
        return
    word = "identical to before" if result.identical else "NOT identical to before"
    note(f"replayed {result.events} events of {name}: {word}")
