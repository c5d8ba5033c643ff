"""Run by `log_inspect`: one Inspect AI eval whose solver writes info events and nothing else; prints its figures.

    python inspect_eval.py SAMPLES EVENTS SIZE

The texts are made before the clock starts, and one tiny eval warms the process up.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import transcript
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver
from log_payload import payloads


@solver
def emit(events: int, size: int) -> Any:
    """Write `events` events to the sample's transcript."""

    async def solve(state: Any, generate: Any) -> Any:
        for payload in payloads(state.metadata["index"], events, size):
            transcript().info(payload, source="bench")
        return state

    return solve


@scorer(metrics=[accuracy()])
def always() -> Any:
    """A verdict that costs nothing."""

    async def score(state: Any, target: Any) -> Score:
        return Score(value="C")

    return score


def run(samples: int, events: int, size: int, folder: str) -> Path:
    """One eval; where its log is."""
    made = MemoryDataset(
        [Sample(id=f"{i:05d}", input="go", target="yes", metadata={"index": i}) for i in range(samples)]
    )
    task = Task(dataset=made, solver=emit(events, size), scorer=always())
    (log,) = eval(task, model="mockllm/model", log_dir=folder, display="none")
    if log.status != "success":
        raise SystemExit(f"the eval ended as {log.status}")
    return Path(log.location.removeprefix("file://"))


def main() -> None:
    """See the module's docstring."""
    samples, events, size = (int(word) for word in sys.argv[1:])
    for index in range(samples):
        payloads(index, events, size)
    with tempfile.TemporaryDirectory() as folder:
        run(1, 1, 10, folder)
        begin, cpu = time.perf_counter(), time.process_time()
        path = run(samples, events, size, folder)
        took, cpu = time.perf_counter() - begin, time.process_time() - cpu
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(json.dumps([samples * events / took, path.stat().st_size / samples / events, cpu, rss]))


if __name__ == "__main__":
    main()
