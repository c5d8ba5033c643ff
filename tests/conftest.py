"""What all tests share: no test touches the user's own store; what this system lacks is counted by name."""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

#: Variables of whoever runs the tests that would change what the program prints or where it writes.
_FOREIGN = ("NO_COLOR", "FORCE_COLOR", "HEMRA_DEBUG", "COLUMNS")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers that are defined here."""
    config.addinivalue_line(
        "markers", "needs(program, ...): skipped, by name, where a program is not installed"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose programs are not there; `.ci/run` installs all of them."""
    for marker in item.iter_markers("needs"):
        for program in marker.args:
            if shutil.which(program) is None:
                pytest.skip(f"needs {program}, which is not installed")


@pytest.fixture(autouse=True)
def own_store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point HEMRA_STORE at an empty place, so that nothing finds the store of whoever runs the tests."""
    place = tmp_path_factory.mktemp("no-store") / "store"
    monkeypatch.setenv("HEMRA_STORE", str(place))
    for name in _FOREIGN:
        monkeypatch.delenv(name, raising=False)
    return place


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name every skipped test under the reason for it, and count them."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        by_reason[reason.removeprefix("Skipped: ")].append(report.nodeid)
    if not by_reason:
        terminalreporter.write_line("nothing was skipped")
        return
    total = sum(map(len, by_reason.values()))
    terminalreporter.section(f"{total} skipped for what this system lacks")
    for reason, tests in sorted(by_reason.items()):
        terminalreporter.write_line(f"{reason}: {len(tests)}")
        for test in tests:
            terminalreporter.write_line(f"    {test}")
