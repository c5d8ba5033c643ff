"""The container engine as this process talks to it: calls in threads of their own, raw streams in the loop.

Where it is, DOCKER_HOST says, else /var/run/docker.sock. It has to be on this machine, for the trial's folders are
mounted: `unix://` or a plain `tcp://`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import urlsplit

import docker
import requests.exceptions
import urllib3.exceptions

from hemra.sandboxes.base import SandboxError

T = TypeVar("T")

DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
#: Seconds that one call may take, and that an engine which does not answer is waited for.
CALL_SECONDS = 120
PATIENCE_SECONDS = 15.0
QUICK_SECONDS = 4
_PAUSE_SECONDS = 0.25
_PIECE_BYTES = 64 * 1024
#: One round of the API that all engines of the last years speak.
API_VERSION = "1.41"

STORE_LABEL, RUN_LABEL, TRIAL_LABEL = "hemra.store", "hemra.run", "hemra.trial"
#: The trial's folder on this machine: its lock tells whether the process that made the container lives.
FOLDER_LABEL = "hemra.folder"

#: What means that nobody answered, not that somebody said no.
UNREACHABLE = (
    requests.exceptions.ConnectionError,
    requests.exceptions.Timeout,
    urllib3.exceptions.HTTPError,
    ConnectionError,
    FileNotFoundError,
    PermissionError,
    TimeoutError,
)


class EngineGone(SandboxError):
    """The engine does not answer."""


def address() -> str:
    """Where the engine is."""
    return os.environ.get("DOCKER_HOST") or DEFAULT_ADDRESS


def address_problem(where: str) -> str | None:
    """Why an engine at this address cannot be used, before anybody asks it."""
    scheme = urlsplit(where).scheme
    if scheme == "unix" or (scheme in ("tcp", "http") and not os.environ.get("DOCKER_TLS_VERIFY")):
        return None
    return (
        f"the engine at DOCKER_HOST={where} cannot be used: the trial's folders are mounted, so it has to be on "
        "this machine; give a unix:// address, or tcp:// without TLS"
    )


class Engine:
    """One engine. Methods that block say so; the others are for the loop."""

    def __init__(self, where: str) -> None:
        self.address = where
        self._api: docker.APIClient | None = None
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(16, thread_name_prefix="docker")
        self._info: dict[str, Any] | None = None
        self._users = 0

    def hold(self) -> None:
        """One more sandbox uses it."""
        with self._lock:
            self._users += 1

    def let_go(self) -> None:
        """One fewer; with the last one the idle connections go."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._api is not None:
                self._api.close()
                self._api = None

    @property
    def api(self) -> docker.APIClient:
        """The client; it connects when it is used. Blocks."""
        with self._lock:
            if self._api is None:
                self._api = docker.APIClient(base_url=self.address, version=API_VERSION, timeout=CALL_SECONDS)
            return self._api

    def gone(self, error: BaseException) -> EngineGone:
        """The one line for an engine that does not answer."""
        reason = _reason(error)
        return EngineGone(
            f"no container engine answers at {self.address} ({reason}); start it, or name another by DOCKER_HOST",
            evidence={"engine": self.address, "error": reason},
        )

    def blocking(self, work: Callable[[docker.APIClient], T], *, patience: float = 0.0) -> T:
        """`work` done with the client; an engine that is away is waited for `patience` seconds.

        Raises EngineGone; docker.errors.APIError when the engine says no.
        """
        deadline = time.monotonic() + patience
        while True:
            try:
                # A look of our own first: the client leaves sockets open that did not get through.
                self.dial(QUICK_SECONDS).close()
                return work(self.api)
            except docker.errors.APIError:
                raise
            except (*UNREACHABLE, docker.errors.DockerException) as error:
                if time.monotonic() >= deadline:
                    raise self.gone(error) from error
            time.sleep(_PAUSE_SECONDS)

    async def call(self, work: Callable[[docker.APIClient], T], *, patience: float = 0.0) -> T:
        """`blocking` in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: self.blocking(work, patience=patience))

    def info(self) -> dict[str, Any]:
        """What the engine says about itself; asked once. Blocks."""
        if self._info is None:
            found: dict[str, Any] = self.blocking(lambda api: api.info())
            self._info = found
        return self._info

    @property
    def rootless(self) -> bool:
        """Whether its root is an ordinary user of this machine. Blocks."""
        return any("rootless" in option for option in self.info().get("SecurityOptions") or ())

    @property
    def processors(self) -> float:
        """How many processors it has. Blocks."""
        return float(self.info().get("NCPU") or os.cpu_count() or 1)

    def dial(self, seconds: float) -> socket.socket:
        """A connection of its own. Blocks."""
        parts = urlsplit(self.address)
        if parts.scheme == "unix":
            found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            found.settimeout(seconds)
            try:
                found.connect(parts.path)
            except BaseException:
                found.close()
                raise
            return found
        return socket.create_connection((parts.hostname or "localhost", parts.port or 2375), seconds)

    async def hijack(self, path: str, body: dict[str, Any] | None = None) -> Stream:
        """POST `path`; the connection is then the stream of a program. Raises EngineGone, SandboxError.

        The client of the docker package may lose what comes together with the answer's head.
        """
        content = json.dumps(body or {}).encode()
        head = (
            f"POST /v{API_VERSION}{path} HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        parts = urlsplit(self.address)
        try:
            if parts.scheme == "unix":
                reader, writer = await asyncio.open_unix_connection(parts.path)
            else:
                reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 2375)
        except OSError as error:
            raise self.gone(error) from error
        stream = Stream(reader, writer)
        try:
            writer.write(head.encode() + content)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status = int(answer.split(" ", 2)[1])
            if status not in (101, 200):
                words = await asyncio.wait_for(reader.read(4096), QUICK_SECONDS)
                raise SandboxError(f"the engine refused a stream ({status}): {_message(words)}")
        except (OSError, asyncio.IncompleteReadError, ValueError, IndexError) as error:
            await stream.close()
            raise self.gone(error) from error
        except BaseException:
            await stream.close()
            raise
        return stream


class Stream:
    """A two-way stream to a program in a container."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    async def write(self, data: bytes) -> None:
        """To the program; waits while it does not read. OSError when the other end is gone."""
        for start in range(0, len(data), _PIECE_BYTES):
            self._writer.write(data[start : start + _PIECE_BYTES])
            await self._writer.drain()

    def end_input(self) -> None:
        """The program's stdin is over."""
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.write_eof()

    async def close(self) -> None:
        """Give the connection back; no error when that was done or it is broken."""
        # In order it would first write what is left, to a program that may never read it.
        self._writer.transport.abort()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


