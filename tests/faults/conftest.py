"""What the fault tests say at the end of a session: how many crash states were tried."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """An empty folder in memory where the system has such a place: thousands of stores are made and removed there."""
    memory = Path("/dev/shm")
    try:
        place = Path(tempfile.mkdtemp(prefix="hemra-faults-", dir=memory))
    except OSError:
        yield tmp_path
        return
    yield place
    shutil.rmtree(place)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the number of distinct stores that were rebuilt after a simulated power cut, opened and checked."""
    explorer = sys.modules.get("tests.faults.explorer")
    if explorer is not None and explorer.TRIED:
        terminalreporter.write_line(f"crash states: {len(explorer.TRIED):,} distinct ones opened and checked")
