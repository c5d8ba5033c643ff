"""The kind `protocol`: a program that takes its task as one JSON object and answers in lines of JSON.

docs/harness-protocol.md describes it from the program's side. Reading is lenient: whatever cannot be
understood is kept as it came and counted, and never stops the reading of the rest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
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
from harnesses import mcp
from harnesses.base import Conclusion, HarnessTraits, Launch, TrialInput
from harnesses.described import DescribedHarness
from harnesses.line_reader import DEPTH, LineReader, Reader, as_text
from harnesses.usage import UsageSum, read_usage

PROTOCOL = "hemra/1"
NAMELESS = "a program that does not say its name"
SDK = "hemra_protocol.py"
#: What reference solutions and checks of tasks get besides.
TOOLS = "hemra_tools.py"
REASON_CHARS = 500  # of an error's text in the trial's reason; the note has all of it
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
        "mcp_servers": mcp.told(trial.mcp_servers),
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

    @property
    def traits(self) -> HarnessTraits:
        """What its file says of it; any server can stand in the task that it is given."""
        return replace(super().traits, mcp_transports=mcp.TRANSPORTS)

    def launch(self, trial: TrialInput) -> Launch:
        """Its command with the task on stdin. Raises LaunchError."""
        task = task_object(trial, model=self.file.model, settings=self.file.settings)
        launch = protocol_launch(self.argv(trial), self.environment(trial), task, trial.harness_dir)
        launch.files.update(self.mcp_file(trial.mcp_servers))
        return launch

    def interpreter(self) -> ProtocolInterpreter:
        """A new reader for one process."""
        return ProtocolInterpreter()


class ProtocolInterpreter(LineReader):
    """Reads the lines of one protocol program."""

    KEPT_LINES, KEPT_BYTES = 1000, 1024 * 1024

    def __init__(self) -> None:
        readers = {
            "hello": self._read_hello,
            "message": self._read_message,
            "tool_call": self._read_call,
            "tool_result": self._read_result,
            "usage": self._read_usage,
            "log": self._read_log,
            "error": self._read_error,
            "final": self._read_final,
        }
        super().__init__({kind: self._one(reader) for kind, reader in readers.items()})
        self._tools: dict[str, str] = {}
        self._usage = UsageSum()
        self._error: tuple[str, str] | None = None
        self._final: str | None = None
        self._last_message: str | None = None
        self._hello = False
        self.ended = False

    def _one(self, reader: Callable[[dict[str, Any]], EventData | None]) -> Reader:
        """The reader of a kind: it is given no value that is nested too deeply, and every line is one event."""

        def read(told: dict[str, Any]) -> list[EventData] | None:
            event = reader({key: self.shallow(value, DEPTH - 1) for key, value in told.items()})
            return None if event is None else [event]

        return read

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """The last line, newline or not, and what to make of the whole."""
        events = self.last_line()
        outcome, reason = self._judge(exit_code, exit_signal)
        if exit_code:
            self.flag("nonzero_exit")
        text = self._final or self._last_message
        if self.ended and not text:
            self.flag("no_output")
        for name in self._usage.flags():
            self.flag(name)
        return events, Conclusion(
            outcome=outcome,
            reason=reason,
            final_text=text or None,
            usage=self._usage.total,
            recognised=self.recognised,
            unrecognised=self.unrecognised,
            flags=self.flags,
        )

    def _judge(self, exit_code: int | None, exit_signal: int | None) -> tuple[str | None, str | None]:
        if not self._hello:
            self.flag("no_hello")
        if self.ended:
            return None, None
        self.flag("incomplete_stream")
        if self._error is not None:
            return self._error
        if exit_signal is not None:
            return "harness_error", f"it was ended by signal {exit_signal} before its final line"
        if exit_code:
            return "harness_error", f"it exited with {exit_code} before its final line"
        if self.recognised:
            return None, None
        if self.unrecognised:
            self.flag("adapter_mismatch")
            return "unknown", f"none of its {self.unrecognised} lines is of the protocol {PROTOCOL}"
        self.flag("no_output")
        return "unknown", "it printed nothing"

    def _read_hello(self, told: dict[str, Any]) -> EventData:
        self._hello = True
        if told.get("protocol") != PROTOCOL:
            self.flag("other_protocol")
        words = [str(told[key]) for key in ("name", "version") if told.get(key) is not None]
        details = {key: value for key, value in told.items() if key != "type"}
        return NoteRecorded(
            level="info", code="harness_hello", text=" ".join(words) or NAMELESS, details=details
        )

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
            self.flag("bad_usage")
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
            self.flag("several_finals")
        self.ended = True
        self._final = text if isinstance(text, str) else "" if text is None else as_text(text)
        return MessageRecorded(role="assistant", text=self._final, final=True)


def identity(value: Any) -> str | None:
    """A call's id as text; programs number their calls as often as they name them."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None
