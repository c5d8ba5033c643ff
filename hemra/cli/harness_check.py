"""`hemra harness check`: run a harness once against a scripted model and tell what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hemra.cli.context import common_options, end_with, json_option, settings
from hemra.cli.lazy import Command
from hemra.cli.output import note, print_facts, print_json, say
from hemra.cli.sizes import Seconds

if TYPE_CHECKING:
    from hemra.checking.attempt import Seen
    from hemra.checking.report import Verdict


@click.command(
    cls=Command,
    examples=[
        ("hemra harness check hermes", "the installed agent, with nothing but defaults"),
        ("hemra harness check ./my-agent.yaml", "a harness file, before the first run with it"),
    ],
)
@click.argument("ref", metavar="NAME|FILE")
@click.option("--dialect", type=click.Choice(["chat", "responses", "messages"]), help=(
    "What an installed agent is to speak with the model (default: its first)."))  # fmt: skip
@click.option("--seconds", type=Seconds(1, 86400), default=120.0, show_default=True, help="Its time limit.")
@json_option
@common_options
def check(ref: str, dialect: str | None, seconds: float, as_json: bool) -> None:
    """Run a harness once against a scripted model, in a sandbox, and print what it did.

    The model asks for one command (`echo`) and then answers. Printed are the calls, the tools that were offered,
    usage as told and as served, the files that were written, and what it tried to reach outside. Nothing leaves the
    machine and no key is used: the harness gets the script's address in the place of its upstream.

    Exit code 1 when something is wrong.
    """
    from hemra.checking.attempt import Order
    from hemra.checking.report import verdict
    from hemra.checking.watched import check as carry_out

    note(f"running {ref} once, for at most {seconds:g} s")
    order = Order(ref=ref, store=str(settings().store_path()), sandbox="", dialect=dialect, seconds=seconds)
    seen = carry_out(order)
    judged = verdict(seen)
    end_with(0 if judged.fine else 1)
    if as_json:
        import msgspec

        print_json({"schema": "hemra.harness-check/1", "fine": judged.fine, "wrong": judged.wrong,
                    "remarks": judged.remarks, "seen": msgspec.to_builtins(seen)})  # fmt: skip
        return
    _tell(seen, judged)


def _tell(seen: Seen, judged: Verdict) -> None:
    from hemra.checking.report import facts

    print_facts(facts(seen))
    if not judged.fine and not seen.problems:
        for stream in ("stdout", "stderr"):
            if text := getattr(seen, stream):
                say(f"the end of its {stream}:")
                say(text)
    for line in judged.remarks:
        say(f"remark: {line}")
    for line in judged.wrong:
        say(f"wrong: {line}")
    say(f"verdict: {seen.harness} {'is fine' if judged.fine else 'is not fine'}")
