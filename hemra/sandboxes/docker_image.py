"""The image that a trial runs in: found, pulled or built once in a run, and from then on named by its digest.

A tag can be moved while a run goes on; the digest that the first trial found is what all of them get.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker

from hemra.sandboxes.base import SandboxError
from hemra.sandboxes.docker_engine import STORE_LABEL, Engine, said

#: What `--sandbox docker` runs in when neither the command line nor the task names an image. It has a shell and a
#: python3, which reference solutions and the `gateway` network need.
DEFAULT_IMAGE = "python:3.12-slim-bookworm"
#: A task describes its own image here; the folder around it is what the build may see.
DOCKERFILE = "environment/Dockerfile"
#: All files of a build together. Bytes.
LARGEST_CONTEXT = 256 << 20
BUILD_SECONDS = 1800
_LAST_LINES = 5


@dataclass(frozen=True)
class Image:
    """An image of the engine. `id` is the digest of its description: with it a container is made."""

    ref: str
    id: str
    digests: tuple[str, ...]
    environment: dict[str, str]
    size: int | None

    def details(self) -> dict[str, Any]:
        """What is recorded of it."""
        return {"image": self.ref, "image_id": self.id, "repo_digests": list(self.digests)}


#: (engine, image or build) -> the image, and who is looking for it now.
_FOUND: dict[tuple[str, str], Image] = {}
_LOOKING: dict[tuple[str, str, int], asyncio.Lock] = {}


async def find_image(engine: Engine, option: str | None, task: Path | None, store: str) -> Image:
    """The task's own image, else `option`, else the default. Raises SandboxError that says what to do."""
    if task is not None and (task / DOCKERFILE).is_file():
        tag = await asyncio.to_thread(context_tag, task / DOCKERFILE)
        return await _once(engine, tag, build=task, store=store)
    return await _once(engine, option or DEFAULT_IMAGE, build=None, store=store)


async def _once(engine: Engine, ref: str, *, build: Path | None, store: str) -> Image:
    key = (engine.address, ref)
    lock = _LOOKING.setdefault((*key, id(asyncio.get_running_loop())), asyncio.Lock())
    async with lock:
        known = _FOUND.get(key)
        found = await engine.call(lambda api: _inspect(api, known.id if known else ref, ref))
        if found is None and known is not None:
            raise SandboxError(
                f"image {ref} ({known.id[:19]}) was removed from the engine while the run was using it",
                infra=True,
            )
        if found is None:
            if build is None:
                await engine.call(lambda api: _pull(api, ref))
            else:
                await engine.call(lambda api: _build(api, build, ref, store))
            found = await engine.call(lambda api: _inspect(api, ref, ref))
        if found is None:
            raise SandboxError(f"image {ref} is not there although the engine says so", infra=True)
        _FOUND[key] = found
        return found


def forget_images() -> None:
    """The next trial looks again: for a new run in the same process."""
    _FOUND.clear()


def _inspect(api: docker.APIClient, name: str, ref: str) -> Image | None:
    try:
        found = api.inspect_image(name)
    except docker.errors.ImageNotFound:
        return None
    except docker.errors.APIError as error:
        raise SandboxError(f"image {ref}: {said(error)}", infra=True) from error
    config = found.get("Config") or {}
    pairs = (entry.partition("=") for entry in config.get("Env") or ())
    return Image(
        ref, found["Id"], tuple(found.get("RepoDigests") or ()),
        {name: value for name, _, value in pairs}, found.get("Size"),
    )  # fmt: skip


def _pull(api: docker.APIClient, ref: str) -> None:
    """Raises SandboxError: one line with what the registry said and the remedy."""
    remedy = f"pull it by hand (docker pull {ref}) or name one that is there: --sandbox docker:IMAGE"
    repository, tag = docker.utils.parse_repository_tag(ref)
    try:
        words, _ = _listen(api.pull(repository, tag=tag or "latest", stream=True, decode=True))
    except docker.errors.APIError as error:
        words = said(error)
    if words:
        raise SandboxError(f"image {ref} cannot be pulled: {words}; {remedy}", infra=True)


def _listen(lines: Iterable[dict[str, Any]]) -> tuple[str, list[str]]:
    """What went wrong, empty when nothing did, and the last lines; all is heard, or the connection stays open."""
    wrong, last = "", [""]
    for line in lines:
        last = [*last, " ".join(str(line.get("stream", "")).split())][-_LAST_LINES:]
        wrong = wrong or " ".join(str(line.get("error", "")).split())
    return wrong, [text for text in last if text]


def context_files(dockerfile: Path) -> list[Path]:
    """The regular files of a build, sorted; links are never followed. SandboxError when they are too many bytes."""
    folder = dockerfile.parent
    found, total = [], 0
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in names:
            path = Path(here, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                total += status.st_size
                found.append(path)
            else:
                raise SandboxError(f"{path}: only regular files can be part of a task's image")
    if total > LARGEST_CONTEXT:
        raise SandboxError(
            f"{folder} holds {total / 1e6:.0f} MB; a task's image may be built from {LARGEST_CONTEXT >> 20} MiB"
        )
    return sorted(found)


def context_tag(dockerfile: Path) -> str:
    """A name that belongs to the content of the build."""
    digest = hashlib.sha256()
    for path in context_files(dockerfile):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        mode = "x" if path.stat().st_mode & stat.S_IXUSR else "-"
        digest.update(f"{path.relative_to(dockerfile.parent)}\0{mode}\0{content}\n".encode())
    return f"hemra-task:{digest.hexdigest()[:32]}"


def _build(api: docker.APIClient, task: Path, tag: str, store: str) -> None:
    where = f"the image of task {task.name} ({task / DOCKERFILE})"
    last: list[str] = []
    try:
        lines = api.build(
            path=str((task / DOCKERFILE).parent), tag=tag, rm=True, forcerm=True, decode=True,
            labels={STORE_LABEL: store}, timeout=BUILD_SECONDS,
        )  # fmt: skip
        words, last = _listen(lines)
    except docker.errors.APIError as error:
        words = said(error)
    if words:
        raise SandboxError(
            f"{where} cannot be built: {words} (last lines: {' | '.join(last) or 'none'})", infra=True
        )
