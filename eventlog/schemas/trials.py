"""Events of a trial, its sandbox and its harness process."""

from __future__ import annotations

from typing import Any

import msgspec

from eventlog.schemas.base import EventData, event
from eventlog.schemas.runs import Limits


class LimitFired(msgspec.Struct, frozen=True, kw_only=True):
    """Which limit ended the trial: its name, its value, what was measured, and the unit of both."""

    name: str
    value: float
    measured: float
    unit: str


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Token use in the one normal form: `input_tokens` includes cached tokens. Null = not told."""

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None


@event("trial.queued")
class TrialQueued(EventData, frozen=True, kw_only=True):
    """One planned trial: attempt `attempt` (from 1) of a harness at a task, in plan order `position`."""

    position: int
    harness: str
    harness_digest: str
    task: str
    task_digest: str
    scorer_digest: str
    attempt: int
    seed: int


@event("trial.started")
class TrialStarted(EventData, frozen=True, kw_only=True):
    """Try `try_no` (from 1) of the trial began. A later start of the same trial supersedes this one.

    `not_enforced` names what the task asks for and neither sandbox nor harness nor engine holds;
    `why_not_enforced` says why, by name, and is null in logs older than it. `mcp_servers` are the names of the MCP
    servers that the harness was given, the task's first; null in logs older than it.
    """

    try_no: int
    harness: str
    task: str
    attempt: int
    seed: int
    instruction: str
    values: dict[str, Any]
    limits: Limits
    not_enforced: list[str]
    why_not_enforced: dict[str, str] | None = None
    mcp_servers: list[str] | None = None


@event("trial.phase_finished")
class TrialPhaseFinished(EventData, frozen=True, kw_only=True):
    """A phase (prepare, create, run, stop, store, score, destroy) ended. Duration from the monotonic clock."""

    try_no: int
    phase: str
    duration_ns: int
    ok: bool
    error: str | None = None


@event("trial.retried")
class TrialRetried(EventData, frozen=True, kw_only=True):
    """A try ended in an outcome that is run again; its events and its cost stay in the log."""

    try_no: int
    outcome: str
    reason: str
    backoff_seconds: float
    duration_ns: int


@event("trial.finished")
class TrialFinished(EventData, frozen=True, kw_only=True):
    """The final state of a trial: how it ended, what the scorer said, what it cost; each may be null."""

    try_no: int
    outcome: str
    reason: str | None
    flags: list[str]
    limit: LimitFired | None
    exit_code: int | None
    exit_signal: int | None
    duration_ns: int
    agent_ns: int | None
    phases: dict[str, int]
    scored: bool
    score_status: str | None
    reward: float | None
    usage: Usage | None


class Enforcement(msgspec.Struct, frozen=True, kw_only=True):
    """How one limit or isolation is held: `enforced`, `best effort` or `not enforced`, and by what."""

    status: str
    by: str | None = None


@event("sandbox.created")
class SandboxCreated(EventData, frozen=True, kw_only=True):
    """Where the trial runs and what that place enforces, by name, as far as a probe of this machine showed it.

    `network` is none, gateway or full, `reach` the services that gateway lets through. `read_only` and
    `login_files` are what of the user's files the trial was shown; `details` what else tells the place apart.
    """

    try_no: int
    kind: str
    workspace: str
    home: str
    enforcement: dict[str, Enforcement]
    environment: list[str]
    network: str | None = None
    reach: list[str] = msgspec.field(default_factory=list)
    read_only: list[str] = msgspec.field(default_factory=list)
    login_files: list[str] = msgspec.field(default_factory=list)
    details: dict[str, Any] = msgspec.field(default_factory=dict)


@event("sandbox.lost")
class SandboxLost(EventData, frozen=True, kw_only=True):
    """The sandbox vanished under the harness."""

    try_no: int
    reason: str
    evidence: dict[str, Any]


@event("sandbox.destroyed")
class SandboxDestroyed(EventData, frozen=True, kw_only=True):
    """Nothing of the trial is left on the machine, or `error` says what is."""

    try_no: int
    leftover_processes: int
    error: str | None = None


@event("harness.started")
class HarnessStarted(EventData, frozen=True, kw_only=True):
    """The harness process was started. Environment variables are recorded by name only."""

    try_no: int
    argv: list[str]
    environment: list[str]
    cwd: str
    pid: int | None
    prompt: str


@event("harness.exited")
class HarnessExited(EventData, frozen=True, kw_only=True):
    """The harness process ended (exit code or signal), or was ended."""

    try_no: int
    exit_code: int | None
    exit_signal: int | None
    duration_ns: int
    stdout_bytes: int
    stderr_bytes: int
    leftover_processes: int
    flags: list[str]
    peak_memory_bytes: int | None = None
    cpu_ns: int | None = None
