"""Reports and comparisons in the format that was asked for."""

from __future__ import annotations

from typing import Any, Literal

from hemra.reports.outside import json_text

Row = dict[str, Any]
Format = Literal["text", "json", "md", "csv"]


def render_report(
    report: Row, format: Format = "text", *, width: int | None = None, colour: bool | None = None
) -> str:
    """A report as text ending in a newline. `width` and `colour` (text only): None = as stdout allows.

    Raises ValueError for an unknown format.
    """
    match format:
        case "text":
            from hemra.reports.text import render_text

            return render_text(report, width=width, colour=colour)
        case "md":
            from hemra.reports.markdown import report_markdown

            return report_markdown(report)
        case "csv":
            from hemra.reports.tabular import report_csv

            return report_csv(report)
        case "json":
            return json_text(report)
    raise ValueError(f"no report format {format!r}; there are text, json, md and csv")


def render_compare(
    comparison: Row, format: Format = "text", *, width: int | None = None, colour: bool | None = None
) -> str:
    """A comparison as text ending in a newline; arguments and errors as `render_report`."""
    match format:
        case "text":
            from hemra.reports.compare_text import render_compare_text

            return render_compare_text(comparison, width=width, colour=colour)
        case "md":
            from hemra.reports.compare_markdown import compare_markdown

            return compare_markdown(comparison)
        case "csv":
            from hemra.reports.tabular import compare_csv

            return compare_csv(comparison)
        case "json":
            return json_text(comparison)
    raise ValueError(f"no comparison format {format!r}; there are text, json, md and csv")
