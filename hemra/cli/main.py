"""`hemra`: runs a command and turns what it raises into one line and an exit code.

0  did its job, whatever the scores      5  no such run, trial, task, dataset, harness or store
1  own failure                          10  a gate (--fail-under) was missed; goes before 3
2  usage, invalid input, nothing        129 / 130 / 143  interrupted (SIGHUP / SIGINT / SIGTERM);
   matched                                               can be resumed
3  finished, but some trials could not be scored
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click

from hemra.cli.context import Settings, global_options
from hemra.cli.lazy import Root
from hemra.cli.stdout import name_its_errors

EPILOG = (
    "Exit codes: 0 done, 1 failure, 2 usage, 3 not all scored, 5 not found, 10 gate missed, "
    "129/130/143 interrupted."
)


@click.group(
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    help="Print the version.",
    callback=lambda ctx, _param, value: _version(ctx, wanted=value),
)
@global_options
def cli() -> None:
    """Run AI agent harnesses on pinned benchmark tasks, record every event, compare task by task.

    \b
    Examples:
      hemra run --dataset hermes --harness oracle --task 't01*'
      hemra tail latest -f
      hemra report latest
      hemra compare latest:oracle latest:nop
    """


def _version(ctx: click.Context, *, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        import hemra

        click.echo(f"hemra {hemra.__version__}")
        ctx.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: sys.argv) and return the exit code; nothing is raised."""
    settings = Settings()
    _prepare_streams()
    try:
        code = _run(argv, settings)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _drop_stdout()
        return settings.exit_code  # the reader has what it wanted; what was done stands
    except Exception as error:  # noqa: BLE001 - the last line of defence; see _failed
        return _failed(error, settings)


def _run(argv: Sequence[str] | None, settings: Settings) -> int:
    """The command's own exit code; what click raises for the user is told here."""
    args = list(sys.argv[1:] if argv is None else argv)
    if "_HEMRA_COMPLETE" in os.environ:
        cli.main(args=args, prog_name="hemra")  # a shell asks for completions; click answers and exits
    try:
        # Not `cli.main`, which would turn a reader that went away into exit code 1.
        with cli.make_context("hemra", args, obj=settings) as context:
            cli.invoke(context)
        return settings.exit_code
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        from hemra.cli.output import say

        say("hemra: interrupted", err=True)
        return 130


def _show(error: click.ClickException) -> None:
    """click's message, which repeats what was typed, without what a terminal would obey."""
    from hemra.cli.output import say

    told = io.StringIO()
    error.show(told)
    say(told.getvalue().rstrip("\n"), err=True)


def _failed(error: Exception, settings: Settings) -> int:
    """Tell what went wrong in one line (all of it with --debug) and return the exit code."""
    from hemra.cli.failure import exit_code_of, line_of
    from hemra.cli.output import say

    if settings.debug:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    say(f"hemra: {line_of(error)}", err=True)
    _drop_stdout()
    return exit_code_of(error)


def _prepare_streams() -> None:
    """Make sure that there are streams to write to, and that no character can fail."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - lives as long as we do
        else:
            stream.reconfigure(errors="backslashreplace")
    name_its_errors()


def _drop_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's own flush at exit cannot fail again."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError):
        return  # no file descriptor behind it: nothing will be flushed either


if __name__ == "__main__":
    sys.exit(main())