def _message(words: bytes) -> str:
    text = words.decode("utf-8", "replace").strip()
    with contextlib.suppress(ValueError):
        found = json.loads(text[text.index("{") : text.rindex("}") + 1]).get("message")
        return str(found or text)
    return text


def _reason(error: BaseException) -> str:
    """What the system said at the bottom of a pile of exceptions."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        inner = [each for each in cause.args if isinstance(each, BaseException)]
        cause = inner[0] if inner else cause.__cause__ or cause.__context__
    return " ".join(str(error).split())[:200] or type(error).__name__


def said(error: docker.errors.APIError) -> str:
    """What the engine said, as one line."""
    return " ".join(str(error.explanation or error).split())


_ENGINES: dict[str, Engine] = {}
_ENGINES_LOCK = threading.Lock()


def engine() -> Engine:
    """The engine that DOCKER_HOST names now."""
    where = address()
    with _ENGINES_LOCK:
        return _ENGINES.setdefault(where, Engine(where))


def why_no_engine() -> str | None:
    """Why there is no engine to be used, within a few seconds; None when there is one. Blocks, raises nothing."""
    where = address()
    problem = address_problem(where)
    if problem is not None:
        return problem
    try:
        Engine(where).dial(QUICK_SECONDS).close()
        api = docker.APIClient(base_url=where, version=API_VERSION, timeout=QUICK_SECONDS)
        with contextlib.closing(api):
            kind = api.version(api_version=False).get("Os", "linux")
    except (*UNREACHABLE, docker.errors.DockerException, OSError) as error:
        if "Permission denied" in _reason(error):
            return f"this user may not use the container engine at {where}; add it to the group docker"
        return str(Engine(where).gone(error))
    return None if kind == "linux" else f"the engine at {where} runs {kind} containers; Linux ones are needed"
