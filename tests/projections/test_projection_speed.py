"""How long a report takes: a bar that a slip (inference, a query for each trial) would break by far."""

from __future__ import annotations

import time
from pathlib import Path

from eventlog.schemas import conversation as c
from eventlog.schemas import trials as t
from projections import cache, query
from tests.projections.synthetic_runs import SyntheticRun, new_store


def test_report_of_a_long_run(tmp_path: Path) -> None:
    """A report over 100,000 events would take more than 3 seconds."""
    store = new_store(tmp_path)
    run = SyntheticRun(store, tasks=[f"t/{i}" for i in range(20)]).begin()
    for trial in run.trials.values():
        run.start(trial)
        for i in range(500):
            run.pass_time(0.001)
            run.event(c.TerminalOutput(terminal="t", stream="stdout", offset=i * 80, data="x" * 80), trial)
            run.event(c.ToolCalled(call=str(i), name="sh", arguments={"command": f"echo {i}"}, turn=i), trial)
            run.event(c.ToolReturned(call=str(i), name="sh", ok=True, result={"stdout": str(i)}), trial)
            run.event(c.TelemetrySampled(processes=1, rss_bytes=i, cpu_ns=i), trial)
            run.event(c.ModelResponded(model="m", usage=t.Usage(input_tokens=i, cost_usd=0.001)), trial)
        run.score(trial, "PASS", 1.0)
        run.finish(trial, reward=1.0)
    name = run.end()
    began = time.monotonic()
    report = query.report(store, name)
    took = time.monotonic() - began
    assert report["events"] > 100_000
    assert report["harnesses"][0]["tool_calls"] == 20 * 500
    assert took < 3.0, f"{took:.1f} s"
    began = time.monotonic()
    assert cache.load(store, name).report == report
    assert time.monotonic() - began < 0.5
    began = time.monotonic()
    assert len(query.table(store, name, "tool_calls", trial="0001")) == 500
    assert time.monotonic() - began < 3.0
