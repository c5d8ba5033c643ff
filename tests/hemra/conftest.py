"""What the tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventlog.store import Store
from tests.hemra.command_line import Run, runner
from tests.projections.synthetic_runs import new_store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """An empty store that commands use."""
    made = new_store(tmp_path)
    monkeypatch.setenv("HEMRA_STORE", str(made.path))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    return made


@pytest.fixture
def hemra(store: Store, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs one command line on the test's own `store`; returns exit code, stdout and stderr."""
    return runner(capsys)
