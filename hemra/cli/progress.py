"""How a run looks while it happens: on stderr, live on a terminal, one plain line a trial elsewhere."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from hemra.cli.output import say
from hemra.reports.numbers import duration, many, plain
from hemra.reports.outside import visible
from hemra.reports.scores import score_words

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from hemra.engine.progress import Progress


def watcher(*, quiet: bool, verbose: int) -> Progress:
    """The watcher that fits: nothing with --quiet, a live bar on a terminal, plain lines elsewhere."""
    if quiet:
        return Silent()
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return LiveBar()
    return PlainLines(verbose=bool(verbose))


def print_run_id(run: str) -> None:
    """The run's id alone on stdout, as soon as it is known. A reader that went away costs no trial."""
    try:
        say(run)
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as we do


class Silent:
    """Only the run's id, and what a person must see."""

    def run_planned(self, run: str, trials: int) -> None:
        """The id, for scripts."""
        print_run_id(run)

    def trial_started(self, trial: str, *, harness: str, task: str, attempt: int, try_no: int) -> None:
        """Nothing."""

    def trial_finished(self, info: dict[str, Any]) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """The line on stderr."""
        say(f"hemra: {text}", err=True)

    def close(self) -> None:
        """Nothing."""


class PlainLines:
    """One line on stderr for every finished trial; with `verbose` also for every start."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._trials = 0
        self._done = 0

    def run_planned(self, run: str, trials: int) -> None:
        """The id on stdout, and on stderr what is going to happen."""
        self._trials = trials
        print_run_id(run)
        say(f"run {run}: {many(trials, 'trial')}", err=True)

    def trial_started(self, trial: str, *, harness: str, task: str, attempt: int, try_no: int) -> None:
        """One line with -v."""
        if self._verbose:
            again = f", try {try_no}" if try_no > 1 else ""
            say(f"started {trial} {plain(harness)} {plain(task)} #{attempt}{again}", err=True)

    def trial_finished(self, info: dict[str, Any]) -> None:
        """One line."""
        self._done += 1
        width = len(str(self._trials))
        say(f"[{self._done:>{width}}/{self._trials}] {trial_line(info)}", err=True)

    def note(self, text: str) -> None:
        """One line."""
        say(text, err=True)

    def close(self) -> None:
        """Nothing is left to write."""


class LiveBar:
    """A bar with the time it still takes; finished trials scroll away above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        from hemra.reports.page import wants_colour

        coloured = wants_colour(sys.stderr)
        console = Console(stderr=True, highlight=False, markup=False, emoji=False, no_color=not coloured)
        self._running: dict[str, str] = {}
        self._bar: Bar = Progress(
            BarColumn(bar_width=30), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("{task.description}"), console=console, transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=None)

    def run_planned(self, run: str, trials: int) -> None:
        """The id on stdout before the bar is drawn."""
        print_run_id(run)
        self._bar.update(self._task, total=trials)
        self._bar.start()

    def trial_started(self, trial: str, *, harness: str, task: str, attempt: int, try_no: int) -> None:
        """The trial is named beside the bar while it runs."""
        self._running[trial] = f"{plain(harness)} {plain(task)}"
        self._describe()

    def trial_finished(self, info: dict[str, Any]) -> None:
        """Its line above the bar."""
        from rich.text import Text

        self._running.pop(str(info["trial"]), None)
        self._bar.console.print(Text(trial_line(info), style=style_of(info)))
        self._bar.advance(self._task)
        self._describe()

    def note(self, text: str) -> None:
        """The line above the bar."""
        from rich.text import Text

        self._bar.console.print(Text(visible(text)))

    def close(self) -> None:
        """Give the terminal back."""
        self._bar.stop()

    def _describe(self) -> None:
        from rich.markup import escape

        shown = ", ".join(list(self._running.values())[:3])
        more = f" and {len(self._running) - 3} more" if len(self._running) > 3 else ""
        self._bar.update(self._task, description=escape(shown + more))


_STYLES: dict[str | None, str] = {"PASS": "green", "FAIL": "red"}


def style_of(info: dict[str, Any]) -> str:
    """The colour of a finished trial's line: green and red are for what counts alone."""
    return "yellow" if info.get("reward") is None else _STYLES.get(info.get("score_status"), "yellow")


def trial_line(info: dict[str, Any]) -> str:
    """What is said of a finished trial: `0012 oracle t01/t01_echo #1: completed, PASS 1, 0.4 s`."""
    score = score_words(info.get("score_status"), info.get("reward"))
    line = (
        f"{info['trial']} {plain(info['harness'])} {plain(info['task'])} #{info['attempt']}: "
        f"{plain(info['outcome'])}, {score}, {duration(info.get('duration_ns'))}"
    )
    reason = info.get("reason")
    return f"{line} ({plain(reason)})" if reason and info.get("reward") is None else line
