"""Values that are given and hold nothing: an unset shell variable, most often. None of them is taken for the folder in
which one happens to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

EMPTY = "it is empty: is a shell variable not set?"


def refuse_empty(ctx: click.Context, params: list[click.Parameter]) -> None:
    """Refuse (BadParameter, by name) texts that were given and are empty."""
    for param in params:
        value = ctx.params.get(param.name) if param.name is not None else None
        if "" in (value if isinstance(value, tuple) else (value,)):
            raise click.BadParameter(EMPTY, ctx, param)


class Place(click.Path):
    """A path as a `Path`, which could not be told from that of this folder if it were empty."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Refuses an empty one."""
        if value == "":
            self.fail(EMPTY, param, ctx)
        return super().convert(value, param, ctx)
