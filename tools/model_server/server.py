"""The server: finds out what a request is, has it answered, and keeps the account."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aiohttp import web

from . import bodies
from .delivery import Delivery, Wire, send_json
from .dialects import DIALECTS, Dialect, of_path
from .director import Director, prompt_text
from .exchange import Asked, BadRequest
from .journal import Entry, Journal, fingerprint, totals
from .recipes.book import Book
from .script import Script
from .tokens import count

#: Headers that carry a secret: their values are kept nowhere.
SECRET = ("authorization", "x-api-key", "api-key", "cookie", "proxy-authorization")
#: Paths that clients knock at to see whether somebody is there.
PROBES = ("/", "/api/hello", "/health", "/v1")
#: Ends of paths at which clients look for another kind of server; that there is none here is their answer.
STRANGERS = ("/api/v1/models", "/api/tags", "/api/show", "/props", "/version")


class ModelServer:
    """One server with one script. `base` is its address, `http://127.0.0.1:PORT`, once it is started."""

    def __init__(self, script: Script, *, log: Path | None = None, book: Book | None = None) -> None:
        self.script = script
        self.journal = Journal(log)
        self.base = ""
        self._director = Director(script, book)
        self._runner: web.AppRunner | None = None
        self._stopping = False

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> str:
        """Listen; port 0 takes a free one. Returns `base`. Raises ValueError for a host that is not loopback."""
        if not ipaddress.ip_address(host).is_loopback:
            raise ValueError(f"{host} is not a loopback address; this server is for one machine only")
        app = web.Application(client_max_size=bodies.LIMIT)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # The client's going cancels the handler; bodies are unpacked here, so that every encoding is logged.
        self._runner = web.AppRunner(
            app, handler_cancellation=True, auto_decompress=False, access_log=None, shutdown_timeout=1.0
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        bound = self._runner.addresses[0]
        self.base = f"http://{f'[{bound[0]}]' if ':' in bound[0] else bound[0]}:{bound[1]}"
        return self.base

    async def stop(self) -> None:
        """Stop listening, break off what is open, and close the log."""
        self._stopping = True
        if self._runner is not None:
            await self._runner.cleanup()
        for entry in self.journal.entries:
            self.journal.finish(entry, "cut")
        self.journal.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/_"):
            return self._control(request)
        entry = self.journal.begin(request.method, request.path_qs)
        key = _key(request)
        entry.key = fingerprint(key) if key else None
        entry.request_headers = {n.lower(): v for n, v in request.headers.items() if n.lower() not in SECRET}
        wire = Wire(request, entry, self.journal)
        try:
            return await self._answer(request, entry, wire, key)
        except (asyncio.CancelledError, ConnectionError):
            self.journal.finish(entry, "cut" if self._stopping else "disconnected")
            raise
        finally:
            self.journal.finish(entry, "failed")  # only when nothing else closed it: a bug in this server

    async def _answer(
        self, request: web.Request, entry: Entry, wire: Wire, key: str | None
    ) -> web.StreamResponse:
        path = request.path.rstrip("/") or "/"
        counting = path.endswith("/messages/count_tokens")
        found = of_path(path.removesuffix("/count_tokens") if counting else path)
        if found is None or request.method != "POST":
            return await self._elsewhere(request, entry, wire, path)
        dialect, entry.prefix = found
        entry.dialect = dialect.NAME
        entry.kind = "count_tokens" if counting else "model"
        if self.script.accept_key is not None and key != self.script.accept_key:
            entry.problem = "no key" if key is None else "another key than the script accepts"
            return await send_json(
                wire, 401, dialect.error(401, f"Incorrect API key provided: {entry.problem}")
            )
        try:
            body = await self._body(request, entry)
            if counting:
                return await send_json(
                    wire, 200, {"input_tokens": count(prompt_text(_parsed(dialect, body)))}
                )
            return await self._model(request, entry, wire, dialect, body, key)
        except BadRequest as error:
            entry.problem = str(error)
            status = error.status if isinstance(error, bodies.Unreadable) else 400
            return await send_json(wire, status, dialect.error(status, str(error)))

    async def _body(self, request: web.Request, entry: Entry) -> dict[str, Any]:
        """The JSON object of a request. Raises BadRequest."""
        try:
            raw = await request.read()
        except web.HTTPRequestEntityTooLarge as error:
            raise bodies.Unreadable(413, f"the body is larger than {bodies.LIMIT} bytes") from error
        entry.request_bytes = len(raw)
        entry.request_sha256 = hashlib.sha256(raw).hexdigest()
        entry.request_encoding = request.headers.get("Content-Encoding")
        content = bodies.decoded(raw, entry.request_encoding or "")
        try:
            body = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise BadRequest(f"the body is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise BadRequest("the body must be a JSON object")
        if self.script.record_bodies:
            entry.request_body = body
        return body

    async def _model(
        self,
        request: web.Request,
        entry: Entry,
        wire: Wire,
        dialect: Dialect,
        body: dict[str, Any],
        key: str | None,
    ) -> web.StreamResponse:
        asked = _parsed(dialect, body)
        entry.model, entry.stream, entry.messages = asked.model, asked.stream, len(asked.messages)
        entry.tools = [tool.name for tool in asked.tools]
        if not asked.model:
            raise BadRequest("you must provide a model parameter")
        header = self.script.session_header
        decision = self._director.decide(
            asked, entry.prefix, entry.key, request.headers.get(header) if header else None
        )
        entry.kind, entry.session, entry.task = decision.kind, decision.session, decision.task
        entry.turn, entry.attempt = decision.turn or None, decision.attempt
        entry.fault = decision.fault.kind if decision.fault else None
        entry.problem = decision.problem
        answer = decision.answer
        entry.answer = {
            "id": answer.id,
            "text": answer.text,
            "reasoning": answer.reasoning,
            "calls": [
                {"id": dialect.call_id(answer, n), **asdict(call)} for n, call in enumerate(answer.calls)
            ],
            "finish": answer.finish,
        }
        return await Delivery(wire, entry, dialect, asked, decision).run()

    async def _elsewhere(
        self, request: web.Request, entry: Entry, wire: Wire, path: str
    ) -> web.StreamResponse:
        """Models, probes, and everything that is not here."""
        chat = DIALECTS["chat"]
        reading = request.method in ("GET", "HEAD")
        place, _, last = path.rpartition("/")
        if reading and path.endswith("/v1/models") and not path.endswith("/api/v1/models"):
            entry.kind = "models"
            return await send_json(wire, 200, _listed([_model(name) for name in self.script.models]))
        if reading and place.endswith("/v1/models") and last in self.script.models:
            entry.kind = "models"
            return await send_json(wire, 200, _model(last))
        if reading and path in PROBES:
            entry.kind = "probe"
            return await send_json(wire, 200, {"status": "ok"})
        if found := of_path(path):
            chat, entry.kind = found[0], "probe"
            return await send_json(
                wire, 405, chat.error(405, f"{request.method} is not allowed here; POST is")
            )
        if path.endswith(STRANGERS):
            entry.kind = "probe"
        return await send_json(wire, 404, chat.error(404, f"nothing at {request.method} {path}"))

    def _control(self, request: web.Request) -> web.StreamResponse:
        """What tests ask: `/_served`, `/_health`, and `POST /_reset`."""
        if request.path == "/_served":
            since = request.query.get("since", "0")
            entries = self.journal.served(int(since) if since.isdigit() else 0)
            return web.json_response({"entries": entries, "totals": totals(entries)})
        if request.path == "/_reset" and request.method == "POST":
            self.journal.clear()
            self._director.reset()
            return web.json_response({"reset": True})
        if request.path == "/_health":
            return web.json_response({"status": "ok", "requests": len(self.journal.entries)})
        return web.json_response({"error": "there are /_served, /_health and POST /_reset"}, status=404)


def _parsed(dialect: Dialect, body: dict[str, Any]) -> Asked:
    """The request. Raises BadRequest, also for a field of a type that nobody expects."""
    try:
        return dialect.parse(body)
    except (AttributeError, TypeError, KeyError) as error:
        raise BadRequest(f"a field has another form than it should: {error}") from error


def _key(request: web.Request) -> str | None:
    """The key that came with the request, by the header of any dialect."""
    bearer = request.headers.get("Authorization", "")
    if bearer.lower().startswith("bearer "):
        return bearer[7:].strip() or None
    return request.headers.get("x-api-key") or request.headers.get("api-key")


def _model(name: str) -> dict[str, Any]:
    """A model in the words of both providers."""
    return {
        "id": name,
        "object": "model",
        "created": 1_767_225_600,
        "owned_by": "scripted",
        "type": "model",
        "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
    }


def _listed(models: list[dict[str, Any]]) -> dict[str, Any]:
    first, last = (models[0]["id"], models[-1]["id"]) if models else (None, None)
    return {"object": "list", "data": models, "has_more": False, "first_id": first, "last_id": last}


@contextmanager
def running(script: Script, *, log: Path | None = None, book: Book | None = None) -> Iterator[ModelServer]:
    """A server in a thread of its own, for a test. Stopped at the end, with all that is open."""
    server = ModelServer(script, log=log, book=book)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="model-server", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(30)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
