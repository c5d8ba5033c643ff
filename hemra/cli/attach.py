"""`hemra attach`: look into the terminal of a trial that is under way."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hemra.cli.context import common_options
from hemra.cli.lazy import Command
from hemra.cli.output import note
from hemra.cli.stores import check_trials, open_store, resolve_run
from hemra.errors import UsageError

if TYPE_CHECKING:
    from eventlog.store import Store


@click.command(
    cls=Command,
    examples=[
        ("hemra attach", "watch the one trial of the newest run that has a terminal of its own"),
        ("hemra attach 0003 --run nightly", "a trial of another run"),
        ("hemra attach 0003 --keyboard", "with your keys, which is recorded as a note of the trial"),
    ],
)
@click.argument("trial", metavar="[TRIAL]", required=False)
@click.option("--run", "run", metavar="RUN", default="latest", help="The trial's run (default: the newest).")
@click.option("--keyboard", is_flag=True, help="Your keys reach the trial; without it you only watch.")
@common_options
def attach(trial: str | None, run: str, keyboard: bool) -> None:
    """Watch the terminal of a trial that is under way.

    For harnesses that work in a tmux session of their own. Ctrl-b d leaves, Ctrl-b [ scrolls back, Ctrl-b n goes to
    the next window.
    """
    from hemra.recording.viewing import choose, show

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("attach needs a terminal; `hemra tail -f --type 'terminal.*'` follows without one")
    store = open_store()
    stream = resolve_run(store, run)
    check_trials(store, stream, (trial,) if trial is not None else ())
    name, place = choose(store, stream, trial)
    if keyboard:
        _tell(store, stream, name)
    show(place, keyboard=keyboard)
    note(f"left trial {name} of {stream}")


def _tell(store: Store, stream: str, trial: str) -> None:
    """Put into the record that a person may have had a hand in it, before they can."""
    from eventlog.client import Client
    from eventlog.schemas.conversation import NoteRecorded

    text = "a person joined the trial's terminal with the keyboard"
    with Client.connect(store, stream, source="attach", start_recorder=False) as client:
        client.append(NoteRecorded(level="warning", code="person_attached", text=text), trial=trial)
