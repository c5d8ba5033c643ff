"""What a task and a dataset are: the fields of `task.yaml` and `suite.yaml`, and what loading adds."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from eventlog.schemas.runs import Limits

MIB = 1024 * 1024

#: What readers of JSON that keep numbers as doubles have exactly.
MOST = (1 << 53) - 1
Count = Annotated[int, msgspec.Meta(ge=1, le=MOST)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=7 * 24 * 3600)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Tools = tuple[Text, ...]
#: Pattern of a text -> what it allows, in words.
ALLOWED: dict[str, str] = {}


def _in_words(pattern: str, words: str, **more: Any) -> msgspec.Meta:
    ALLOWED[pattern] = words
    return msgspec.Meta(pattern=pattern, description=words, **more)


Name = Annotated[str, _in_words(r"^[A-Za-z_][A-Za-z0-9_]*$", "letters, digits and _, not a digit first")]
#: A relative path in the task's folder; a slash at its end changes nothing.
PathInTask = Annotated[
    str,
    _in_words(
        r"^[\w-][\w.-]*(?:/[\w-][\w.-]*)*/?$",
        "a path below the task's folder, such as mcp/server.py",
        max_length=200,
    ),
]
#: What stands for a value of the trial in texts of a task.
PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
Kibibytes = Annotated[int, msgspec.Meta(ge=1, le=1 << 40)]
Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=600_000)]
#: Harnesses put it into the names of the server's tools.
ServerName = Annotated[
    str,
    _in_words(
        r"^[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*$",
        "letters and digits, parted by single _ or -, a letter first",
        max_length=32,
    ),
]


class TaskLimits(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Limits of one trial of the task; null = none. `_mb` counts MiB (1024 * 1024 bytes)."""

    wall_seconds: Seconds | None = None
    turns: Count | None = None
    tokens: Count | None = None
    calls: Count | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: Seconds | None = None
    memory_mb: Count | None = None
    processes: Count | None = None
    file_size_mb: Count | None = None
    workspace_mb: Count | None = None
    output_mb: Count | None = None
    cpu_seconds: Seconds | None = None
    cpus: Seconds | None = None

    def as_limits(self) -> Limits:
        """The same limits in the units of the event log (seconds, bytes, counts)."""

        def in_bytes(mib: int | None) -> int | None:
            return None if mib is None else mib * MIB

        return Limits(
            wall_seconds=self.wall_seconds,
            cpu_seconds=self.cpu_seconds,
            cpus=self.cpus,
            output_bytes=in_bytes(self.output_mb),
            memory_bytes=in_bytes(self.memory_mb),
            processes=self.processes,
            file_bytes=in_bytes(self.file_size_mb),
            workspace_bytes=in_bytes(self.workspace_mb),
            turns=self.turns,
            tokens=self.tokens,
            calls=self.calls,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost_usd=self.cost_usd,
        )


class Sampling(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How the model is to decode; null = the harness's own choice."""

    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    top_k: Count | None = None
    seed: Annotated[int, msgspec.Meta(ge=-MOST, le=MOST)] | None = None


class VerifierSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How the verifier is run: `entry` is FILE:FUNCTION, the file a path in the task's folder."""

    entry: Annotated[str, msgspec.Meta(pattern=r"^(?:[\w-]+/)*[\w-]+\.py:[A-Za-z_]\w*$")] = (
        "verifier.py:verify"
    )
    timeout_seconds: Seconds = 30.0

    @property
    def file(self) -> str:
        """The file of `entry`."""
        return self.entry.partition(":")[0]


class WebService(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The mock web of a trial: a folder of the task with pages and, if any, `routes.yaml`."""

    corpus: PathInTask = "web"


class Services(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What is started beside a trial for it alone."""

    web: WebService | None = None


class TaskMcpServer(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """An MCP server that the task brings: by the command that starts it (the harness does that, in the workspace, and
    speaks to it over stdio), or by the URL where it listens. Exactly one of the two.

    `files` is the folder of the task with what the command needs: words of it that name a file in there stand for its
    path in the trial. `args`, values of `env` and `headers`, and `url` may hold placeholders.
    """

    command: Text | None = None
    args: tuple[str, ...] = ()
    env: dict[Name, str] = {}
    files: PathInTask = "mcp"
    url: Text | None = None
    transport: Literal["http", "sse"] | None = None
    headers: dict[Text, str] = {}

    @property
    def words(self) -> tuple[str, ...]:
        """The command with its arguments; empty for a server at a URL."""
        return () if self.command is None else (self.command, *self.args)

    @property
    def over(self) -> str:
        """The transport: stdio, http or sse."""
        return "stdio" if self.url is None else self.transport or "http"

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything in it that may hold placeholders."""
        return (*self.args, *self.env.values(), *([self.url] if self.url else []), *self.headers.values())


class Variant(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One way in which the task is asked; the seed draws which. `values` go to prepare() by name."""

    name: Text
    values: dict[Name, Any]


class TaskSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The content of `task.yaml`.

    `instruction` is a file of the task's folder, `fixture` the folder that is copied into the workspace.
    `absent_files` are paths that the instruction names although they are not there at the start (they
    may hold placeholders); that they are absent is checked at every preparation. `allow_injection` names
    fixture files whose text may look like an instruction to the agent. `world` is a program of the task
    that is started in the sandbox before the harness. `quota_kb` names folders of the workspace that hold so many
    KiB and no more; they begin empty, and what is in them goes with the trial. `latency_ms` is asked of the
    harness for calls of a tool. `mcp_servers` are tools that the task brings, by the names of their servers.
    `sandbox` is where the task is to be run unless the run says otherwise, as `--sandbox` takes it.
    """

    id: Text
    version: Count
    title: Text
    difficulty: Literal[1, 2, 3]
    tags: Tools = ()
    allowed_tools: Tools = ()
    forbidden_tools: Tools = ()
    instruction: PathInTask = "instruction.md"
    fixture: PathInTask = "fixture"
    allow_injection: Tools = ()
    absent_files: Tools = ()
    world: PathInTask | None = None
    quota_kb: dict[PathInTask, Kibibytes] = {}
    services: Services = Services()
    mcp_servers: dict[ServerName, TaskMcpServer] = {}
    latency_ms: dict[Text, Milliseconds] = {}
    variants: tuple[Variant, ...] = ()
    network: Literal["none", "mock", "full"] = "none"
    sandbox: Text | None = None
    limits: TaskLimits = TaskLimits()
    sampling: Sampling = Sampling()
    verifier: VerifierSpec = VerifierSpec()


class SuiteSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The content of `suite.yaml` at the root of a tree of tasks."""

    name: Text
    title: str = ""


class SelectionSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The content of `_suites/NAME.yaml`: which tasks of the dataset are in the suite. A task is in it when it fits
    one entry of every list that is given, and none of `without`."""

    name: Text
    title: str = ""
    tasks: Tools = ()
    tags: Tools = ()
    difficulty: tuple[Literal[1, 2, 3], ...] = ()
    without: Tools = ()

    def selectors(self) -> list[str]:
        """The same as selectors (see `selection`)."""
        return [
            *self.tasks,
            *(f"tag:{tag}" for tag in self.tags),
            *(f"difficulty:{n}" for n in self.difficulty),
        ]


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
    def fixture(self) -> str:
        """The folder that is copied into the workspace, with a slash at its end."""
        return self.spec.fixture.rstrip("/") + "/"

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
