"""Writing to stdout: JSON documents, tables, and text that was rendered elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click


def print_json(document: dict[str, Any]) -> None:
    """One JSON document, indented, always UTF-8."""
    import json

    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2, default=str) + "\n"
    try:
        raw = text.encode()
    except UnicodeEncodeError:  # a lone surrogate from outside: escaped, it is valid JSON
        raw = (json.dumps(document, allow_nan=False, indent=2, default=str) + "\n").encode()
    write_bytes(raw)


def write_bytes(content: bytes) -> None:
    """Bytes to stdout as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def print_table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> None:
    """A table of (title, alignment) columns; alignment `<`, `>` or `+` (takes what is free). None is —."""
    from rich.text import Text

    from hemra.reports.numbers import plain
    from hemra.reports.page import table, write

    made = table(columns)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(plain(cell)) for cell in row))
    sys.stdout.write(write([made], width=None, colour=None))


def print_facts(facts: Sequence[tuple[str, Any]]) -> None:
    """Label and value, one a line. None is shown as —."""
    from hemra.reports.numbers import plain

    width = max((len(label) for label, _ in facts), default=0)
    for label, value in facts:
        click.echo(f"{label:<{width}}  {plain(value)}")


def write_text(text: str, output: str | None) -> None:
    """Text to the file `output`, or to stdout for None and `-`. Raises UsageError."""
    if output is None or output == "-":
        sys.stdout.write(text)
        return
    from hemra.errors import UsageError

    try:
        Path(output).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from error
