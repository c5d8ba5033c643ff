"""What a task and a dataset are: the fields of `task.yaml` and `suite.yaml`, and what loading adds."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from eventlog.schemas.runs import Limits

MIB = 1024 * 1024

Count = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=7 * 24 * 3600)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Tools = tuple[Text, ...]


class TaskLimits(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Limits of one trial of the task; null = none. `_mb` counts MiB (1024 * 1024 bytes)."""

    wall_seconds: Seconds | None = None
    turns: Count | None = None
    tokens: Count | None = None
    memory_mb: Count | None = None
    processes: Count | None = None
    file_size_mb: Count | None = None
    workspace_mb: Count | None = None
    output_mb: Count | None = None

    def as_limits(self) -> Limits:
        """The same limits in the units of the event log (seconds, bytes, counts)."""

        def in_bytes(mib: int | None) -> int | None:
            return None if mib is None else mib * MIB

        return Limits(
            wall_seconds=self.wall_seconds,
            output_bytes=in_bytes(self.output_mb),
            memory_bytes=in_bytes(self.memory_mb),
            processes=self.processes,
            file_bytes=in_bytes(self.file_size_mb),
            workspace_bytes=in_bytes(self.workspace_mb),
            turns=self.turns,
            tokens=self.tokens,
        )


class Sampling(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How the model is to decode; null = the harness's own choice."""

    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    top_k: Count | None = None
    seed: int | None = None


class VerifierSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How `verifier.py` is run."""

    timeout_seconds: Seconds = 30.0


class TaskSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The content of `task.yaml`.

    `absent_files` are paths that the instruction names although they are not there at the start (they
    may hold placeholders); that they are absent is checked at every preparation.
    """

    id: Text
    version: Count
    title: Text
    difficulty: Literal[1, 2, 3]
    tags: Tools = ()
    allowed_tools: Tools = ()
    forbidden_tools: Tools = ()
    absent_files: Tools = ()
    network: Literal["none", "mock", "full"] = "none"
    limits: TaskLimits = TaskLimits()
    sampling: Sampling = Sampling()
    verifier: VerifierSpec = VerifierSpec()


class SuiteSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The content of `suite.yaml` at the root of a tree of tasks."""

    name: Text
    title: str = ""


@dataclass(frozen=True)
class Task:
    """One task as it lies on disk.

    `files` maps every path that counts to its SHA-256 (64 hex digits, then `+x` for an executable
    file). `digest` covers all of them, `scorer_digest` the verifier alone.
    """

    id: str
    path: Path
    spec: TaskSpec
    digest: str
    scorer_digest: str
    files: dict[str, str]

    @property
    def category(self) -> str:
        """The id without its last component; empty where there is none."""
        return self.id.rpartition("/")[0]


@dataclass(frozen=True)
class Dataset:
    """Tasks in the order of their ids. `source` is `bundled` or the absolute path of the folder."""

    name: str
    root: Path
    tasks: tuple[Task, ...]
    digest: str
    source: str

    @property
    def remedy(self) -> str:
        """The command that pins the content as it is now."""
        ref = self.name if self.source == BUNDLED else self.source
        return f"hemra dataset pin {shlex.quote(ref)}"


BUNDLED = "bundled"
