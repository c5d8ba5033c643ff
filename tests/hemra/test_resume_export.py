"""A run that was stopped is nobody's any more: its log can be carried away at once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from eventlog.bundle import export
from eventlog.reader import stream_state
from eventlog.store import Store
from hemra.engine.cancel import cancel
from tests.hemra.engine_driver import Driver, make_harness, make_task


@pytest.mark.parametrize("how", ["signal", "cancelled", "cancelled when dead", "recorder killed"])
def test_a_stopped_run_is_exported_at_once(tmp_path: Path, how: str) -> None:
    """Ctrl-C, then `hemra log export`: it would say that the run is being written."""
    make_task(tmp_path / "set", "one")
    slow = make_harness(tmp_path, "slow", "sleep 60")
    store = Store.open(tmp_path / "store", create=True)
    with Driver("start", str(store.path), str(tmp_path / "set"), "1", "1", slow) as engine:
        run = engine.until("planned")
        engine.until("started", "0001")
        if how == "recorder killed":
            os.kill(stream_state(store, run).writer or 0, signal.SIGKILL)
        if how == "cancelled when dead":
            engine.process.kill()
            engine.process.wait()
        if how.startswith("cancelled"):
            cancel(store, run)
        else:
            engine.process.send_signal(signal.SIGINT)
        assert engine.wait() in (130, 143, -signal.SIGKILL)
    assert not stream_state(store, run).live
    assert export(store, [run], tmp_path / "run.hemra.tar").streams[0].events > 0
