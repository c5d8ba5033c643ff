"""`hemra run`: plan, check, run, report."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hemra.cli.chosen import selectors, traits_options
from hemra.cli.context import common_options, end_with, settings
from hemra.cli.given import Place
from hemra.cli.lazy import Command
from hemra.cli.names import check_name, check_unused
from hemra.cli.output import note, print_facts, print_json, say, show_page
from hemra.cli.sizes import Length, NamedLimit, Share, Size
from hemra.cli.stores import open_store, resolve_run, there_is_a_store

if TYPE_CHECKING:
    from eventlog.store import Store
    from hemra.engine.plan import Plan
    from hemra.engine.request import RunRequest
    from hemra.engine.run import RunResult


@dataclass(frozen=True)
class Asked:
    """What was asked for beside the run itself."""

    request: RunRequest
    detach: bool
    dry_run: bool
    as_json: bool
    fail_under: float | None


@click.command(
    cls=Command,
    examples=[
        ("hemra run --dataset hermes --harness oracle --task 't01*'", "the reference solutions of t01"),
        ("hemra run --dataset hermes --harness ./mine.yaml --harness nop -k 3 -j 4", "two, compared"),
        ("hemra run night.yaml --attempts 1 --dry-run", "what a run file would do; a flag beside it wins"),
        ("RUN=$(hemra run night.yaml --fail-under 0.8 | tail -n 1)", "for scripts: exit code 10 below 80 %"),
    ],
)  # fmt: skip
@click.argument("run_file", metavar="[RUNFILE]", required=False, type=Place())
@click.option("--dataset", metavar="D", help="`hermes` (bundled), a suite of it, a pinned name, or a folder.")
@click.option(
    "--harness", multiple=True, metavar="H", help="A built-in harness or a harness file (may be repeated)."
)
@click.option(
    "--task", multiple=True, metavar="GLOB", help="Only these tasks (may be repeated; default: all)."
)
@traits_options
@click.option(
    "-k", "--attempts", type=int, default=1, metavar="N", show_default=True, help="Attempts at every task."
)
@click.option(
    "-j", "--jobs", type=int, default=1, metavar="N", show_default=True, help="Trials at the same time."
)
@click.option(
    "--sandbox",
    metavar="S",
    default="auto",
    show_default=True,
    help="Where trials run: auto (bwrap where it works, else host), host, bwrap, docker[:IMAGE], …",
)
@click.option(
    "--network",
    type=click.Choice(["none", "gateway", "full"]),
    help="What trials can reach (default: as harness and task ask): nothing, the model and the task's services, all.",
)
@click.option("--name", metavar="NAME", help="A name for the run, to be used in place of its id.")
@click.option(
    "--seed", type=int, default=0, metavar="N", show_default=True, help="Seed of the values that tasks draw."
)
@click.option(
    "--retries",
    type=int,
    default=1,
    metavar="N",
    show_default=True,
    help="How often a trial is run again that failed for our reasons.",
)
@click.option("--timeout", type=Length(), help="Wall time of a trial (default: the task's own).")
@click.option("--output-limit", type=Size(), help="Output of a trial (default: the task's own).")
@click.option("--memory-limit", type=Size(), help="Memory of a trial (default: the task's own).")
@click.option(
    "--limit",
    "limits",
    type=NamedLimit(),
    multiple=True,
    metavar="NAME=N",
    help="Any limit of a trial (repeatable): turns, calls, tokens, input_tokens, output_tokens, cost_usd, …",
)
@click.option("--prices", metavar="FILE", help="Price table (default: your own, else the bundled one).")
@click.option(
    "--record-cassette", is_flag=True, help="Keep what models answer, so that the run can be a cassette."
)
@click.option(
    "--cassette", metavar="RUN[/TRIAL]", help="Answer from a recorded run in the models' place, for nothing."
)
@click.option(
    "--cassette-miss",
    type=click.Choice(["error", "upstream"]),
    help="What was not recorded: is refused (default), or asks the model.",
)
@click.option("--fail-under", type=Share(), help="Exit code 10 when a harness's strict score is below this.")
@click.option(
    "-d", "--detach", is_flag=True, help="Leave it running and return; `hemra tail RUN -f` follows it."
)
@click.option(
    "-n", "--dry-run", is_flag=True, help="Check everything and print the plan; nothing is written."
)
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: the plan as JSON.")
@common_options
@click.pass_context
def run(ctx: click.Context, /, run_file: Path | None, **flags: Any) -> None:
    """Plan, check everything, run the trials, report.

    Progress and the report go to stderr; the run's id is the last line of stdout. RUNFILE is YAML with
    the same keys as the flags.
    """
    asked = _asked(ctx, run_file, flags)
    if asked.dry_run:
        _dry_run(asked)
        return
    plan = _plan(asked.request)
    store = open_store(create=True)
    if asked.detach:
        _detach(store, plan)
        return
    from hemra.cli.progress import watcher
    from hemra.engine.run import start

    kept = settings()
    finish(store, start(store, plan, watcher(quiet=kept.quiet, verbose=kept.verbose)), asked.fail_under)


#: Flags that say how `hemra run` is carried out here and now; they are no part of a run file.
_NOT_IN_FILE = ("detach", "dry-run", "json", "store", "quiet", "verbose", "debug", "no-color", "help")


def _asked(ctx: click.Context, run_file: Path | None, flags: dict[str, Any]) -> Asked:
    from eventlog.schemas.runs import Limits
    from hemra.cli.runfile import read_run_file
    from hemra.engine.request import RunRequest
    from hemra.errors import UsageError

    given = {n for n in flags if ctx.get_parameter_source(n) is not ParameterSource.DEFAULT}
    if run_file is not None:
        options = {
            max(p.opts, key=len).lstrip("-"): p for p in ctx.command.params if isinstance(p, click.Option)
        }
        keys = {key: option for key, option in options.items() if key not in _NOT_IN_FILE}
        flags |= {n: v for n, v in read_run_file(run_file, keys).items() if n not in given}
    if flags["dataset"] is None:
        raise UsageError("no dataset: name one with --dataset (`hemra dataset list` shows them)")
    if flags["as_json"] and not flags["dry_run"]:
        raise UsageError(
            "--json goes with --dry-run; after a run, `hemra report RUN --json` prints its report"
        )
    if flags["detach"] and (flags["dry_run"] or flags["fail_under"] is not None):
        raise UsageError(
            "--detach does not wait for the end, so --dry-run and --fail-under cannot go with it"
        )
    if flags["name"] is not None:
        check_name(flags["name"])
    request = RunRequest(
        dataset=flags["dataset"], harnesses=list(flags["harness"]),
        tasks=selectors(flags["task"], flags["tag"], flags["difficulty"]),
        attempts=flags["attempts"], jobs=flags["jobs"], sandbox=flags["sandbox"], name=flags["name"],
        network=flags["network"], seed=flags["seed"], retries=flags["retries"], limits=Limits(**_limits(flags, given)),
        record_cassette=flags["record_cassette"], cassette=flags["cassette"],
        cassette_miss=flags["cassette_miss"], prices=flags["prices"],
    )  # fmt: skip
    return Asked(request, flags["detach"], flags["dry_run"], flags["as_json"], flags["fail_under"])


#: Limits that have a flag of their own beside `--limit`.
_OWN_FLAGS = {"timeout": "wall_seconds", "output_limit": "output_bytes", "memory_limit": "memory_bytes"}


def _limits(flags: dict[str, Any], given: set[str]) -> dict[str, Any]:
    """The limits by name, each said once: which of two was meant nobody knows. Those of a run file, that is all that
    is not in `given`, give way to flags."""
    from hemra.errors import UsageError

    said = [(flag, limit, flags[flag]) for flag, limit in _OWN_FLAGS.items() if flags[flag] is not None]
    said += [("limits", name, value) for name, value in flags["limits"]]
    limits: dict[str, Any] = {}
    for as_flags in (False, True):
        of_one = [(name, value) for flag, name, value in said if (flag in given) is as_flags]
        names = [name for name, _ in of_one]
        for name in names:
            if names.count(name) > 1:
                same = [flag for flag, limit in _OWN_FLAGS.items() if limit == name]
                beside = "".join(f" (--{flag.replace('_', '-')} sets it too)" for flag in same)
                raise UsageError(f"the limit {name} is given twice{beside}; give it once")
        limits |= dict(of_one)
    return limits


def _plan(request: RunRequest) -> Plan:
    """A checked plan, its warnings told. Where there is no store yet, an empty one elsewhere stands in."""
    from eventlog.store import Store
    from hemra.engine.network import with_whole_network
    from hemra.engine.plan import make_plan

    with tempfile.TemporaryDirectory(prefix="hemra-plan-") as folder:
        known = there_is_a_store() or request.cassette is not None  # a recorded run is in a store or nowhere
        store = open_store() if known else Store.open(Path(folder), create=True)
        if request.name is not None:
            check_unused(store, request.name)
        if request.cassette is not None:
            run, slash, trial = request.cassette.partition("/")
            request = replace(request, cassette=resolve_run(store, run) + slash + trial)
        plan = make_plan(store, request)
    if plan.request.sandbox != request.sandbox:
        note(f"sandbox: {plan.request.sandbox} (`hemra sandbox list` shows what it enforces)")
    if online := with_whole_network(plan):
        note(f"network: all of it for {', '.join(online)}; `network: none` in the harness file closes it")
    for warning in plan.warnings:
        note(f"warning: {warning}")
    return plan


def _dry_run(asked: Asked) -> None:
    """Print the plan; nothing is written."""
    document = _plan(asked.request).describe()
    if asked.as_json:
        print_json(document)
        return
    from hemra.reports.numbers import duration, limit, short_digest

    dataset, longest = document["dataset"], document["longest_seconds"]
    limits = ", ".join(limit(key, value) for key, value in document["limits"].items() if value is not None)
    print_facts(
        [
            ("dataset", f"{dataset['name']} {short_digest(dataset['digest'])} from {dataset['source']}"),
            ("harnesses", ", ".join(f"{h['name']} ({h['kind']})" for h in document["harnesses"])),
            ("attempts", document["attempts"]),
            ("trials", document["trials"]),
            ("at once", document["jobs"]),
            ("sandbox", document["sandbox"]),
            ("network", document["network"] or "as harness and task ask"),
            ("seed", document["seed"]),
            ("limits", limits or "the tasks' own"),
            *_models_facts(document),
            ("at most", None if longest is None else duration(longest * 1e9)),
            ("tasks", len(document["tasks"])),
        ]
    )
    for task in document["tasks"]:
        say(f"  {task}")


def _models_facts(document: dict[str, Any]) -> list[tuple[str, Any]]:
    """What a plan says of models, where it says anything."""
    facts = [("prices", document["prices"])] if document["prices"] else []
    if cassette := document["cassette"]:
        trial = f"/{cassette['trial']}" if cassette["trial"] else ""
        facts.append(("cassette", f"{cassette['run']}{trial}, else {cassette['miss']}"))
    return facts + ([("kept", "bodies of model calls")] if document["record_cassette"] else [])


def _detach(store: Store, plan: Plan) -> None:
    """Write the plan down and leave an engine behind that carries it out."""
    from hemra.cli.progress import print_run_id
    from hemra.engine.detach import create_detached, engine_log

    run = create_detached(store, plan)
    print_run_id(run)
    note(f"run {run} goes on in the background (what it says: {engine_log(store, run)})")
    note(f"Next: `hemra tail {run} -f`, `hemra cancel {run}`")


def finish(store: Store, result: RunResult, fail_under: float | None = None) -> None:
    """Tell how the run ended, print its report on stderr, and settle the exit code."""
    end_with(result.exit_code)
    if result.cancelled:
        note(f"stopped: {result.reason}")
        note(f"Next: `hemra resume {result.run}`")
        _offer_again(result)
        return
    from hemra.reports.render import render_report
    from projections import query

    if settings().quiet and fail_under is None:
        return
    report = query.report(store, result.run)
    if not settings().quiet:
        show_page(render_report(report, colour=_colour_on_stderr()), err=True)
        compare = f", `hemra compare {result.run}`" if len(report["harnesses"]) == 2 else ""
        note(f"Next: `hemra show {result.run}`{compare}")
        _offer_again(result)
    if fail_under is not None:
        end_with(_gate(report, fail_under, result.exit_code))


def _offer_again(result: RunResult) -> None:
    """Say how trials without a measurement are had for their own price, where there are any."""
    from hemra.reports.numbers import many

    if result.errors:
        which = f"the {many(result.errors, 'trial')} that could not be measured"
        note(f"`hemra resume {result.run} --retry-errors` runs again {which}")


def _colour_on_stderr() -> bool:
    import sys

    from hemra.reports.page import wants_colour

    return wants_colour(sys.stderr)


def _gate(report: dict[str, Any], fail_under: float, otherwise: int) -> int:
    """10 when a harness is below the gate whatever its unscored trials are worth; else as without a gate."""
    from hemra.errors import GateMissed

    missed = [h for h in report["harnesses"] if (h["strict"]["mean"] or 0.0) < fail_under]
    really = [h for h in missed if h["bounds"]["high"] is not None and h["bounds"]["high"] < fail_under]
    for harness in missed:
        strict = harness["strict"]["mean"]
        shown = "—" if strict is None else f"{strict:.3f}"
        doubt = "" if harness in really else "; what is not scored may make up for it"
        say(f"hemra: {harness['name']}: strict score {shown} is below {fail_under:g}{doubt}", err=True)
    return GateMissed.exit_code if really else otherwise
