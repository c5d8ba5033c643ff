"""The shell that process 1 of a container runs: the image's own, as a file that can be carried out and not be read.

The trial's programs are the same user as process 1. Were it like any other program of theirs, they could trace it,
stop it, read the secret word by which it speaks, and speak in its name. What runs from a file that it may not read
itself the kernel keeps from being looked into by anybody who is not root; that is handed down to what it forks.
"""

from __future__ import annotations

import asyncio
import io
import os
import tarfile
from pathlib import Path

import docker

from hemra.sandboxes.base import SandboxError
from hemra.sandboxes.docker_engine import Engine, said
from hemra.sandboxes.docker_image import Image

SHELL = "/bin/sh"
#: Its name in the control folder.
NAME = "sh"
_MOST_LINKS = 8
#: A shell is smaller. Bytes.
_LARGEST = 16 << 20
_ELF = b"\x7fELF"

#: (engine, image) -> the shell's content, null where it cannot be had; and who is fetching it now.
_FOUND: dict[tuple[str, str], bytes | None] = {}
_LOOKING: dict[tuple[str, str, int], asyncio.Lock] = {}


async def shell_of(engine: Engine, image: Image, labels: dict[str, str]) -> bytes | None:
    """The content of an image's shell, fetched once in this process by a container that is made and never started;
    None where there is none, or none that the kernel runs by itself. Raises SandboxError."""
    key = (engine.address, image.id)
    lock = _LOOKING.setdefault((*key, id(asyncio.get_running_loop())), asyncio.Lock())
    async with lock:
        if key not in _FOUND:
            try:
                _FOUND[key] = await engine.call(lambda api: _fetch(api, image, labels))
            except docker.errors.APIError as error:
                raise SandboxError(
                    f"the engine does not show what is in image {image.ref}: {said(error)}", infra=True
                ) from error
    return _FOUND[key]


def _fetch(api: docker.APIClient, image: Image, labels: dict[str, str]) -> bytes | None:
    made = api.create_container(image.id, command=[], entrypoint=[SHELL], labels=labels)["Id"]
    try:
        return _content(api, made)
    except (docker.errors.NotFound, tarfile.TarError):
        return None
    finally:
        api.remove_container(made, force=True, v=True)


def _content(api: docker.APIClient, container: str) -> bytes | None:
    """Follow links to the file. Raises NotFound when there is none."""
    path = SHELL
    for _ in range(_MOST_LINKS):
        pieces, status = api.get_archive(container, path)
        packed = b""
        for piece in pieces:
            if len(packed) <= _LARGEST:
                packed += piece
        if not status.get("linkTarget"):
            return _unpacked(packed)
        path = status["linkTarget"]
    return None


def _unpacked(packed: bytes) -> bytes | None:
    if len(packed) > _LARGEST:
        return None
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        member = archive.next()
        file = None if member is None else archive.extractfile(member)
        content = b"" if file is None else file.read()
    return content if content.startswith(_ELF) else None


def put(content: bytes | None, folder: Path) -> bool:
    """Write the shell into the control folder (blocking). False where it cannot be carried out from there: it is
    missing, or the file system lets nothing be."""
    if content is None or os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    path = folder / NAME
    path.write_bytes(content)
    path.chmod(0o111)
    return True
