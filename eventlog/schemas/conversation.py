"""Events of the conversation, the terminal, telemetry and results."""

from __future__ import annotations

from typing import Any

from eventlog.schemas.base import EventData, event
from eventlog.schemas.trials import Usage


@event("message.recorded")
class MessageRecorded(EventData, frozen=True, kw_only=True):
    """One message of the conversation, recorded once. `role`: system, user, assistant or tool."""

    role: str
    text: Any
    reasoning: Any = None
    final: bool = False


@event("tool.called")
class ToolCalled(EventData, frozen=True, kw_only=True):
    """The harness called a tool. `call` joins it to its `tool.returned`; `turn` counts assistant turns from 1."""

    call: str
    name: str
    arguments: Any
    turn: int | None = None


@event("tool.returned")
class ToolReturned(EventData, frozen=True, kw_only=True):
    """What the tool gave back. `ok` is null where the harness does not say whether it worked."""

    call: str
    name: str | None
    ok: bool | None
    result: Any


@event("model.requested")
class ModelRequested(EventData, frozen=True, kw_only=True):
    """A request to a model."""

    model: str | None
    parameters: dict[str, Any]


@event("model.responded")
class ModelResponded(EventData, frozen=True, kw_only=True):
    """A model's answer, as far as the harness tells: usage in normal form, the raw object beside it."""

    model: str | None
    usage: Usage | None
    raw: Any = None
    finish_reason: str | None = None


@event("terminal.opened")
class TerminalOpened(EventData, frozen=True, kw_only=True):
    """The harness's output is being recorded. `kind`: `pipes` (stdout and stderr apart) or `pty`."""

    terminal: str
    kind: str
    cols: int | None = None
    rows: int | None = None


@event("terminal.output")
class TerminalOutput(EventData, frozen=True, kw_only=True):
    """Bytes as they came; `offset` is their position in that stream. Bytes that are not UTF-8 stay bytes."""

    terminal: str
    stream: str
    offset: int
    data: Any


@event("terminal.input")
class TerminalInput(EventData, frozen=True, kw_only=True):
    """Bytes written to the harness's input."""

    terminal: str
    data: Any


@event("terminal.resized")
class TerminalResized(EventData, frozen=True, kw_only=True):
    """The terminal's size changed."""

    terminal: str
    cols: int
    rows: int


@event("terminal.closed")
class TerminalClosed(EventData, frozen=True, kw_only=True):
    """The recording ended. What exceeds `recorded_bytes` is only in the artifacts `stdout` and `stderr`."""

    terminal: str
    stdout_bytes: int
    stderr_bytes: int
    recorded_bytes: int


@event("telemetry.sampled")
class TelemetrySampled(EventData, frozen=True, kw_only=True):
    """Use of the trial's processes at one instant; null where it could not be read."""

    processes: int | None
    rss_bytes: int | None
    cpu_ns: int | None


@event("telemetry.warned")
class TelemetryWarned(EventData, frozen=True, kw_only=True):
    """Something could not be measured; said once per source."""

    what: str
    detail: str


@event("score.recorded")
class ScoreRecorded(EventData, frozen=True, kw_only=True):
    """The scorer's word: PASS, FAIL, SKIPPED or VERIFIER_ERROR; `score` in [0, 1] or null."""

    try_no: int
    reward_name: str
    status: str
    score: float | None
    reason: str
    details: Any
    scorer_digest: str
    duration_ns: int


@event("judge.recorded")
class JudgeRecorded(EventData, frozen=True, kw_only=True):
    """A model's or a person's opinion; never the reward."""

    judge: str
    verdict: str
    score: float | None
    reason: str
    details: Any = None


@event("artifact.stored")
class ArtifactStored(EventData, frozen=True, kw_only=True):
    """Bytes kept beside the log, content-addressed. `blob` is `sha256:<hex>`."""

    name: str
    blob: str
    size: int
    media: str | None = None


@event("note.recorded")
class NoteRecorded(EventData, frozen=True, kw_only=True):
    """A remark of the product or of a person. `level`: info, warning or error."""

    level: str
    code: str
    text: str
    details: Any = None
