"""`hemra doctor`: one line a finding, and what to do about it."""

from __future__ import annotations

import click

from hemra.cli.context import common_options, end_with, json_option, settings
from hemra.cli.lazy import Command
from hemra.cli.output import print_json, say

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red", "info": None}


@click.command(
    cls=Command,
    examples=[("hemra doctor", "before the first run, and when something is odd")],
)
@json_option
@common_options
def doctor(as_json: bool) -> None:
    """Check this machine and the store, with remedies.

    `ok` works, `warn` works but less well, `fail` keeps runs from working, `info` is for information.
    Exit code 1 when anything fails.
    """
    import msgspec

    from hemra.cli.checkup import findings
    from hemra.reports.page import wants_colour

    found = list(findings(settings().store_path()))
    failed = any(f.level == "fail" for f in found)
    end_with(1 if failed else 0)
    if as_json:
        rows = [msgspec.to_builtins(f) for f in found]
        print_json({"schema": "hemra.doctor/1", "ok": not failed, "findings": rows})
        return
    colour = wants_colour()
    width = max(len(f.what) for f in found)
    for finding in found:
        level = f"{finding.level:<4}"
        remedy = f" -> {finding.remedy}" if finding.remedy else ""
        say((level, _COLOURS[finding.level] if colour else None),
            f"  {finding.what:<{width}}  {finding.text}{remedy}")  # fmt: skip
