"""`hemra resume` and `hemra cancel`: go on with a run, or stop it."""

from __future__ import annotations

import click

from hemra.cli.context import common_options, settings
from hemra.cli.lazy import Command
from hemra.cli.output import note
from hemra.cli.sizes import Share
from hemra.cli.stores import open_store, resolve_run


@click.command(
    cls=Command,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    examples=[
        ("hemra resume latest", "after a crash, a power cut or Ctrl-C"),
        ("hemra resume 20261130-19 -j 8", "with more trials at the same time"),
        ("hemra resume latest --retry-errors", "run again what could not be measured, in a finished run too"),
    ],
)
@click.argument("run", metavar="RUN")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Trials at the same time (default: as planned).",
)
@click.option(
    "--retry-errors",
    is_flag=True,
    help="Run again also the trials that could not be measured, such as provider_error or auth_error.",
)
@click.option("--fail-under", type=Share(), help="Exit code 10 when a harness's strict score is below this.")
@common_options
@click.pass_context
def resume(
    ctx: click.Context, run: str, jobs: int | None, retry_errors: bool, fail_under: float | None
) -> None:
    """Go on with a stopped run, from its events alone.

    Trials that have a final state stay, the others are run. With --retry-errors trials that ended without a
    measurement get a further try; every earlier one stays in the log with its cost, and the newest counts.
    The plan cannot change; --fail-under is no part of it and is given anew.
    """
    from hemra.cli.progress import watcher
    from hemra.cli.run import finish
    from hemra.engine.run import resume as resumed
    from hemra.errors import UsageError

    if ctx.args:
        raise UsageError(
            f"{' '.join(ctx.args)}: no option of `hemra resume`; what `hemra run` takes stays as it was planned: start "
            "another run to change it"
        )
    store = open_store()
    kept = settings()
    watching = watcher(quiet=kept.quiet, verbose=kept.verbose)
    result = resumed(store, resolve_run(store, run), watching, jobs, retry_errors=retry_errors)
    finish(store, result, fail_under)


@click.command(
    cls=Command, examples=[("hemra cancel latest", "end its running trials and leave it resumable")]
)
@click.argument("run", metavar="RUN")
@common_options
def cancel(run: str) -> None:
    """Stop a run that is under way, in order.

    Running trials are ended and recorded; `hemra resume` goes on with the run.
    """
    from hemra.engine.cancel import cancel as cancelled

    store = open_store()
    note(cancelled(store, resolve_run(store, run)))
