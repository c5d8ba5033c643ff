"""Pieces of a page that hold to its width and cut nothing: an open table, and words with texts beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hemra.reports.columns import brought_down
from hemra.reports.outside import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

#: Between two columns.
_GAP = 3
#: A text that may wrap, such as a task's name, keeps at least so many columns where it has so many.
_LEAST = 14


class Sheet:
    """A table of (title, alignment) columns.

    `<` left, never wrapped; `>` right, a figure; `+` left, wraps. Where it is too wide, first `+` and `>` wrap between
    words; where that is not enough, it is continued below, with the first column again.
    """

    def __init__(self, columns: Sequence[tuple[str, str]]) -> None:
        self._columns = list(columns)
        self._rows: list[tuple[RenderableType, ...]] = []

    def add_row(self, *cells: RenderableType) -> None:
        """A row, one cell a column."""
        self._rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The table, or its parts with an empty line between them."""
        sizes = [self._sizes(console, options, i) for i in range(len(self._columns))]
        least, natural = [low for low, _ in sizes], [high for _, high in sizes]
        width = options.max_width
        if _total(natural) <= width:
            yield self._part(range(len(sizes)), natural)
            return
        for number, part in enumerate(_parts(least, natural, width)):
            if number:
                yield ""
            room = width - _GAP * (len(part) - 1)
            yield self._part(part, brought_down([natural[i] for i in part], [least[i] for i in part], room))

    def _sizes(self, console: Console, options: ConsoleOptions, index: int) -> tuple[int, int]:
        """The narrowest and the natural width of a column."""
        from rich.measure import Measurement

        title, align = self._columns[index]
        head = Measurement.get(console, options, title)
        cells = [Measurement.get(console, options, row[index]) for row in self._rows]
        natural = max([head.maximum, *(cell.maximum for cell in cells)])
        words = max([0, *(cell.minimum for cell in cells)])
        if align == "<":
            return natural, natural
        return max(head.minimum, min(words, _LEAST) if align == "+" else words), natural

    def _part(self, indexes: Sequence[int], widths: Sequence[int]) -> Table:
        from rich import box
        from rich.table import Table

        made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold",
                     border_style="dim", show_edge=False)  # fmt: skip
        for i, width in zip(indexes, widths, strict=True):
            title, align = self._columns[i]
            made.add_column(
                visible(title), justify="right" if align == ">" else "left", no_wrap=align == "<", width=width,
                overflow="fold",
            )  # fmt: skip
        for row in self._rows:
            made.add_row(*(row[i] for i in indexes))
        return made


class Definitions:
    """Two columns without a frame: a short word, and a text that wraps beside it. Long words get a third of the page
    where that is needed for the texts."""

    def __init__(self, pairs: Sequence[tuple[RenderableType, RenderableType]]) -> None:
        self._pairs = list(pairs)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The grid."""
        from rich.measure import Measurement
        from rich.table import Table

        natural = max([1, *(Measurement.get(console, options, word).maximum for word, _ in self._pairs)])
        made = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
        made.add_column(width=min(natural, max(_LEAST, options.max_width // 3)), overflow="fold")
        made.add_column(overflow="fold")
        for pair in self._pairs:
            made.add_row(*pair)
        yield made


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _parts(least: Sequence[int], natural: Sequence[int], width: int) -> list[list[int]]:
    """Which columns stand together: all where words need not break, else as many as fit with whole figures."""
    if _total(least) <= width or len(least) < 2:
        return [list(range(len(least)))]
    parts: list[list[int]] = [[0]]
    first = min(least[0], width)
    used = first
    for i in range(1, len(least)):
        if len(parts[-1]) > 1 and used + _GAP + natural[i] > width:
            parts.append([0])
            used = first
        parts[-1].append(i)
        used += _GAP + natural[i]
    return parts
