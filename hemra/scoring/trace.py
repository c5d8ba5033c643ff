"""The trace: what a verifier is told of a trial, made from the trial's events and from nothing else.

    task          id                          instruction   as it was given to the harness
    values, seed  drawn at preparation        outcome       how the trial ended ("unknown" when not known)
    messages      [{"role", "text"}]          final         text of the final answer, or null; of very long
                  texts beginning and end only
                  Of side calls (a title, say) nothing, where the trial has turns beside them
    tools_recorded  whether this harness tells which tools it calls
    tool_calls    [{"call", "name", "tool", "arguments", "ok", "result", "turn"}]
                  `tool` is the canonical name; a call that was never answered has ok and result null
                  and `called_s`, `returned_s` are seconds since the trial's start, or null
    services      {"web": [{"method", "path", "status", "time_s"}]}: what each service of the trial was asked
    exit_code     of the harness process      home, workspace   paths as the harness saw them, or null

Only the newest try of the trial counts: `trial.started` begins it anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from eventlog.envelope import Event
from hemra.datasets.toolnames import ToolNames
from hemra.services import SERVICE_ASKED

UNKNOWN = "unknown"
#: Of a longer message a verifier gets this many characters of its beginning and of its end. Else a harness could keep
#: itself from being scored with an answer that no verifier reads through in its time.
KEPT_CHARS = 256 * 1024


def build_trace(
    events: Iterable[Event],
    resolve: Callable[[Any], Any],
    *,
    tools_recorded: bool | None = None,
    outcome: str | None = None,
) -> dict[str, Any]:
    """The trace of one trial, as JSON: texts, numbers, lists and dicts only.

    `resolve` replaces blob references inside an event's data by their content. `tools_recorded` is what
    is known of the harness; null infers it from whether there is any tool event. `outcome` stands in
    where the trial has no `trial.finished` yet (scoring comes before it).
    """
    reader = _Reader()
    for event in events:
        take = _TAKE.get(event.type)
        if take is not None:
            reader.mono = event.mono
            take(reader, plain_json(resolve(event.data)))
    trace = reader.trace
    trace["messages"] = reader.conversation()
    trace["outcome"] = trace["outcome"] or outcome or UNKNOWN
    trace["final"] = reader.final if reader.final is not None else _last_said(trace["messages"])
    trace["tools_recorded"] = bool(reader.tool_events) if tools_recorded is None else tools_recorded
    return trace


class _Reader:
    """Collects one trial's events; `trial.started` begins a new try and forgets the one before."""

    def __init__(self) -> None:
        self.trace: dict[str, Any] = {}
        self.queued: dict[str, Any] = {}
        self.mono = 0
        self.begin({})

    def begin(self, started: dict[str, Any]) -> None:
        self.final: str | None = None
        self.began = self.mono
        self.tool_events = 0
        self.names = ToolNames(started.get("mcp_servers") or ())
        self.calls: dict[str, dict[str, Any]] = {}
        self.messages: list[tuple[str | None, dict[str, str]]] = []
        self.turns: set[str] = set()
        self.asides: set[str] = set()
        self.trace = {
            "task": started.get("task") or self.queued.get("task"),
            "instruction": started.get("instruction", ""),
            "values": started.get("values") or {},
            "seed": started.get("seed", self.queued.get("seed")),
            "tool_calls": [],
            "services": {},
            "exit_code": None,
            "outcome": None,
            "home": None,
            "workspace": None,
        }

    def queue(self, data: dict[str, Any]) -> None:
        self.queued = data
        self.begin({})

    def sandbox(self, data: dict[str, Any]) -> None:
        self.trace.update(home=data["home"], workspace=data["workspace"])

    def message(self, data: dict[str, Any]) -> None:
        text = bounded(as_text(data["text"]))
        self.messages.append((data.get("call"), {"role": data["role"], "text": text}))
        if data.get("final"):
            self.final = text

    def requested(self, data: dict[str, Any]) -> None:
        # An agent that is made to come to an end is asked without tools, after all that was said: that is its answer.
        goes_on = data.get("auxiliary") == "no_tools" and bool(data.get("known"))
        turn = data.get("auxiliary") is None or goes_on
        (self.turns if turn else self.asides).add(data.get("call") or "")

    def conversation(self) -> list[dict[str, str]]:
        """The messages. What side calls brought is no word of the agent; where the gateway took all calls for such, it
        is all there is."""
        left_out = self.asides if self.turns else set()
        return [message for call, message in self.messages if call not in left_out]

    def called(self, data: dict[str, Any]) -> None:
        self.tool_events += 1
        call = {
            "call": data["call"],
            "name": data["name"],
            "tool": self.names.canonical(data["name"]),
            "arguments": data["arguments"],
            "ok": None,
            "result": None,
            "turn": data.get("turn"),
            "called_s": self.elapsed(),
            "returned_s": None,
        }
        self.trace["tool_calls"].append(call)
        self.calls[data["call"]] = call

    def returned(self, data: dict[str, Any]) -> None:
        self.tool_events += 1
        # An answer to a call that was never made proves nothing: it stays out of the trace.
        call = self.calls.pop(data["call"], None)
        if call is not None:
            call.update(ok=data["ok"], result=data["result"], returned_s=self.elapsed())

    def elapsed(self) -> float:
        """Seconds from the start of the try to the event that is being taken."""
        return (self.mono - self.began) / 1e9

    def noted(self, data: dict[str, Any]) -> None:
        if data["code"] == SERVICE_ASKED:
            self.trace["services"][data["details"]["service"]] = data["details"]["requests"]

    def exited(self, data: dict[str, Any]) -> None:
        self.trace["exit_code"] = data["exit_code"]

    def finished(self, data: dict[str, Any]) -> None:
        self.trace["outcome"] = data["outcome"]


_TAKE: dict[str, Callable[[_Reader, dict[str, Any]], None]] = {
    "trial.queued": _Reader.queue,
    "trial.started": _Reader.begin,
    "sandbox.created": _Reader.sandbox,
    "message.recorded": _Reader.message,
    "model.requested": _Reader.requested,
    "tool.called": _Reader.called,
    "tool.returned": _Reader.returned,
    "note.recorded": _Reader.noted,
    "harness.exited": _Reader.exited,
    "trial.finished": _Reader.finished,
}


def _last_said(messages: list[dict[str, str]]) -> str | None:
    """The last assistant message with text, where no message was marked as the final one."""
    said = (message["text"] for message in reversed(messages) if message["role"] == "assistant")
    return next((text for text in said if text.strip()), None)


def as_text(value: Any) -> str:
    """The text of a message of any shape: text, a list of parts, or a part with `text` or `content`."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(text for text in map(as_text, value) if text)
    if isinstance(value, dict):
        return as_text(value.get("text", value.get("content")))
    return "" if value is None else str(value)


def bounded(text: str) -> str:
    """A text of at most about twice KEPT_CHARS: what is left out of its middle is said there."""
    left_out = len(text) - 2 * KEPT_CHARS
    if left_out <= 0:
        return text
    return f"{text[:KEPT_CHARS]}\n[… {left_out} characters left out …]\n{text[-KEPT_CHARS:]}"


def plain_json(value: Any) -> Any:
    """`value` as JSON can hold it: bytes become text (what is not UTF-8 as lone surrogates), NaN null."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, dict):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
