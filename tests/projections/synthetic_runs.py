"""Writes runs that never happened, through the real log: every event, both clocks, the order are chosen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from eventlog.envelope import encode
from eventlog.schemas import conversation as c
from eventlog.schemas import runs as r
from eventlog.schemas import trials as t
from eventlog.schemas.base import EventData
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter

SECOND = 1_000_000_000
START = 1_796_067_912 * SECOND  # 2026-11-30T19:45:12Z


def digest(text: str) -> str:
    """A digest that looks like one and depends on `text` only."""
    import hashlib

    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


class SyntheticRun:
    """One run: collects events with chosen clocks and commits them in batches."""

    def __init__(
        self,
        store: Store,
        run: str = "20261130-194512-aa0001",
        *,
        tasks: Iterable[str] = ("t01/a", "t01/b"),
        harnesses: Iterable[str] = ("alpha", "beta"),
        attempts: int = 1,
        plan: dict[str, Any] | None = None,
        task_salt: str = "",
        scorer_salt: str = "",
        kinds: Mapping[str, str] | None = None,
        served: Iterable[str] = (),
    ) -> None:
        self.kinds = kinds or {}
        self.served = set(served)
        self.store, self.run = store, run
        self.tasks, self.harnesses, self.attempts = list(tasks), list(harnesses), attempts
        self.task_salt, self.scorer_salt = task_salt, scorer_salt
        self.wall, self.mono = START, 5_000 * SECOND
        self.plan = plan or {}
        self._lines: list[bytes] = []
        self._producer, self._number = os.urandom(16), 1
        self.writer = StreamWriter.open(store, run, create=True)
        self.trials: dict[tuple[str, str, int], str] = {}

    def event(self, data: EventData, trial: str | None = None) -> None:
        """One event at the clocks' present values."""
        line = encode(
            data,
            source="engine",
            trial=trial,
            blobs=self.store.blobs,
            wall=lambda: self.wall,
            mono=lambda: self.mono,
        )
        self._lines.append(line)
        if len(self._lines) >= 2000:
            self.commit()

    def pass_time(self, seconds: float) -> None:
        """Both clocks go on."""
        self.wall += int(seconds * SECOND)
        self.mono += int(seconds * SECOND)

    def commit(self) -> None:
        """Write what was collected."""
        if self._lines:
            self.writer.commit([Incoming(self._producer, self._number, self._lines)])
            self._number += len(self._lines)
            self._lines = []

    def planned_task(self, task: str) -> r.PlannedTask:
        """The task's plan entry."""
        return r.PlannedTask(
            id=task, digest=digest(f"task {task}{self.task_salt}"),
            scorer_digest=digest(f"scorer {task}{self.scorer_salt}"),
        )  # fmt: skip

    def begin(self, *, queue: bool = True, start: bool = True) -> SyntheticRun:
        """Plan, queue (harnesses interleaved), start."""
        fields: dict[str, Any] = {
            "run": self.run, "name": "synthetic",
            "dataset": r.PlannedDataset(name="hermes", digest=digest("dataset"), source="bundled"),
            "tasks": [self.planned_task(task) for task in self.tasks],
            "harnesses": [
                r.PlannedHarness(
                    name=h, kind=self.kinds.get(h, "protocol"), digest=digest(f"harness {h}"),
                    definition={"model": f"model-{h}"}
                    | ({"upstream": {"base_url": "http://127.0.0.1:1/v1"}} if h in self.served else {}),
                    version="1.0",
                )
                for h in self.harnesses
            ],
            "trials": len(self.tasks) * len(self.harnesses) * self.attempts,
            "attempts": self.attempts, "jobs": 2, "sandbox": "host", "seed": 7, "retries": 1,
            "limits": r.Limits(wall_seconds=600.0), "hemra": {"version": "0.1.0"},
            "host": {"system": "Linux", "cpus": 2},
        }  # fmt: skip
        self.event(r.RunPlanned(**(fields | self.plan)))
        position = 0
        for attempt in range(1, self.attempts + 1):
            for task in self.tasks:
                for harness in self.harnesses:
                    position += 1
                    trial = f"{position:04d}"
                    self.trials[harness, task, attempt] = trial
                    if queue:
                        planned = self.planned_task(task)
                        self.event(
                            t.TrialQueued(
                                position=position, harness=harness, task=task,
                                harness_digest=digest(f"harness {harness}"),
                                task_digest=planned.digest, scorer_digest=planned.scorer_digest,
                                attempt=attempt, seed=1000 + position,
                            ),
                            trial,
                        )  # fmt: skip
        if start:
            self.event(r.RunStarted(pid=1, boot="boot-1", jobs=(fields | self.plan)["jobs"]))
        return self

    def start(
        self, trial: str, try_no: int = 1, *, limits: r.Limits | None = None,
        sandbox: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """A try begins: trial.started, sandbox.created (`sandbox`: fields of it)."""
        harness, task, attempt = next(key for key, value in self.trials.items() if value == trial)
        self.event(
            t.TrialStarted(
                try_no=try_no, harness=harness, task=task, attempt=attempt, seed=1,
                instruction="do it", values={}, not_enforced=["network"],
                limits=limits or r.Limits(wall_seconds=600.0),
            ),
            trial,
        )  # fmt: skip
        fields: dict[str, Any] = {
            "try_no": try_no, "kind": "host", "workspace": "/w", "home": "/h", "environment": ["PATH"],
            "enforcement": {
                "wall_seconds": t.Enforcement(status="enforced", by="timer"),
                "memory_bytes": t.Enforcement(status="best effort", by="rlimit"),
                "network": t.Enforcement(status="not enforced"),
            },
        }  # fmt: skip
        self.event(t.SandboxCreated(**(fields | (sandbox or {}))), trial)

    def call(
        self, trial: str, call: str, *, seconds: float = 1.0, asked: dict[str, Any] | None = None,
        answered: bool = True, **answer: Any,
    ) -> None:  # fmt: skip
        """A call that passed the gateway: asked for, answered after `seconds`, by default whole and with usage."""
        request: dict[str, Any] = {
            "model": "m",
            "parameters": {},
            "call": call,
            "dialect": "chat",
            "stream": True,
        }
        self.event(c.ModelRequested(**(request | (asked or {}))), trial)
        self.pass_time(seconds)
        if not answered:
            return
        fields: dict[str, Any] = {
            "model": "m-1", "call": call, "status": 200, "ended": "complete", "finish_reason": "stop",
            "usage": t.Usage(input_tokens=100, cache_read_tokens=40, output_tokens=11, reasoning_tokens=3),
            "first_byte_ns": SECOND // 10, "first_token_ns": SECOND // 5, "last_token_ns": SECOND * 7 // 10,
            "duration_ns": int(seconds * SECOND),
        }  # fmt: skip
        self.event(c.ModelResponded(**(fields | answer)), trial)

    def score(
        self, trial: str, status: str, score: float | None, *, try_no: int = 1, reason: str = "checked"
    ) -> None:
        """The scorer's word."""
        task = next(key for key, value in self.trials.items() if value == trial)[1]
        self.event(
            c.ScoreRecorded(
                try_no=try_no, reward_name="verifier", status=status, score=score, reason=reason,
                details=None, scorer_digest=self.planned_task(task).scorer_digest, duration_ns=SECOND // 10,
            ),
            trial,
        )  # fmt: skip

    def finish(
        self, trial: str, outcome: str = "completed", reward: float | None = None, *, try_no: int = 1,
        seconds: float = 2.0, **changes: Any,
    ) -> None:  # fmt: skip
        """The try that counts ends."""
        fields: dict[str, Any] = {
            "try_no": try_no, "outcome": outcome, "reason": None, "flags": [], "limit": None, "exit_code": 0,
            "exit_signal": None, "duration_ns": int(seconds * SECOND),
            "agent_ns": int(seconds * SECOND * 0.75),
            "phases": {"run": int(seconds * SECOND * 0.75)}, "scored": reward is not None,
            "score_status": None if reward is None else ("PASS" if reward == 1 else "FAIL"), "reward": reward,
            "usage": None,
        }  # fmt: skip
        self.event(t.TrialFinished(**(fields | changes)), trial)

    def trial(
        self, trial: str, reward: float, *, try_no: int = 1, seconds: float = 2.0, **changes: Any
    ) -> None:
        """A whole ordinary trial: started, scored, finished."""
        self.start(trial, try_no)
        self.pass_time(seconds)
        self.score(trial, "PASS" if reward == 1 else "FAIL", reward, try_no=try_no)
        self.finish(trial, reward=reward, try_no=try_no, seconds=seconds, **changes)

    def end(self, *, cancelled: bool = False, seal: bool = True) -> str:
        """Finish (or cancel) the run and leave the stream; returns the run id."""
        if cancelled:
            self.event(r.RunCancelled(reason="ctrl-c", finished=0, remaining=0))
        else:
            self.event(r.RunFinished(trials=len(self.trials), scored=0, outcomes={}, duration_ns=None))
        self.commit()
        if seal:
            self.writer.finish()
        else:
            self.writer.close()
        return self.run

    def leave(self) -> str:
        """Stop writing as a killed engine would, the stream unfinished; returns the run id."""
        self.commit()
        self.writer.close()
        return self.run


def new_store(path: Path) -> Store:
    """An empty store."""
    return Store.open(path / "store", create=True)
