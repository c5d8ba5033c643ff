"""What a user asks for: one run, before anything was looked up."""

from __future__ import annotations

from dataclasses import dataclass, field

from eventlog.schemas.runs import Limits

#: What becomes of a request that a cassette does not have: it is refused, or it goes on to the model.
MISS_ERROR, MISS_UPSTREAM = "error", "upstream"


@dataclass(frozen=True)
class RunRequest:
    """A run as it is asked for on the command line or in a run file.

    `dataset` is a bundled or pinned name, or a folder; `harnesses` are built-in names or harness
    files; `tasks` are globs on task ids (none = all). `sandbox` is `KIND[:OPTION]`, or `auto` for the strongest that
    works here, unless a task has its own; `network` none, gateway or full, null = as harnesses and tasks ask.
    `limits` override those of the tasks, field by
    field; null leaves the task's own.

    `record_cassette` keeps the bodies of model calls. `cassette` is RUN or RUN/TRIAL with the run's whole id, whose
    answers are given in the models' place, `cassette_miss` (error, upstream; null = error) what becomes of a request
    that was not recorded. `prices` is a price table's file; null = the user's own, else the bundled one.
    """

    dataset: str
    harnesses: list[str]
    tasks: list[str] = field(default_factory=list)
    attempts: int = 1
    jobs: int = 1
    sandbox: str = "host"
    name: str | None = None
    seed: int = 0
    retries: int = 1
    limits: Limits = field(default_factory=Limits)
    record_cassette: bool = False
    network: str | None = None
    cassette: str | None = None
    cassette_miss: str | None = None
    prices: str | None = None
