"""click groups and commands of this program: lazy, with examples first and a guess at a typo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from hemra.cli.table import COMMANDS, SECTIONS


class Command(click.Command):
    """A command whose help shows `examples` before the options. An example: (command line, what it does)."""

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def invoke(self, ctx: click.Context) -> Any:
        """As click's, once no value is empty."""
        from hemra.cli.given import refuse_empty

        refuse_empty(ctx, self.params)
        return super().invoke(ctx)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help text, then the examples; options follow."""
        super().format_help_text(ctx, formatter)
        write_examples(self.examples, formatter)


def write_examples(examples: Sequence[tuple[str, str]], formatter: click.HelpFormatter) -> None:
    """The section of examples, each command line on a line of its own below what it does."""
    if not examples:
        return
    with formatter.section("Examples"):
        for line, meaning in examples:
            formatter.write(f"{'':>{formatter.current_indent}}# {meaning}\n")
            formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


class Group(click.Group):
    """A group that guesses what a mistyped command meant."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with the nearest names in the error."""
        name = args[0]
        if not name.startswith("-") and name not in self.list_commands(ctx):
            path = ctx.command_path
            raise click.UsageError(
                f"No such command {name!r}.{nearest(name, self.list_commands(ctx), path)}", ctx
            )
        return super().resolve_command(ctx, args)


Group.group_class = Group


def nearest(name: str, known: Sequence[str], before: str = "") -> str:
    """` Did you mean …?` for the nearest of `known` to `name`; empty where nothing is near."""
    import difflib

    found = difflib.get_close_matches(name, known, n=2, cutoff=0.55)
    return (
        f" Did you mean {' or '.join(f'`{before} {x}`'.replace('` ', '`') for x in found)}?" if found else ""
    )


class Root(Group):
    """The `hemra` group: its commands stand in `table` and are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now; None for an unknown name."""
        import importlib

        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(importlib.import_module(entry.module), entry.attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections of the table, without importing a command."""
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.help) for name, entry in entries.items()], col_max=12)
