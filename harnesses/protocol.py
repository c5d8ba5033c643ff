"""The kind `protocol`: a program that takes its task as one JSON object and answers in lines of JSON.

docs/harness-protocol.md describes it from the program's side. Reading is lenient: whatever cannot be
understood is kept as it came and counted, and never stops the reading of the rest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import (
    MessageRecorded,
    ModelResponded,
    NoteRecorded,
    ToolCalled,
    ToolReturned,
)
from harnesses.base import Conclusion, Launch, TrialInput
from harnesses.described import DescribedHarness
from harnesses.lines import Line, LineSplitter, is_deeper, parse_object
from harnesses.usage import UsageSum, read_usage

PROTOCOL = "hemra/1"
SDK = "hemra_protocol.py"
#: What reference solutions and checks of tasks get besides.
TOOLS = "hemra_tools.py"
KEPT_LINES = 1000  # not understood lines that become events; all of them are in the recorded output
KEPT_BYTES = 1024 * 1024
REASON_CHARS = 500  # of an error's text in the trial's reason; the note has all of it
DEPTH = 64  # deeper values are recorded as their JSON text, which every reader of the log can take
#: What an `error` line says by its `kind`: the outcome of a trial that has no `final`.
ERRORS = {
    "auth": "auth_error",
    "quota": "quota_error",
    "provider": "provider_error",
    "harness": "harness_error",
}
LEVELS = {"debug": "info", "info": "info", "warning": "warning", "warn": "warning", "error": "error"}


@cache
def sdk_source(name: str = SDK) -> bytes:
    """A file of the Python SDK; the protocol is a single one that needs nothing else."""
    return files("harnesses.sdk").joinpath(name).read_bytes()


def task_object(
    trial: TrialInput, *, model: str | None = None, settings: dict[str, Any] | None = None
) -> bytes:
    """The task as a protocol program reads it from stdin: one JSON object, ASCII, one line."""
    told = {
        "protocol": PROTOCOL,
        "run": trial.run,
        "trial": trial.trial,
        "task": trial.task,
        "instruction": trial.instruction,
        "workspace": trial.workspace,
        "home": trial.home,
        "seed": trial.seed,
        "attempt": trial.attempt,
        "limits": msgspec.to_builtins(trial.limits),
        "allowed_tools": trial.allowed_tools,
        "forbidden_tools": trial.forbidden_tools,
        "model": model,
        "settings": settings or {},
    }
    if trial.solution_dir is not None:
        told["solution_dir"] = trial.solution_dir
    return json.dumps(told).encode("ascii") + b"\n"


def protocol_launch(argv: list[str], environment: dict[str, str], task: bytes, harness_dir: str) -> Launch:
    """How a protocol program is started: the task on stdin, the SDK where Python finds it."""
    return Launch(
        argv=argv,
        env={"PYTHONPATH": harness_dir, **environment},
        stdin=task,
        files={SDK: sdk_source()},
        prompt="stdin",
    )


def solution_launch(program: str, trial: TrialInput) -> Launch:
    """How a task's own program, a solution or a check, is started: the SDK has the tools for it too."""
    launch = protocol_launch([sys.executable, program], {}, task_object(trial), trial.harness_dir)
    launch.files[TOOLS] = sdk_source(TOOLS)
    return launch


class ProtocolHarness(DescribedHarness):
    """A program that speaks the harness protocol."""

    records_tools = True

    def launch(self, trial: TrialInput) -> Launch:
        """Its command with the task on stdin. Raises LaunchError."""
        task = task_object(trial, model=self.file.model, settings=self.file.settings)
        return protocol_launch(self.argv(trial), self.environment(trial), task, trial.harness_dir)

    def interpreter(self) -> ProtocolInterpreter:
        """A new reader for one process."""
        return ProtocolInterpreter()


