"""The connections to a gateway: how many there may be, and how long one may stay without saying who it is.

The gateway lives in the process of the engine. Whoever opened connections until it has no file descriptors left would
end the run, so that there are never more of them than a part of what the process may open.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

#: Seconds in which the head of a request with a valid token must have come.
HEAD_S = 30.0
#: Requests of one trial under way: more than any harness asks at once.
IN_FLIGHT = 256
#: Descriptors that are asked of the system, and connections of them at most. Each may need another to the model.
_DESCRIPTORS = 16384
_SHARE = 4
#: Faults of the gateway's own that are told at most.
_FAULTS = 20


def room() -> int:
    """How many connections there may be, after the process's limit was raised as far as it goes and is of use."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = _DESCRIPTORS if hard == unlimited else min(hard, _DESCRIPTORS)
    if soft != unlimited and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):
            pass  # some systems name a limit that they do not grant: what is there has to do
    return (_DESCRIPTORS if soft == unlimited else min(soft, _DESCRIPTORS)) // _SHARE


@dataclass(eq=False)
class _Connection:
    """One connection. `trial`: whose token it has brought; `busy`: requests under way."""

    transport: asyncio.Transport
    timer: asyncio.TimerHandle | None = None
    trial: str | None = None
    busy: int = 0

    def forget(self) -> None:
        """Its time limit is no more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


@dataclass
class Connections:
    """All that are open, the oldest first. `most`: how many there may be; `closed`: how many were closed for it."""

    most: int
    head_s: float = HEAD_S
    in_flight: int = IN_FLIGHT
    closed: int = 0
    _open: dict[RequestHandler, _Connection] = field(default_factory=dict)
    _asking: Counter[str] = field(default_factory=Counter)

    def opened(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """A connection has come. Where there are too many one is closed: this one, where no other is idle."""
        if len(self._open) >= self.most:
            victim = self._idle()
            self.closed += 1
            if victim is None:
                transport.abort()
                return
            self._open.pop(victim).forget()
            _abort(victim)
        connection = self._open[handler] = _Connection(transport)
        connection.timer = asyncio.get_running_loop().call_later(self.head_s, self._late, handler)

    def gone(self, handler: RequestHandler) -> None:
        """A connection is no more."""
        connection = self._open.pop(handler, None)
        if connection is not None:
            connection.forget()

    @contextmanager
    def asks(self, handler: RequestHandler | None, trial: str) -> Iterator[bool]:
        """A request of a trial, while it is under way. False: the trial has too many of them."""
        connection = self._open.get(handler) if handler is not None else None
        if connection is not None:
            connection.forget()
            connection.trial = trial
            connection.busy += 1
        self._asking[trial] += 1
        try:
            yield self._asking[trial] <= self.in_flight
        finally:
            self._asking[trial] -= 1
            if not self._asking[trial]:
                del self._asking[trial]
            if connection is not None:
                connection.busy -= 1

    def _idle(self) -> RequestHandler | None:
        """The oldest that has said nothing; else the oldest idle one of the trial that has the most."""
        owners = Counter(connection.trial for connection in self._open.values())
        del owners[None]
        for trial in (None, *(trial for trial, _ in owners.most_common())):
            for handler, connection in self._open.items():
                if connection.trial == trial and not connection.busy:
                    return handler
        return None

    def _late(self, handler: RequestHandler) -> None:
        connection = self._open.pop(handler, None)
        if connection is not None:
            self.closed += 1
            connection.transport.abort()


def _abort(handler: RequestHandler) -> None:
    transport = handler.transport
    if transport is not None:
        transport.abort()


class _Server(web.Server):
    """aiohttp's server, which tells of its connections."""

    counted: Connections

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self.counted.opened(handler, transport)

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        self.counted.gone(handler)
        super().connection_lost(handler, exc)


class CountedRunner(web.AppRunner):
    """A runner whose connections are counted."""

    __slots__ = ("_connections",)

    def __init__(self, app: web.Application, connections: Connections, **options: Any) -> None:
        super().__init__(app, **options)
        self._connections = connections

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        server = _Server(
            made.request_handler,
            request_factory=made.request_factory,
            handler_cancellation=made.handler_cancellation,
            **made._kwargs,
        )
        server.counted = self._connections
        return server


class Malformed(logging.Filter):
    """Counts what clients send wrongly and keeps it off the terminal. The gateway's own faults go on, once each."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is to be seen."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, HttpProcessingError | ConnectionError | asyncio.CancelledError):
            self.count += 1
            return False
        kind = f"{type(error).__name__}: {error}"
        if kind in self._told or len(self._told) >= _FAULTS:
            return False
        self._told.add(kind)
        return True


def server_logger(malformed: Malformed) -> logging.Logger:
    """The logger of one server."""
    logger = logging.Logger("hemra.gateway")
    logger.parent = logging.getLogger("hemra")
    logger.addFilter(malformed)
    return logger
