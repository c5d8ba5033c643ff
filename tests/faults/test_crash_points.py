"""A process killed at any named point loses nothing that it acknowledged and doubles nothing when it resends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import eventlog
from eventlog.reader import read, stream_state
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify

PACKAGE = Path(eventlog.__file__).parent
ROOT = PACKAGE.parent


def named_points() -> list[str]:
    """Every crash point in the log's code."""
    text = "".join(p.read_text("utf-8") for p in sorted(PACKAGE.glob("*.py")) if p.name != "crashpoints.py")
    return sorted(set(re.findall(r'crash_point\("([a-z_.]+)"\)', text)))


#: Points that the storage layer passes; those of the recorder and of bundles have tests of their own.
STORAGE = [p for p in named_points() if p.split(".")[0] in {"replace", "anchor", "commit", "seal"}]


def write(store: Store, first: int, count: int, crash: str | None) -> subprocess.CompletedProcess[str]:
    """Run the writing process, to be killed at `crash` (a name, or name:times)."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if crash:
        environment["HEMRA_CRASH_AT"] = crash
    script = Path(__file__).with_name("crashing_writer.py")
    argv = [sys.executable, str(script), str(store.path), "run", "p", str(first), str(count)]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize("point", STORAGE)
def test_killed_at_every_point(tmp_path: Path, point: str, times: int) -> None:
    """If this failed, a crash just there would lose, double or invent an event, or leave the stream unusable."""
    store = Store.open(tmp_path / "s", create=True)
    StreamWriter.open(store, "run", create=True).close()
    assert write(store, 1, 10, None).returncode == 0
    killed = write(store, 11, 20, f"{point}:{times}")
    acknowledged = [int(n) for n in killed.stdout.split() if n.isdigit()]
    last_acknowledged = acknowledged[-1] if acknowledged else 10
    if killed.returncode == 0:
        assert times > 1, f"{point} is never passed"
    else:
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        found = [e.data["call"] for e in read(store, "run")]
        assert found[:last_acknowledged] == [f"p:{n}" for n in range(1, last_acknowledged + 1)]
        assert len(found) <= last_acknowledged + 3
    again = write(store, last_acknowledged + 1, 30 - last_acknowledged, None)
    assert again.returncode == 0, again.stderr
    assert [e.data["call"] for e in read(store, "run")] == [f"p:{n}" for n in range(1, 31)]
    assert stream_state(store, "run").finished
    report = verify(store)
    assert report.ok, report.problems
    assert not list(store.path.rglob("*.tmp"))


def test_there_are_points_to_crash_at() -> None:
    """If this failed, the test above would test nothing."""
    assert len(STORAGE) >= 12
