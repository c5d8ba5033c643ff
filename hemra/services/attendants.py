"""Everything that a task wants beside its workspace, started and ended with one trial."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eventlog.schemas.conversation import NoteRecorded
from hemra.datasets.prepare import Prepared, draw, pinned_bytes, tell
from hemra.errors import HemraError
from hemra.services import SERVICE_ASKED
from hemra.services.mcp import listening, put_files, servers_for
from hemra.services.site import Site, load_site, read_corpus
from hemra.services.web import Web
from hemra.services.world import World

if TYPE_CHECKING:
    from harnesses.mcp import McpServer
    from hemra.datasets.model import Task
    from hemra.sandboxes.base import Endpoint, Sandbox

#: The value, and the variable, that hold the address of the web.
WEB, WEB_VARIABLE = "web", "HEMRA_WEB"
#: The value by which prepare.py names a folder of the workspace that holds pages for the web.
CORPUS = "web_corpus"


Fill = Callable[["Task", Path, int], Awaitable[dict[str, Any]]]


class Attendants:
    """The services, the MCP servers and the world of one trial. `mcp_servers` are known when it is prepared.

    `open` before the sandbox is made, for it must know what may be reached; `prepare` in place of
    `prepare_async`, once it is there; `close` after it was stopped, however the trial went. `filled` fills the
    workspace and draws the values.
    """

    def __init__(self, task: Task, seed: int, filled: Fill = draw) -> None:
        self._task = task
        self._filled = filled
        self._seed = seed
        self._web = Web(f"{task.id}\0{seed}") if task.spec.services.web else None
        self._world: World | None = None
        self._url = ""
        self.mcp_servers: dict[str, McpServer] = {}

    async def open(self) -> tuple[Endpoint, ...]:
        """Start what is a service. Returns where it listens on this machine. Raises HemraError."""
        servers = await listening(self._task)
        if self._web is None:
            return servers
        await self._web.start()
        return (self._web.endpoint, *servers)

    async def prepare(self, sandbox: Sandbox) -> Prepared:
        """Fill the workspace, start the world, and make the instruction. Raises as `prepare_async`."""
        values = await self._filled(self._task, sandbox.workspace, self._seed)
        if self._web is not None:
            pages = values.pop(CORPUS, None)
            self._web.site = await asyncio.to_thread(site_of, self._task, sandbox.workspace, pages)
            self._url = f"http://{sandbox.address(self._web.endpoint)}"
            values[WEB] = self._url
        if (path := self._task.spec.world) is not None:
            self._world = World(self._task.id, pinned_bytes(self._task, path))
            values = values | await self._world.start(sandbox, self._seed, values)
        prepared = await tell(self._task, sandbox.workspace, values)
        await asyncio.to_thread(put_files, self._task, sandbox.harness_dir)
        self.mcp_servers = servers_for(self._task, sandbox, prepared.values)
        return prepared

    def environment(self) -> dict[str, str]:
        """What the harness's environment gets besides."""
        return {WEB_VARIABLE: self._url} if self._url else {}

    def served(self) -> dict[str, list[dict[str, Any]]]:
        """What each service was asked, in order: method, path with query, status, time since its start."""
        return {} if self._web is None else {WEB: list(self._web.requests)}

    def notes(self) -> list[NoteRecorded]:
        """What each service was asked, for the record; from there it comes into the trace."""
        told = []
        for service, requests in self.served().items():
            text = f"the mock {service} was asked {len(requests)} times"
            details = {"service": service, "requests": requests}
            told.append(NoteRecorded(level="info", code=SERVICE_ASKED, text=text, details=details))
        return told

    @property
    def world_ended(self) -> bool:
        """Whether the world ended although the trial goes on."""
        return self._world is not None and self._world.ended

    async def close(self) -> None:
        """End the services; wait for the world, which ends with the sandbox."""
        if self._web is not None:
            await self._web.close()
        if self._world is not None:
            await self._world.stop()


def site_of(task: Task, workspace: Path, pages: Any) -> Site:
    """The site of a trial. Raises HemraError."""
    return load_site(pages_of(task, workspace, pages), task.id)


def pages_of(task: Task, workspace: Path, pages: Any) -> dict[str, bytes]:
    """Content by path of a trial's web: the task's own corpus, and over it what prepare.py wrote into the folder
    `pages` of the workspace, which is taken out of it. Raises HemraError."""
    assert task.spec.services.web is not None
    corpus = task.spec.services.web.corpus.rstrip("/") + "/"
    files = {
        path.removeprefix(corpus): pinned_bytes(task, path) for path in task.files if path.startswith(corpus)
    }
    if pages is not None:
        place = _inside(workspace, pages)
        if place is None:
            raise HemraError(f"task {task.id!r}: {CORPUS} is {pages!r}, no folder of the workspace")
        files |= read_corpus(place)
        shutil.rmtree(place)
    if not files:
        raise HemraError(f"task {task.id!r}: the web has no page: neither {corpus} nor prepare.py gives one")
    return files


def _inside(workspace: Path, pages: Any) -> Path | None:
    """The folder `pages` below the workspace, or None for whatever else it is. It is going to be removed: an absolute
    path, a step up, a link on the way or the workspace itself must never come out of here."""
    parts = Path(pages).parts if isinstance(pages, str) else ()
    if not parts or Path(pages).is_absolute() or ".." in parts:
        return None
    root = workspace.resolve(strict=True)
    place = root
    for part in parts:
        place = place / part
        if place.is_symlink() or not place.is_dir():
            return None
    return place if place != root and place.resolve().is_relative_to(root) else None
