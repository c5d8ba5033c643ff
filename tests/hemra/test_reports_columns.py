"""Lists as tables: within their width, one line a row, and nothing lost without a sign."""

from __future__ import annotations

import pytest

from hemra.reports.columns import Column, listing

COLUMNS = [
    Column("id"), Column("task", least=8, end=True), Column("n", right=True), Column("time", drop=1),
    Column("host", drop=2), Column("why", least=10),
]  # fmt: skip
ROWS = [
    ["0001", "category_one/task_alpha", 1, "12 ms", "a", "it said\nnothing at all about the question asked"],
    ["0002", "c/b", 10, "1.5 s", None, "fine"],
]


@pytest.mark.parametrize("width", [40, 47, 60, 80, 100])
def test_a_table_keeps_to_its_width(width: int) -> None:
    """A terminal would break every row in two, or squeeze the last column to one character a line."""
    made = listing(COLUMNS, ROWS, width)
    assert len(made.lines) == 4
    assert max(len(line) for line in made.lines) <= width
    title, rule, first, second = made.lines
    assert title.split() == [c.title for c in COLUMNS if c.title not in made.left_out]
    assert set(rule) == {"─", " "}
    assert first.startswith("0001  ")
    assert "task_alpha"[-5:] in first, "the end of a task's id tells tasks apart"
    assert second.endswith("fine")


def test_what_matters_least_goes_first_and_is_named() -> None:
    """A column that vanished would be taken for one that is not there."""
    assert listing(COLUMNS, ROWS, 100).left_out == []
    assert listing(COLUMNS, ROWS, 42).left_out == ["host"]
    assert listing(COLUMNS, ROWS, 36).left_out == ["time", "host"]


def test_without_a_width_nothing_is_cut() -> None:
    """-v would still hide the end of what it is asked for."""
    text = "\n".join(listing(COLUMNS, ROWS, None).lines)
    assert "it said nothing at all about the question asked" in text
    assert "category_one/task_alpha" in text
    assert "…" not in text
    assert " —" in text, "unknown is told"


def test_columns_that_may_not_be_cut_are_cut_when_nothing_else_helps() -> None:
    """Names of 200 characters would push everything else off the screen."""
    made = listing([Column("name"), Column("n", right=True)], [["x" * 200, 7]], 40)
    assert made.lines[2] == "x" * (40 - 4) + "…" + "  7"


def test_wide_characters_take_two_cells() -> None:
    """Columns after a name in Chinese would stand crooked, or reach beyond the edge."""
    made = listing([Column("name", least=5), Column("n", right=True)], [["日本語日本語", 7], ["ab", 8]], 12)
    assert made.lines[2:] == ["日本語日…  7", "ab         8"]


def test_cells_obey_nobody() -> None:
    """A harness's name could clear the screen of whoever lists it."""
    made = listing([Column("name")], [["\x1b[2J\u202eevil"]], 80)
    assert made.lines[2] == "\\x1b[2J\\u202eevil"
