"""Writing to stdout: JSON documents, tables, and text that was rendered elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hemra.cli.context import settings
from hemra.reports.outside import json_text, plain, visible

if TYPE_CHECKING:
    from hemra.reports.columns import Column


def say(*pieces: str | tuple[str, str | None], err: bool = False) -> None:
    """A line (or several) for a person, from pieces of text or of (text, colour). None: no colour.

    The one way out for text: what a terminal would obey is shown instead, whoever wrote it.
    """
    coloured = [piece if isinstance(piece, tuple) else (piece, None) for piece in pieces]
    text = "".join(visible(t) if c is None else click.style(visible(t), fg=c) for t, c in coloured)
    click.echo(text, err=err, color=True if any(c for _, c in coloured) else None)


def note(text: str) -> None:
    """One line for a person, on stderr; --quiet keeps it back."""
    if not settings().quiet:
        say(text, err=True)


def show_page(rendered: str, *, err: bool = False) -> None:
    """Text that `hemra.reports` rendered: it is clean, and may have colours of its own."""
    (sys.stderr if err else sys.stdout).write(rendered)


def print_json(document: dict[str, Any]) -> None:
    """One JSON document, indented, always UTF-8."""
    write_bytes(json_text(document).encode())


def write_bytes(content: bytes) -> None:
    """Bytes to stdout as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[Any]], *, whole: bool = False) -> None:
    """A table, one line a row, as wide as stdout; with `whole`, and into a pipe or a file, as wide as its content. None
    is —."""
    from hemra.reports.columns import listing
    from hemra.reports.page import is_bound, page_width, wants_colour

    width = page_width(most=None) if is_bound() and not whole else None
    made = listing(columns, rows, width)
    title, *lines = made.lines
    if wants_colour():
        title = click.style(title, bold=True)
    show_page("\n".join([title, *lines]) + "\n")
    if made.left_out:
        note(f"not shown at {width} columns: {', '.join(made.left_out)} (--json has all)")


def print_facts(facts: Sequence[tuple[str, Any]]) -> None:
    """Label and value, one a line. None is shown as —."""
    width = max((len(label) for label, _ in facts), default=0)
    for label, value in facts:
        say(f"{label:<{width}}  {plain(value)}")


def write_text(text: str, output: str | None) -> None:
    """Text to the file `output`, or to stdout for None and `-`. Raises UsageError."""
    if output is None or output == "-":
        show_page(text)
        return
    from hemra.errors import UsageError

    try:
        Path(output).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from error
