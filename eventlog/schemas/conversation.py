"""Events of the conversation, the terminal, telemetry and results."""

from __future__ import annotations

from typing import Any

import msgspec

from eventlog.schemas.base import EventData, event
from eventlog.schemas.trials import Usage


@event("message.recorded")
class MessageRecorded(EventData, frozen=True, kw_only=True):
    """One message of the conversation, recorded once. `role`: system, user, assistant or tool.

    What the model gateway saw has a `key`, the digest of the message's content (see `model.requested`), and names in
    `call` the model call that brought it: a request for what the harness said, its answer for an assistant's.
    """

    role: str
    text: Any
    reasoning: Any = None
    final: bool = False
    key: str | None = None
    call: str | None = None


@event("tool.called")
class ToolCalled(EventData, frozen=True, kw_only=True):
    """The harness called a tool. `call` joins it to its `tool.returned`; `turn` counts assistant turns from 1.

    `written` is the text of the arguments as the model wrote it, where it is not the JSON of `arguments`.
    """

    call: str
    name: str
    arguments: Any
    turn: int | None = None
    written: str | None = None


@event("tool.returned")
class ToolReturned(EventData, frozen=True, kw_only=True):
    """What the tool gave back. `ok` is null where the harness does not say whether it worked."""

    call: str
    name: str | None
    ok: bool | None
    result: Any


@event("model.requested")
class ModelRequested(EventData, frozen=True, kw_only=True):
    """A request to a model, as the gateway passed it on.

    - `call`: its id, joins it to its `model.responded`; `retry_of`: the failed call that it repeats
    - `dialect`: chat, responses, messages, or null where the path is none of theirs
    - `auxiliary`: why it is no turn of the conversation (`no_tools`, `other_model`, `probe`, `count_tokens`), or null
    - `parameters`: the body without model, messages and tools
    - `tools`: digest of the tools offered; their definitions are in `tools_offered`, once for every digest
    - `context`: digest of the whole conversation, a chain over the messages' keys; `messages`: how many they are;
      the first `known` of them were recorded before, the rest are `added`, by key, each with a `message.recorded`
    - `sampling`: what the task asked for, what was sent and what this dialect has no field for
    - `removed_tools`: tools taken out because the task forbids them; `delayed_ms`: how long it was held back
    - `bytes`, `digest`: size and SHA-256 of the body as it was sent on; `body`: the body as a blob, for cassettes
    """

    model: str | None
    parameters: dict[str, Any]
    call: str | None = None
    retry_of: str | None = None
    dialect: str | None = None
    method: str | None = None
    path: str | None = None
    stream: bool | None = None
    auxiliary: str | None = None
    tools: str | None = None
    tools_offered: Any = None
    context: str | None = None
    messages: int | None = None
    known: int | None = None
    added: list[str] = msgspec.field(default_factory=list)
    sampling: dict[str, Any] | None = None
    removed_tools: list[str] = msgspec.field(default_factory=list)
    delayed_ms: int | None = None
    bytes: int | None = None
    digest: str | None = None
    body: str | None = None


@event("model.responded")
class ModelResponded(EventData, frozen=True, kw_only=True):
    """A model's answer, as the gateway saw it or as far as the harness tells: usage in normal form, the raw object
    beside it.

    - `call`: the request that it answers; `model`: the one that answered; `response`: the provider's id
    - `message`: key of the assistant message that it brought; `calls`: ids of its tool calls (those of a side call have
      no `tool.called`)
    - `status`: HTTP status, null where there was no answer
    - `ended`: `complete`, `cut` (no finish reason), `disconnected` (the harness went away), `refused` (a budget or the
      loop guard), `unreachable`, `timeout`, `junk` (nothing that the dialect knows), `error` (told by the provider)
    - `error`: what the provider or the gateway said, as it came
    - times from the request's arrival in nanoseconds: first byte, first token and last token of the answer, its end
    - `bytes`, `digest`: size and SHA-256 of the body as the harness got it; `body`: the body as a blob, for cassettes,
      `headers` what of the answer's headers belongs to it
    - `replayed`: `<run>/<trial>/<call>` of the cassette that answered in the model's place; in brackets how the
      conversations are alike where they are not the same
    - `priced_usd`: cost by the price table `prices` (name, date); `usage.cost_usd` is what the provider told
    """

    model: str | None
    usage: Usage | None
    raw: Any = None
    finish_reason: str | None = None
    call: str | None = None
    response: str | None = None
    message: str | None = None
    calls: list[str] = msgspec.field(default_factory=list)
    status: int | None = None
    ended: str | None = None
    error: Any = None
    token_ids: Any = None
    prompt_token_ids: Any = None
    logprobs: Any = None
    first_byte_ns: int | None = None
    first_token_ns: int | None = None
    last_token_ns: int | None = None
    duration_ns: int | None = None
    bytes: int | None = None
    digest: str | None = None
    body: str | None = None
    headers: dict[str, str] | None = None
    replayed: str | None = None
    priced_usd: float | None = None
    prices: str | None = None


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
    """The terminal's size changed. No release writes it yet."""

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
    """Something could not be measured; said once per source. No release writes it yet: samples have null there."""

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
    """A model's or a person's opinion; never the reward. No release writes it yet."""

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
