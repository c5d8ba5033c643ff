"""Recorded runs with the bodies of their calls, written without a model: for tests of cassettes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from eventlog.schemas import trials as t
from eventlog.store import Store
from eventlog.stream import StreamWriter
from tests.projections.synthetic_runs import SECOND, START, SyntheticRun, new_store

WORKSPACE = "/tmp/hemra-0/20261130-194512-aa0001/0001.1/workspace"


def chat(*messages: Any, **fields: Any) -> dict[str, Any]:
    """A request in the chat dialect: a text is the user's, a pair is (role, text)."""
    said = []
    for message in messages:
        if isinstance(message, dict):
            said.append(message)
        else:
            role, text = ("user", message) if isinstance(message, str) else message
            said.append({"role": role, "content": text})
    return {"model": "m", "messages": said, **fields}


def called(call: str, command: str, result: str) -> list[dict[str, Any]]:
    """An assistant's message that calls a tool, and its result."""
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call, "content": result},
    ]


def answered(text: str) -> dict[str, Any]:
    """A whole answer in the chat dialect."""
    message = {"role": "assistant", "content": text}
    return {"id": "r", "model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


class Recording(SyntheticRun):
    """A recorded run. `context` of a call is what the test says: by default none that any request has."""

    def __init__(self, path: Path, run: str = "20261130-194512-aa0001", **more: Any) -> None:
        super().__init__(
            new_store(path),
            run,
            **({"tasks": ("t/a",), "harnesses": ("alpha",), "served": ("alpha",)} | more),
        )
        self.begin()
        self.finished = False

    @classmethod
    def going_on(cls, store: Store, run: str) -> Recording:
        """More of a run that was planned and queued by somebody else."""
        made = cls.__new__(cls)
        made.store, made.run, made.wall, made.mono = store, run, START, SECOND
        made._lines, made._producer, made._number = [], os.urandom(16), 1
        made.writer = StreamWriter.open(store, run)
        return made

    def event_places(self, workspace: str, home: str) -> None:
        """A sandbox of the running try with these folders."""
        self.event(
            t.SandboxCreated(
                try_no=1, kind="host", workspace=workspace, home=home, environment=[], enforcement={}
            ),
            "0001",
        )

    def keep(self, body: Any) -> str:
        """A body as a blob."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.store.blobs.put(content).digest

    def record(
        self, trial: str, call: str, request: Any, answer: Any, *, context: str | None = None,
        asked: dict[str, Any] | None = None, **fields: Any,
    ) -> None:  # fmt: skip
        """A call with both its bodies; null for an answer that was not kept."""
        known = {"context": context, "stream": False, "body": self.keep(request)}
        body = {} if answer is None else {"body": self.keep(answer)}
        self.call(trial, call, asked=known | (asked or {}), **(body | fields))