class ProtocolInterpreter:
    """Reads the lines of one protocol program."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._tools: dict[str, str] = {}
        self._usage = UsageSum()
        self._error: tuple[str, str] | None = None
        self._final: str | None = None
        self._last_message: str | None = None
        self._hello = False
        self._number = 0
        self._recognised = 0
        self._unrecognised = 0
        self._flags: list[str] = []
        self.ended = False
        self._readers: dict[str, Callable[[dict[str, Any]], EventData | None]] = {
            "hello": self._read_hello,
            "message": self._read_message,
            "tool_call": self._read_call,
            "tool_result": self._read_result,
            "usage": self._read_usage,
            "log": self._read_log,
            "error": self._read_error,
            "final": self._read_final,
        }

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """The events of the lines that this chunk completes; stderr is free text and gives none."""
        if stream != "stdout":
            return []
        return [event for line in self._lines.feed(chunk) for event in self._read(line)]

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """The last line, newline or not, and what to make of the whole."""
        rest = self._lines.rest()
        events = self._read(rest) if rest is not None else []
        outcome, reason = self._judge(exit_code, exit_signal)
        if exit_code:
            self._flag("nonzero_exit")
        text = self._final or self._last_message
        if self.ended and not text:
            self._flag("no_output")
        for name in self._usage.flags():
            self._flag(name)
        return events, Conclusion(
            outcome=outcome,
            reason=reason,
            final_text=text or None,
            usage=self._usage.total,
            recognised=self._recognised,
            unrecognised=self._unrecognised,
            flags=self._flags,
        )

    def _judge(self, exit_code: int | None, exit_signal: int | None) -> tuple[str | None, str | None]:
        if not self._hello:
            self._flag("no_hello")
        if self.ended:
            return None, None
        self._flag("incomplete_stream")
        if self._error is not None:
            return self._error
        if exit_signal is not None:
            return "harness_error", f"it was ended by signal {exit_signal} before its final line"
        if exit_code:
            return "harness_error", f"it exited with {exit_code} before its final line"
        if self._recognised:
            return None, None
        if self._unrecognised:
            self._flag("adapter_mismatch")
            return "unknown", f"none of its {self._unrecognised} lines is of the protocol {PROTOCOL}"
        self._flag("no_output")
        return "unknown", "it printed nothing"

    def _flag(self, name: str) -> None:
        if name not in self._flags:
            self._flags.append(name)

    def _read(self, line: Line) -> list[EventData]:
        self._number += 1
        if not line.content.strip():
            return []
        if line.too_long:
            self._flag("line_too_long")
        told = parse_object(line)
        kind = told.get("type") if told is not None else None
        reader = self._readers.get(kind) if isinstance(kind, str) else None
        event = reader(self._shallow(told)) if reader is not None and told is not None else None
        if event is not None:
            self._recognised += 1
            return [event]
        self._unrecognised += 1
        self._flag("unknown_lines")
        return [self._kept(line)] if self._unrecognised <= KEPT_LINES else []

    def _kept(self, line: Line) -> NoteRecorded:
        text = line.text if line.size <= KEPT_BYTES else line.content[:KEPT_BYTES].decode("utf-8", "ignore")
        details = {"line": self._number, "bytes": line.size, "whole": line.whole and line.size <= KEPT_BYTES}
        return NoteRecorded(level="info", code="harness_raw", text=text, details=details)

    def _shallow(self, told: dict[str, Any]) -> dict[str, Any]:
        if not is_deeper(told, DEPTH):
            return told
        self._flag("deep_nesting")
        return {key: as_text(value) if is_deeper(value, DEPTH - 1) else value for key, value in told.items()}

    def _read_hello(self, told: dict[str, Any]) -> EventData:
        self._hello = True
        if told.get("protocol") != PROTOCOL:
            self._flag("other_protocol")
        words = [str(told[key]) for key in ("name", "version") if told.get(key) is not None]
        details = {key: value for key, value in told.items() if key != "type"}
        return NoteRecorded(level="info", code="harness_hello", text=" ".join(words), details=details)

    def _read_message(self, told: dict[str, Any]) -> EventData | None:
        role, text = told.get("role", "assistant"), told.get("text")
        if not isinstance(role, str) or text is None:
            return None
        if role == "assistant" and isinstance(text, str) and text:
            self._last_message = text
        return MessageRecorded(role=role, text=text, reasoning=told.get("reasoning"))

    def _read_call(self, told: dict[str, Any]) -> EventData | None:
        call, name, turn = identity(told.get("call")), told.get("name"), told.get("turn")
        if call is None or not isinstance(name, str):
            return None
        self._tools[call] = name
        usable = isinstance(turn, int) and not isinstance(turn, bool) and 0 <= turn < 2**53
        return ToolCalled(
            call=call, name=name, arguments=told.get("arguments"), turn=turn if usable else None
        )

    def _read_result(self, told: dict[str, Any]) -> EventData | None:
        call, ok = identity(told.get("call")), told.get("ok")
        if call is None:
            return None
        return ToolReturned(
            call=call,
            name=self._tools.pop(call, None),
            ok=ok if isinstance(ok, bool) else None,
            result=told.get("result"),
        )

    def _read_usage(self, told: dict[str, Any]) -> EventData | None:
        usage, sound = read_usage(told)
        if not sound:
            self._flag("bad_usage")
        if usage is not None or not sound:
            self._usage.add(usage)
        if usage is None:
            return None
        model = told.get("model")
        raw = {key: value for key, value in told.items() if key != "type"}
        return ModelResponded(model=model if isinstance(model, str) else None, usage=usage, raw=raw)

    def _read_log(self, told: dict[str, Any]) -> EventData | None:
        text, level = told.get("text"), str(told.get("level", "info")).lower()
        if not isinstance(text, str):
            return None
        return NoteRecorded(level=LEVELS.get(level, "info"), code="harness_log", text=text)

    def _read_error(self, told: dict[str, Any]) -> EventData | None:
        kind, text = told.get("kind"), told.get("text")
        if not isinstance(kind, str) or kind not in ERRORS or not isinstance(text, str):
            return None
        self._error = (
            ERRORS[kind],
            " ".join(text.split())[:REASON_CHARS] or f"it told an error of kind {kind}",
        )
        return NoteRecorded(level="error", code="harness_error", text=text, details={"kind": kind})

    def _read_final(self, told: dict[str, Any]) -> EventData | None:
        text = told.get("text")
        if self.ended:
            self._flag("several_finals")
        self.ended = True
        self._final = text if isinstance(text, str) else "" if text is None else as_text(text)
        return MessageRecorded(role="assistant", text=self._final, final=True)


def identity(value: Any) -> str | None:
    """A call's id as text; programs number their calls as often as they name them."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None


def as_text(value: Any) -> str:
    """The JSON text of a value."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "(nested too deeply to be recorded; the line is in the artifact stdout)"
