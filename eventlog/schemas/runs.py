"""Events of the catalog and of a run."""

from __future__ import annotations

from typing import Any

import msgspec

from eventlog.schemas.base import EventData, event


class PinnedTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a pinned dataset. `files` maps a relative path to its SHA-256."""

    id: str
    digest: str
    scorer_digest: str
    files: dict[str, str]


@event("dataset.pinned")
class DatasetPinned(EventData, frozen=True, kw_only=True):
    """A dataset's content was fixed: every task by digest, the dataset by one digest over them."""

    name: str
    digest: str
    source: str
    tasks: list[PinnedTask]


@event("harness.registered")
class HarnessRegistered(EventData, frozen=True, kw_only=True):
    """A harness file was seen for the first time with this digest."""

    name: str
    kind: str
    digest: str
    definition: dict[str, Any]


@event("import.recorded")
class ImportRecorded(EventData, frozen=True, kw_only=True):
    """A bundle was imported: where from, and what it brought."""

    origin: str
    digest: str
    streams: list[str]
    events: int
    blobs: int


class PlannedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a plan, by content. `sandbox` is where it asks to be run; null = where the run's trials are."""

    id: str
    digest: str
    scorer_digest: str
    sandbox: str | None = None


class PlannedHarness(msgspec.Struct, frozen=True, kw_only=True):
    """A harness of a plan: its file's content (environment by name only) and what it says its version is.

    `installed` is what `hemra harness install` put there: name, version, digest of all its files, what was changed
    since; null for a program that it did not install.
    """

    name: str
    kind: str
    digest: str
    definition: dict[str, Any]
    version: str | None = None
    installed: dict[str, Any] | None = None


class PlannedDataset(msgspec.Struct, frozen=True, kw_only=True):
    """The pinned dataset that a plan draws from."""

    name: str
    digest: str
    source: str


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one trial; null = none. Seconds, bytes, counts; `cpus` is processors used at a time, 0.5 = half of one.

    The gateway holds the budget: `calls` to models, `tokens` (input and output together), `input_tokens`,
    `output_tokens`, `cost_usd`.
    """

    wall_seconds: float | None = None
    output_bytes: int | None = None
    memory_bytes: int | None = None
    processes: int | None = None
    file_bytes: int | None = None
    workspace_bytes: int | None = None
    turns: int | None = None
    tokens: int | None = None
    cpu_seconds: float | None = None
    calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    cpus: float | None = None


class PlannedCassette(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded run that answers in a model's place, or one `trial` of it. `miss`: what becomes of a request that
    was not recorded: `error`, it is refused; `upstream`, it goes on to the model."""

    run: str
    trial: str | None = None
    miss: str = "error"


@event("run.planned")
class RunPlanned(EventData, frozen=True, kw_only=True):
    """The whole plan, before the first sandbox starts. It never changes; resume reads it.

    `record_cassette`: bodies of requests and answers are kept. `prices` is the whole price table by which calls are
    priced, with its name, date and digest; null where no harness calls a model through the gateway. `network` is what
    the run asks for in the place of its harnesses and tasks; what a trial got is in `sandbox.created`.
    """

    run: str
    name: str | None
    dataset: PlannedDataset
    tasks: list[PlannedTask]
    harnesses: list[PlannedHarness]
    attempts: int
    trials: int
    jobs: int
    sandbox: str
    seed: int
    retries: int
    limits: Limits
    hemra: dict[str, Any]
    host: dict[str, Any]
    record_cassette: bool = False
    cassette: PlannedCassette | None = None
    prices: dict[str, Any] | None = None
    network: str | None = None


@event("run.started")
class RunStarted(EventData, frozen=True, kw_only=True):
    """The engine began to carry out the plan. `boot` tells whether `mono` values can be compared.

    `host` and `hemra` are this machine and this program, as in `run.planned`; null in logs older than them.
    """

    pid: int
    boot: str | None
    jobs: int
    host: dict[str, Any] | None = None
    hemra: dict[str, Any] | None = None


@event("run.resumed")
class RunResumed(EventData, frozen=True, kw_only=True):
    """Another engine went on with a run that had stopped, or opened a finished one again. Finished trials stay.

    - `interrupted`: trials that were running when the engine before it died
    - `retried`: trials that had ended without a measurement and are to be run again all the same
      (`hemra resume --retry-errors`); each keeps its end until its next try begins
    - `host`, `hemra`: this machine and this program, as in `run.planned`

    The last three are null in logs older than them.
    """

    pid: int
    boot: str | None
    jobs: int
    finished: int
    remaining: int
    interrupted: list[str]
    retried: list[str] | None = None
    host: dict[str, Any] | None = None
    hemra: dict[str, Any] | None = None


@event("run.cancelled")
class RunCancelled(EventData, frozen=True, kw_only=True):
    """A person or a failure of ours stopped the run before its end; it can be resumed."""

    reason: str
    finished: int
    remaining: int


@event("run.finished")
class RunFinished(EventData, frozen=True, kw_only=True):
    """Every planned trial has a final state. `outcomes` counts trials by outcome."""

    trials: int
    scored: int
    outcomes: dict[str, int]
    duration_ns: int | None
