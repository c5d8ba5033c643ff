"""The model of a check: a script behind a loopback server that asks for one command, then answers, and remembers.

It is no model and no benchmark: it calls the harness's own shell once, to have it say a word, and then says that it
is done, in whichever dialect it is spoken to. What was asked is read as the model gateway reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from eventlog import clock
from eventlog.schemas.trials import Usage
from hemra.checking import answers
from hemra.datasets.toolnames import canonical
from hemra.gateway.dialects import of_path
from hemra.gateway.normal import Dialect, Request, Tool
from hemra.gateway.probes import local_answer
from hemra.sandboxes.base import Endpoint

WORD = "hemra-check"
INSTRUCTION = f"Run the command `echo {WORD}` once, then say what it printed."
DONE = f"The command printed: {WORD}"
#: mini-swe-agent goes on until a command prints this; what stands behind it is its answer.
_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
#: A harness that asks more often than this is told to stop.
_MOST_CALLS = 40
_PREFIX = re.compile(r"^/t/[^/]+(?=/)")
_BODY_BYTES = 64 << 20


@dataclass
class Call:
    """One request. `dialect` is null for what asks no model (`probe`); `answered` says with what."""

    at_ns: int
    method: str
    path: str
    status: int = 200
    dialect: str | None = None
    model: str | None = None
    stream: bool = False
    token: bool = False
    bytes: int = 0
    tools: dict[str, int] = field(default_factory=dict)
    answered: str = ""


class CheckModel:
    """The server. `calls` is what was asked so far; `carried_out` whether a tool's result said the word."""

    def __init__(self, token: str) -> None:
        self.calls: list[Call] = []
        self.carried_out = False
        self._token = token
        self._number = 0
        self._runner: web.AppRunner | None = None

    async def start(self) -> Endpoint:
        """Listen on a free port of 127.0.0.1."""
        app = web.Application(client_max_size=_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        return Endpoint("127.0.0.1", self._runner.addresses[0][1])

    async def close(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def asked(self) -> list[Call]:
        """The requests that asked a model for an answer."""
        return [call for call in self.calls if call.dialect is not None]

    @property
    def main(self) -> list[Call]:
        """Of these the harness's own: where any offers tools, the others (a title, a probe) are auxiliary."""
        with_tools = [call for call in self.asked if call.tools]
        return with_tools or self.asked

    @staticmethod
    def served(calls: list[Call]) -> Usage:
        """What was told to have been used in the answers to these calls."""
        count = sum(call.status == 200 for call in calls)
        return Usage(
            input_tokens=count * answers.INPUT_TOKENS, cache_read_tokens=count * answers.CACHED_TOKENS,
            output_tokens=count * answers.OUTPUT_TOKENS,
        )  # fmt: skip

    async def _serve(self, request: web.Request) -> web.Response:
        path = _PREFIX.sub("", request.path)
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        call = Call(clock.mono_ns(), request.method, request.path,
                    token=self._token in (given, request.headers.get("x-api-key")))  # fmt: skip
        self.calls.append(call)
        body = await request.read()
        call.bytes = len(body)
        dialect = of_path(path) if request.method == "POST" else None
        return self._probe(call, path) if dialect is None else self._answer(call, dialect, body)

    def _probe(self, call: Call, path: str) -> web.Response:
        if (local := local_answer(call.method, path)) is not None:
            call.status, call.answered = local.status, "as the gateway answers it"
            return web.Response(status=local.status, body=local.body, headers=local.headers)
        if path.endswith("/models"):
            call.answered = "the list of models"
            models = [{"id": answers.MODEL, "object": "model", "created": 1, "owned_by": "hemra"}]
            return web.json_response({"object": "list", "data": models})
        if path.endswith("/count_tokens"):
            call.answered = "a count"
            return web.json_response({"input_tokens": answers.INPUT_TOKENS})
        call.status, call.answered = 404, "not found"
        return web.json_response({"error": {"message": "not found", "type": "not_found"}}, status=404)

    def _answer(self, call: Call, dialect: Dialect, body: bytes) -> web.Response:
        try:
            told = json.loads(body)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            return self._refuse(call, dialect, "the body is no JSON object")
        asked = dialect.read(told)
        call.dialect, call.model, call.stream = dialect.name, asked.model, asked.stream
        call.tools = {tool.name: len(json.dumps(tool.definition)) for tool in asked.tools}
        if len(self.asked) > _MOST_CALLS:
            return self._refuse(call, dialect, f"more than {_MOST_CALLS} calls: stop")
        said = self._say(asked, body)
        call.answered = "text" if isinstance(said, str) else f"a call of {said[0]}"
        self._number += 1
        kind, content = answers.answer(dialect.name, self._number, said, stream=asked.stream)
        return web.Response(body=content, content_type=kind)

    def _refuse(self, call: Call, dialect: Dialect, why: str) -> web.Response:
        call.dialect, call.status, call.answered = dialect.name, 400, why
        content = dialect.error(400, "invalid_request_error", why)
        return web.Response(body=content, status=400, content_type="application/json")

    def _say(self, asked: Request, body: bytes) -> str | tuple[str, dict[str, Any]]:
        """The next thing to say: a command, then the word that all is done."""
        results = [message for message in asked.messages if message.answers is not None]
        self.carried_out |= any(WORD in json.dumps(message.text) for message in results)
        shell = next((tool for tool in asked.tools if canonical(tool.name) == "terminal"), None)
        if shell is None:
            return DONE
        if not results:
            return shell.name, arguments(shell, f"echo {WORD}")
        if _SUBMIT.encode() in body and len(results) == 1:
            return shell.name, arguments(shell, f"printf '%s\\n' {_SUBMIT} '{DONE}'")
        return DONE


def arguments(tool: Tool, command: str) -> dict[str, Any]:
    """Arguments that have a tool run a command: the fields that its schema requires, filled."""
    schema = _schema(tool.definition)
    fields = schema.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    required = [name for name in schema.get("required") or [] if name in fields]
    holder = next((name for name in ("command", "cmd", "script", "input") if name in fields), None)
    holder = holder or next(iter(required), "command")
    made = {name: _FILLERS.get(_type(fields[name]), lambda: WORD)() for name in required}
    words = ["sh", "-c", command] if _type(fields.get(holder)) == "array" else command
    return made | {holder: words}


_FILLERS: dict[str, Callable[[], Any]] = {
    "integer": lambda: 10, "number": lambda: 10, "boolean": lambda: False, "array": list, "object": dict,
}  # fmt: skip


def _type(field_schema: Any) -> str:
    kind = field_schema.get("type") if isinstance(field_schema, dict) else None
    return str(kind[0] if isinstance(kind, list) and kind else kind)


def _schema(definition: Any) -> dict[str, Any]:
    """The schema of a tool's arguments, wherever a dialect puts it."""
    places = [definition, definition.get("function")] if isinstance(definition, dict) else []
    for place in places:
        for name in ("parameters", "input_schema"):
            found = place.get(name) if isinstance(place, dict) else None
            if isinstance(found, dict):
                return found
    return {}
