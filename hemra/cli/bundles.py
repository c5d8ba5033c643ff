"""`hemra log export` and `import`: carry runs to another machine as one file."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hemra.cli.context import common_options, json_option
from hemra.cli.lazy import Command
from hemra.cli.output import note, print_json
from hemra.cli.sizes import Size
from hemra.cli.stores import open_store, resolve_run, store_for_import

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventlog.bundle import BundleReport
    from eventlog.store import Store

CATALOG = "catalog"


def _print(report: BundleReport, where: str, as_json: bool, did: str) -> None:
    import msgspec

    from hemra.reports.numbers import many

    if as_json:
        facts: dict[str, Any] = msgspec.to_builtins(report)
        print_json({"schema": "hemra.bundle/1", "file": where, **facts})
        return
    for stream in report.streams:
        note(f"{stream.stream}: {many(stream.events, 'event')} {stream.what}")
    note(f"{did} {where}: {many(report.blobs, 'blob')}, {many(report.bytes, 'byte')}, {report.digest}")


@click.command(
    "export",
    cls=Command,
    examples=[
        ("hemra log export latest -o run.hemra.tar", "one run with everything it names"),
        ("hemra log export A B -o both.tar", "several"),
        ("hemra log export latest -o - | ssh host 'hemra log import -'", "straight to another machine"),
    ],
)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", required=True, help="The bundle to write; `-` is stdout.")
@click.option("-f", "--force", is_flag=True, help="Replace FILE if it is there.")
@json_option
@common_options
def export(runs: tuple[str, ...], output: str, force: bool, as_json: bool) -> None:
    """Write runs into one file: sealed segments, manifests and the blobs that they name.

    The catalog is no run and stays here: every store has its own.
    """
    from eventlog.bundle import export as exported
    from hemra.errors import UsageError

    store = open_store()
    if CATALOG in runs:
        raise UsageError(f"the {CATALOG} belongs to its store and is not exported; name runs")
    streams = [resolve_run(store, run) for run in runs]
    if output == "-":
        if as_json:
            raise UsageError("--json and -o - would both write to stdout; name a file")
        _print(_to_stdout(store, streams), "stdout", as_json, "exported to")
        return
    _refuse(output, force=force)
    with _named(store, "export"):
        report = exported(store, streams, Path(output))
    _print(report, output, as_json, "exported to")


def _to_stdout(store: Store, streams: Sequence[str]) -> BundleReport:
    """Export to stdout, all of it: unlike text, a bundle that is cut is nothing."""
    from eventlog.bundle import export as exported
    from hemra.errors import HemraError, UsageError

    if sys.__stdout__ is None:
        raise UsageError("stdout is closed: name a file with -o, or pipe it")
    if sys.stdout.isatty():
        raise UsageError("a bundle is not for a terminal; name a file with -o, or pipe it")
    try:
        with _named(store, "export"):
            report = exported(store, streams, sys.stdout.buffer)
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise HemraError(
            "stdout was closed before the whole bundle was written: what its reader has is no bundle"
        ) from None
    return report


@contextlib.contextmanager
def _named(store: Store, did: str) -> Iterator[None]:
    """An error of the disk says what was to be done, and in which store."""
    from hemra.errors import HemraError

    try:
        yield
    except (HemraError, BrokenPipeError):
        raise
    except OSError as error:
        raise HemraError(f"cannot {did} from {store.path}: {error.strerror or error}") from error


def _refuse(output: str, *, force: bool) -> None:
    """Refuse (UsageError) what cannot be written, and what would be lost without --force."""
    from hemra.errors import UsageError

    place = Path(output)
    if place.is_dir():
        raise UsageError(f"cannot write {output}: it is a folder")
    if not place.parent.is_dir():
        raise UsageError(f"cannot write {output}: there is no folder {place.parent}")
    if force:
        return
    if place.is_file():
        raise UsageError(f"{output} is there already; --force replaces it")
    if place.is_block_device():
        raise UsageError(f"{output} is a disk; --force writes over what is on it")


@click.command(
    "import",
    cls=Command,
    examples=[("hemra log import run.hemra.tar", "every digest is checked before anything becomes visible")],
)
@click.argument("file", metavar="FILE")
@click.option(
    "--max-size",
    type=Size(),
    metavar="SIZE",
    help="Refuse a bundle that unpacks to more, its events decompressed. Default: 64G.",
)
@json_option
@common_options
def import_(file: str, max_size: int | None, as_json: bool) -> None:
    """Bring a bundle's runs into the store. Importing twice changes nothing; `-` reads stdin.

    A run that is here already is extended where the bundle has more of it. Where both went on differently,
    the import is refused and says at which event.
    """
    from eventlog.bundle import import_ as imported
    from hemra.errors import NotFound, UsageError

    if file != "-" and not Path(file).exists():
        raise NotFound(f"no file {file}")
    if file == "-" and sys.stdin is None:
        raise UsageError("stdin is closed: name a file, or pipe a bundle in")
    limits = {} if max_size is None else {"max_bytes": max_size}
    with store_for_import() as store:
        report = imported(store, sys.stdin.buffer if file == "-" else Path(file), **limits)
    _print(report, file, as_json, "imported from")
