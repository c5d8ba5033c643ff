"""What a power cut still takes: one test for each entry of `known`."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventlog.anchor import Anchor
from tests.faults.explorer import Explorer
from tests.faults.filelayer import RecordingLayer
from tests.faults.known import KNOWN, known_loss
from tests.faults.scenes import Fault
from tests.faults.test_io_errors import no_second_sync


def test_the_name_of_a_stream(quick: Path) -> None:
    """If this failed, a catalog whose maker died at once would vanish with all that was acknowledged in it."""
    _try_all(quick, "plain", "the name of a stream", range(14, 30))


def test_covered_sources(quick: Path) -> None:
    """If this failed, a kill in a seal and a power cut in the recovery from it would lose acknowledged events."""
    _try_all(quick, "plain", "covered sources", range(80, 100))


def test_the_file_of_a_failed_sync(quick: Path) -> None:
    """If this failed, a sync would be tried again on a file on which one failed, and the kernel would call it done."""
    _no_second_sync(quick, "stream._write", times=4)


def test_what_a_failed_sync_left(quick: Path) -> None:
    """If this failed, refused events would count as durable in the next process, and a power cut would take them."""
    _no_second_sync(quick, "recovery._sync", times=30)


def _no_second_sync(quick: Path, site: str, times: int) -> None:
    for place in range(60, 100):
        explorer = Explorer(f"rolling/fail={place}:ENOSPC:{times}", quick / str(place))
        again = [op for op in explorer.ops if op.kind == "sync" and op.site.startswith(site)]
        if again:
            no_second_sync(explorer, known=True)


def test_a_half_written_slot(tmp_path: Path) -> None:
    """If this failed, an anchor of which half was written would pass for written, and a bad slot would stand there."""
    (tmp_path / "run").mkdir()
    with RecordingLayer(tmp_path) as layer:
        anchor = Anchor.first(tmp_path / "run", b"12345678")
        layer.fault = Fault(0, "SHORT")
        with pytest.raises(OSError):
            anchor.advance(last=1)
        anchor.close()


def _try_all(quick: Path, scene: str, loss: str, kills: range) -> None:
    found = 0
    for after in kills:
        explorer = Explorer(f"{scene}/kill={after}", quick / str(after))
        for cut in explorer.left_behind():
            if known_loss(explorer.disk, cut, explorer.scene.turn) == loss:
                found += 1
                error = explorer.attempt(cut)
                assert error is None, explorer.report(cut, error)
    if not found:
        pytest.skip("no cut runs into it")
