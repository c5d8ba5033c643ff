"""Every command by name: where it is and its one line of help, so that `hemra --help` imports none of them.

tests/test_docs.py holds the lines here equal to the commands' own.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A command: the module and attribute that hold it, and its one line of help."""

    module: str
    attribute: str
    help: str


#: Sections of `hemra --help`, each with its commands in the order they are shown.
SECTIONS: dict[str, dict[str, Entry]] = {
    "Running": {
        "run": Entry("hemra.cli.run", "run", "Plan, check everything, run the trials, report."),
        "resume": Entry("hemra.cli.resume", "resume", "Go on with a stopped run, from its events alone."),
        "cancel": Entry("hemra.cli.resume", "cancel", "Stop a run that is under way, in order."),
    },
    "Looking": {
        "runs": Entry("hemra.cli.runs", "runs", "List the runs in the store, newest first."),
        "show": Entry("hemra.cli.runs", "show", "Show one run with its trials, or one trial."),
        "tail": Entry("hemra.cli.tail", "tail", "Print events of one run or of all live ones."),
        "attach": Entry("hemra.cli.attach", "attach", "Watch the terminal of a trial that is under way."),
        "artifacts": Entry("hemra.cli.artifacts", "artifacts", "List and fetch the files that trials left behind."),
        "report": Entry("hemra.cli.reporting", "report", "Report on one run."),
        "compare": Entry("hemra.cli.reporting", "compare", "Compare two harnesses task by task."),
        "replay": Entry("hemra.cli.reporting", "replay", "Rebuild a run's report and prove it equal."),
    },
    "Store and inputs": {
        "log": Entry("hemra.cli.log", "log", "Read, check, seal and carry the event log."),
        "task": Entry("hemra.cli.task", "task", "Make, list, show, validate and check tasks."),
        "dataset": Entry("hemra.cli.dataset", "dataset", "Pin, list and show datasets."),
        "harness": Entry("hemra.cli.harness", "harness", "List, show, install and check harnesses."),
        "prices": Entry("hemra.cli.prices", "prices", "Show the price table in use, or a model's prices."),
        "sandbox": Entry("hemra.cli.sandbox", "sandbox", "Show what sandboxes enforce on this machine, by trying."),
        "doctor": Entry("hemra.cli.doctor", "doctor", "Check this machine and the store, with remedies."),
    },
}  # fmt: skip

#: The same without the sections.
COMMANDS: dict[str, Entry] = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
