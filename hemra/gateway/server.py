"""The gateway of a run: one loopback server, through which every trial's harness reaches its model.

A trial's address is `http://127.0.0.1:PORT/t/<trial>`; its token says that a request may use it, in the place of a key.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from urllib.parse import unquote

from aiohttp import web

from hemra.gateway.asked import ambiguous, form_of
from hemra.gateway.channel import Channel, ChannelSpec
from hemra.gateway.connections import Connections, CountedRunner, Malformed, room, server_logger
from hemra.gateway.forward import Forwarding, Relayed, Shared
from hemra.gateway.probes import local_answer
from hemra.gateway.upstream import HEADER_BYTES, READ_AHEAD, ModelClient
from hemra.sandboxes.base import Endpoint

HOST = "127.0.0.1"
#: A tool may run for long between two calls, and a connection that is closed under a client's hands is an error to it.
KEPT_ALIVE_S = 3600.0
_PREFIX = "/t/"
#: Methods that make servers repeat what they got, or a way through to other hosts.
_NEVER = frozenset(("TRACE", "TRACK", "CONNECT"))
_PASSED = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
#: Headers that say how a body is carried, which may differ on the two sides.
_FRAMING = frozenset(("content-length", "transfer-encoding", "connection"))


class Gateway:
    """The server. `endpoint` is where it listens, once it is started; `refused` counts requests without a right,
    `malformed.count` what was no HTTP."""

    def __init__(self) -> None:
        self.refused = 0
        self.malformed = Malformed()
        self.connections = Connections(room())
        self._endpoint: Endpoint | None = None
        self._channels: dict[str, Channel] = {}
        self._runner: web.AppRunner | None = None
        self._shared: Shared | None = None

    @classmethod
    async def start(cls) -> Gateway:
        """A gateway that listens to a free port of this machine, in the running loop. Raises OSError."""
        gateway = cls()
        app = web.Application(middlewares=[_allowed])
        app.router.add_route("*", "/{path:.*}", gateway._handle)
        app.on_response_prepare.append(_only_given)
        gateway._shared = Shared(ModelClient())
        # Bodies stay packed, and a harness that goes ends what it asked for.
        gateway._runner = CountedRunner(
            app, gateway.connections, handler_cancellation=True, auto_decompress=False,
            access_log=None, logger=server_logger(gateway.malformed),
            keepalive_timeout=KEPT_ALIVE_S, shutdown_timeout=1.0,
            max_line_size=HEADER_BYTES, max_field_size=HEADER_BYTES, read_bufsize=READ_AHEAD,
        )  # fmt: skip
        # So many are let in before the first of them can be counted.
        backlog = min(1024, gateway.connections.most // 2)
        try:
            await gateway._runner.setup()
            await web.TCPSite(gateway._runner, HOST, 0, backlog=backlog).start()
        except BaseException:
            await gateway.close()
            raise
        gateway._endpoint = Endpoint(HOST, gateway._runner.addresses[0][1])
        # What is loaded stays: to look through all of it for garbage would hold up every token meanwhile.
        gc.freeze()
        return gateway

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens."""
        assert self._endpoint is not None, "it is not started"
        return self._endpoint

    def root(self, trial: str, *, at: Endpoint | None = None) -> str:
        """The address of a trial, without a slash at its end. `at`: where the trial reaches the gateway."""
        return f"http://{at or self.endpoint}{_PREFIX}{trial}"

    def admit(self, spec: ChannelSpec) -> Channel:
        """Let a trial in. Raises ValueError where its token is another's."""
        if not spec.token or spec.token in self._channels:
            raise ValueError(f"trial {spec.trial}: the token is empty or in use")
        channel = self._channels[spec.token] = Channel(spec)
        return channel

    async def dismiss(self, channel: Channel) -> None:
        """Let a trial out: nothing more is taken from it, what is open is broken off and recorded."""
        self._channels.pop(channel.spec.token, None)
        await channel.close()

    async def close(self) -> None:
        """Dismiss everybody and stop listening. Twice does no harm."""
        for channel in list(self._channels.values()):
            await self.dismiss(channel)
        runner, self._runner = self._runner, None
        if runner is not None:
            gc.unfreeze()
            await runner.cleanup()
        shared, self._shared = self._shared, None
        if shared is not None:
            await shared.client.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        trial, tail = _split(request.raw_path)
        local = local_answer(request.method, tail.partition("?")[0]) if trial is not None else None
        channel = self._channel(request, trial)
        if channel is not None and self._shared is not None:
            with self.connections.asks(request.protocol, channel.spec.trial) as free:
                if not free:
                    return _busy(tail, self.connections.in_flight)
                if ambiguous(tail):
                    return _error(
                        tail, 400, "bad_target", "a path must have no fragment, parameters or odd signs"
                    )
                return await Forwarding(channel, request, tail, self._shared).run(local)
        if local is not None:
            return web.Response(status=local.status, body=local.body, headers=local.headers)
        self.refused += 1
        return _error(tail, 401, "invalid_api_key", "no trial of this run has this address and this token")

    def _channel(self, request: web.Request, trial: str | None) -> Channel | None:
        """The channel that a request may use."""
        if trial is None:
            return None
        for token in _tokens(request):
            channel = self._channels.get(token)
            if channel is not None and channel.spec.trial == trial:
                return channel
        return None


def _error(tail: str, status: int, code: str, message: str, **headers: str) -> web.Response:
    """A refusal in the form of the dialect of a path; it is in no trial's record."""
    body = form_of(tail.partition("?")[0], None).error(status, code, message)
    return web.Response(status=status, body=body, headers={"Content-Type": "application/json", **headers})


@web.middleware
async def _allowed(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse methods that are for nobody. Here, since a target without a path would not get to a handler."""
    if request.method in _NEVER:
        text = f"{request.method} is not passed on"
        return _error(request.raw_path, 405, "method_not_allowed", text, Allow=_PASSED)
    return await handler(request)


def _busy(tail: str, most: int) -> web.Response:
    text = f"this trial has {most} requests under way already"
    return _error(tail, 429, "too_many_requests", text, **{"Retry-After": "1"})


async def _only_given(_: web.Request, response: web.StreamResponse) -> None:
    """Take out what the server adds to every answer, where an answer is passed on."""
    if not isinstance(response, Relayed):
        return
    for name in {name.lower() for name in response.headers} - response.given - _FRAMING:
        response.headers.popall(name)


def _split(raw: str) -> tuple[str | None, str]:
    """(trial, path and query behind it) of a request's target; (None, the target) where it is none of a trial.

    A path with steps up is nobody's: behind the prefix it would lead to other parts of the endpoint's host.
    """
    path, mark, query = raw.partition("?")
    steps = unquote(path).replace("\\", "/").split("/")
    if not path.startswith(_PREFIX) or ".." in steps or "." in steps:
        return None, raw
    trial, slash, rest = path.removeprefix(_PREFIX).partition("/")
    return trial, f"{slash}{rest}{mark}{query}"


def _tokens(request: web.Request) -> list[str]:
    """What a request gives in the place of a key."""
    found = [value for name in ("x-api-key", "api-key") if (value := request.headers.get(name))]
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    return [*found, bearer.strip()] if scheme.lower() == "bearer" else found
