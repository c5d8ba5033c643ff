"""Terminals that a harness keeps itself are recorded with its trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eventlog.store import Store
from harnesses.base import TERMINALS, Launch, TrialInput
from harnesses.command import CommandHarness
from harnesses.registry import KINDS
from hemra.engine.plan import make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import start
from tests.hemra.engine_driver import events, make_harness, make_task

SCRIPT = f"""
mkdir "{{harness_dir}}/{TERMINALS}"
printf 'first\\r\\n' >> "{{harness_dir}}/{TERMINALS}/0.80x24.tty"
touch done; echo answer
"""


class Keeper(CommandHarness):
    """A program that keeps a terminal of its own."""

    def launch(self, trial: TrialInput) -> Launch:
        """Its command, and that there is one."""
        return replace(super().launch(trial), terminals=True)


def test_terminals_of_the_harness_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happened in the session would be gone with the sandbox."""
    monkeypatch.setitem(KINDS, "keeper", Keeper)
    make_task(tmp_path / "data", "t01/a")
    harness = make_harness(tmp_path, "keeper", SCRIPT, kind="keeper")
    store = Store.open(tmp_path / "store", create=True)
    plan = make_plan(store, RunRequest(dataset=str(tmp_path / "data"), harnesses=[harness]))
    run = start(store, plan, Quiet()).run
    opened = [data["terminal"] for _, data in events(store, run, "terminal.opened")]
    assert opened == ["harness", "tmux:0"]
    shown = {data["terminal"]: data["data"] for _, data in events(store, run, "terminal.output")}
    assert shown == {"harness": "answer\n", "tmux:0": "first\r\n"}
    names = [data["name"] for _, data in events(store, run, "artifact.stored")]
    assert "terminals/0" in names
    closed = [data["terminal"] for _, data in events(store, run, "terminal.closed")]
    assert closed == ["harness", "tmux:0"]
    (finished,) = (data for _, data in events(store, run, "trial.finished"))
    assert (finished["outcome"], finished["reward"]) == ("completed", 1.0)
