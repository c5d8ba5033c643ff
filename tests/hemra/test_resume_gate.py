"""`hemra resume --fail-under`: the gate is no part of a plan, so a resumed run is given it anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from eventlog.store import Store
from hemra.engine.begin import begin
from hemra.engine.plan import make_plan
from hemra.engine.request import RunRequest
from tests.hemra.engine_driver import ROOT, make_harness, make_task


@pytest.fixture
def half(tmp_path: Path) -> tuple[Path, str]:
    """A store with a planned run, stopped before its first trial, whose strict score will be 0.5."""
    make_task(tmp_path / "set", "easy")
    make_task(tmp_path / "set", "hard", verifier_py="def verify(w, t): return {'status': 'FAIL'}")
    store = Store.open(tmp_path / "store", create=True)
    harness = make_harness(tmp_path, "h", "touch done")
    return store.path, begin(
        store, make_plan(store, RunRequest(dataset=str(tmp_path / "set"), harnesses=[harness]))
    )


@pytest.mark.parametrize(
    ("gate", "code"), [([], 0), (["--fail-under", "0.5"], 0), (["--fail-under", "51%"], 10)]
)
def test_a_resumed_run_can_miss_its_gate(half: tuple[Path, str], gate: list[str], code: int) -> None:
    """A build would turn green because its run was interrupted once."""
    path, run = half
    for _ in range(2):  # the second time there is nothing left to do, and the gate is asked all the same
        got = subprocess.run(
            [sys.executable, "-m", "hemra.cli.main", "resume", run, "--store", str(path), "-q", *gate],
            capture_output=True, text=True, cwd=ROOT, timeout=60, check=False,
        )  # fmt: skip
        assert got.returncode == code, got.stderr
        assert ("below 0.51" in got.stderr) == (code == 10)
