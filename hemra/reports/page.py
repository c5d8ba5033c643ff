"""A page of text: rich tables and lines, written to a string of a chosen width, coloured or not."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from hemra.reports.outside import visible
from hemra.reports.sheet import Definitions, Sheet

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

#: Width where the output is no terminal, and the widest that lines are made on one.
WIDTH = 100
MAX_WIDTH = 140
MIN_WIDTH = 30

#: What rich writes to begin and to end a colour.
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")
#: Blanks at a line's end, also between the codes that begin and end a colour.
_TRAILING = re.compile(r"(?: |\x1b\[[0-9;]*m)+$")


def wants_colour(stream: TextIO | None = None) -> bool:
    """Whether a stream (stdout) should get colour: it is a terminal and NO_COLOR, TERM=dumb and FORCE_COLOR allow it.
    FORCE_COLOR is on with whatever but 0 and false, which switch colour off."""
    forced = os.environ.get("FORCE_COLOR", "")
    if os.environ.get("NO_COLOR") or forced.lower() in ("0", "false"):
        return False
    if forced:
        return True
    return (sys.stdout if stream is None else stream).isatty() and os.environ.get("TERM") != "dumb"


def is_bound() -> bool:
    """Whether stdout has a width: it is a terminal, or COLUMNS gives it one."""
    return sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()


def page_width(most: int | None = MAX_WIDTH) -> int:
    """Columns to use on stdout, at most `most` (None: all): COLUMNS, the terminal's, or 100 without either."""
    if not is_bound():
        return WIDTH
    columns = shutil.get_terminal_size((WIDTH, 24)).columns
    return max(MIN_WIDTH, columns if most is None else min(most, columns))


def write(parts: Sequence[RenderableType], *, width: int | None, colour: bool | None) -> str:
    """The parts below each other as text, lines without blanks at their end."""
    from rich.console import Console

    colour = wants_colour() if colour is None else colour
    out = io.StringIO()
    console = Console(
        # A height too: with only a width, rich takes 80 columns where TERM is dumb.
        file=out, width=width or page_width(), height=50, force_terminal=colour, no_color=not colour,
        color_system="standard" if colour else None, highlight=False, markup=False, emoji=False,
        legacy_windows=False,
    )  # fmt: skip
    for part in parts:
        console.print(part)
    text = out.getvalue()
    pieces = _COLOUR.split(text) if colour else [text]
    text = "".join(piece if colour and _COLOUR.fullmatch(piece) else visible(piece) for piece in pieces)
    rows = (_TRAILING.sub(lambda m: m[0].replace(" ", ""), row) for row in text.split("\n"))
    return "\n".join(rows).strip("\n") + "\n"


def line(*pieces: tuple[str, str]) -> Text:
    """One line of (text, style) pieces; without any, an empty line."""
    from rich.text import Text

    made = Text()
    for text, style in pieces:
        made.append(visible(text), style=style)
    return made


def heading(text: str, note: str = "") -> RenderableType:
    """A section's title with a blank line before it."""
    return line(("\n", ""), (text, "bold"), (f"  {note}" if note else "", "dim"))


def definitions(pairs: Sequence[tuple[RenderableType, RenderableType]]) -> RenderableType:
    """Two columns without a frame: a short word, and a text that wraps beside it."""
    return Definitions(pairs)


def table(columns: Sequence[tuple[str, str]]) -> Sheet:
    """An open table of (title, alignment) columns; see `Sheet`."""
    return Sheet(columns)
