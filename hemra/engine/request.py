"""What a user asks for: one run, before anything was looked up."""

from __future__ import annotations

from dataclasses import dataclass, field

from eventlog.schemas.runs import Limits


@dataclass(frozen=True)
class RunRequest:
    """A run as it is asked for on the command line or in a run file.

    `dataset` is a bundled or pinned name, or a folder; `harnesses` are built-in names or harness
    files; `tasks` are globs on task ids (none = all). `sandbox` is `KIND[:OPTION]`, or `auto` for the strongest that
    works here, unless a task has its own. `limits` override those of the tasks, field by
    field; null leaves the task's own.
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
