"""Lists as plain tables: one line a row, within a width; what does not fit is shortened with … or left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hemra.reports.outside import plain, visible

_GAP = "  "
#: A column that must be narrower than everything it holds keeps at least so much.
_NARROWEST = 4


@dataclass(frozen=True)
class Column:
    """A column. `least`: it may be shortened to so many characters (None: only when nothing else helps).

    `end`: what is cut is the beginning, not the end. `drop`: left out where room is scarce, the highest first
    (0: never).
    """

    title: str
    right: bool = False
    least: int | None = None
    end: bool = False
    drop: int = 0


@dataclass(frozen=True)
class Listing:
    """A table as lines (title, rule, rows), and the titles of the columns that were left out."""

    lines: list[str]
    left_out: list[str]


def listing(columns: Sequence[Column], rows: Sequence[Sequence[Any]], width: int | None) -> Listing:
    """The table in at most `width` characters (None: as wide as it is). None is shown as —."""
    cells = [[plain(value) for value in row] for row in rows]
    natural = [
        max([_width(column.title), *(_width(row[i]) for row in cells)]) for i, column in enumerate(columns)
    ]
    shown, widths = _fitted(columns, natural, width)
    lines = [
        _line([columns[i].title for i in shown], shown, columns, widths),
        _GAP.join("─" * widths[i] for i in shown),
    ]
    lines += [_line([row[i] for i in shown], shown, columns, widths) for row in cells]
    return Listing(lines, [column.title for i, column in enumerate(columns) if i not in shown])


def _fitted(
    columns: Sequence[Column], natural: Sequence[int], width: int | None
) -> tuple[list[int], list[int]]:
    """Which columns are shown, and how wide each is."""
    shown = list(range(len(columns)))
    if width is None:
        return shown, list(natural)
    while True:
        least = [c.least if c.least is not None else n for c, n in zip(columns, natural, strict=True)]
        widths = _shrunk(shown, natural, least, width)
        if _total(shown, widths) <= width:
            return shown, widths
        droppable = [i for i in shown if columns[i].drop]
        if not droppable:
            return shown, _shrunk(shown, widths, [_NARROWEST] * len(columns), width)
        shown.remove(max(droppable, key=lambda i: columns[i].drop))


def _total(shown: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[i] for i in shown) + len(_GAP) * (len(shown) - 1)


def _shrunk(shown: Sequence[int], widths: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """The widths with those of the columns shown brought down until the table fits or cannot."""
    result = list(widths)
    room = width - len(_GAP) * (len(shown) - 1)
    for i, narrowed in zip(
        shown, brought_down([widths[i] for i in shown], [least[i] for i in shown], room), strict=True
    ):
        result[i] = narrowed
    return result


def brought_down(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The widths with the widest ones brought down, none below `least`, until their sum is within `room` or cannot
    be."""
    result = list(widths)
    while (excess := sum(result) - room) > 0:
        candidates = sorted(
            (i for i, width in enumerate(result) if width > least[i]), key=lambda i: -result[i]
        )
        if not candidates:
            break
        widest = candidates[0]
        below = result[candidates[1]] if len(candidates) > 1 else 0
        step = max(1, min(excess, result[widest] - max(below, least[widest])))
        result[widest] -= step
    return result


def _line(
    cells: Sequence[str], shown: Sequence[int], columns: Sequence[Column], widths: Sequence[int]
) -> str:
    return _GAP.join(
        _padded(cell, widths[i], columns[i]) for cell, i in zip(cells, shown, strict=True)
    ).rstrip()


def _padded(cell: str, width: int, column: Column) -> str:
    cell = _cut(cell, width, end=column.end)
    blanks = " " * (width - _width(cell))
    return blanks + cell if column.right else cell + blanks


def _cut(cell: str, width: int, *, end: bool) -> str:
    """At most `width` characters of the cell, with … where something is missing."""
    if _width(cell) <= width:
        return cell
    kept = cell
    while kept and _width(kept) > width - 1:
        over = max(1, (_width(kept) - width + 1) // 2)  # a character takes two cells at most
        kept = kept[over:] if end else kept[:-over]
    return f"…{kept}" if end else f"{kept.rstrip()}…"


def _width(text: str) -> int:
    """Cells on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(visible(text))
