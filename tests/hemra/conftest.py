"""What the tests of commands share."""

from __future__ import annotations

import pytest

from eventlog.store import Store
from tests.hemra.command_line import Run, runner


@pytest.fixture
def hemra(store: Store, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs one command line on the test's own `store`; returns exit code, stdout and stderr."""
    return runner(capsys)
