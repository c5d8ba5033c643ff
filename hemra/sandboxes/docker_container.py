"""One container for one try of a trial: what it is made of, and its life as the engine tells it."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import docker

from eventlog import clock
from hemra.sandboxes.base import SandboxError, SandboxSpec
from hemra.sandboxes.docker_engine import (
    API_VERSION,
    FOLDER_LABEL,
    PATIENCE_SECONDS,
    RUN_LABEL,
    STORE_LABEL,
    TRIAL_LABEL,
    Engine,
    EngineGone,
    Stream,
    said,
)
from hemra.sandboxes.docker_image import Image
from hemra.sandboxes.docker_shell import SHELL

#: Processes that the container has beside those of the trial: process 1, lifeline, two of the forwarder, a spare.
OWN_PROCESSES = 5
#: An engine refuses containers with less. Bytes.
_LEAST_MEMORY = 6 << 20
_GONE_SECONDS = 10
NS = 1_000_000_000
#: Who removes a container kills it first; what is known a moment later is the whole.
_SETTLE_SECONDS = 0.3


@dataclass(frozen=True)
class Mount:
    """A file or folder of this machine that the container sees."""

    source: Path
    target: str
    read_only: bool = True


@dataclass(frozen=True)
class Shape:
    """What a container is made of. `network` is `none` or the name of one; `small` are folders in memory with the
    bytes that they hold; `shell` is what process 1 runs."""

    image: Image
    user: tuple[int, int]
    mounts: Sequence[Mount]
    network: str
    labels: dict[str, str] = field(default_factory=dict)
    small: dict[str, int] = field(default_factory=dict)
    shell: str = SHELL


def labels(spec: SandboxSpec, folder: Path) -> dict[str, str]:
    """What everything that a trial makes in the engine is found by."""
    return {
        STORE_LABEL: spec.store,
        RUN_LABEL: spec.run,
        TRIAL_LABEL: f"{spec.trial}.{spec.try_no}",
        FOLDER_LABEL: str(folder),
    }


def init_script() -> str:
    """The program of process 1."""
    return files("hemra.sandboxes").joinpath("docker_init.sh").read_text("ascii")


class Container:
    """A container from `create` to `remove`."""

    def __init__(self, engine: Engine, spec: SandboxSpec, shape: Shape) -> None:
        self._engine = engine
        self._spec = spec
        self._shape = shape
        self.id = ""
        self.killed = False

    @property
    def shell(self) -> str:
        """What runs the programs of this module's side in there."""
        return self._shape.shell

    async def create(self) -> None:
        """Make it. Raises SandboxError."""
        try:
            await self._engine.call(self._create)
        except docker.errors.APIError as error:
            raise SandboxError(
                f"the engine makes no container of image {self._shape.image.ref}: {said(error)}", infra=True
            ) from error

    def _create(self, api: docker.APIClient) -> None:
        spec, shape = self._spec, self._shape
        found = api.create_container(
            shape.image.id,
            command=[],
            entrypoint=[self.shell, "-c", init_script()],
            name=f"hemra-{spec.run}-{spec.trial}.{spec.try_no}-{secrets.token_hex(4)}",
            hostname="trial",
            user="{}:{}".format(*shape.user),
            working_dir="/",
            stdin_open=True,
            labels=shape.labels,
            host_config=api.create_host_config(**self._host_config()),
            healthcheck={"test": ["NONE"]},
        )
        self.id = found["Id"]

    def _host_config(self) -> dict[str, Any]:
        limits = self._spec.limits
        config: dict[str, Any] = {
            "network_mode": self._shape.network,
            "mounts": [
                docker.types.Mount(each.target, str(each.source), type="bind", read_only=each.read_only)
                for each in self._shape.mounts
            ]
            + [
                docker.types.Mount(place, None, type="tmpfs", tmpfs_size=size, tmpfs_mode=0o1777)
                for place, size in self._shape.small.items()
            ],
            "read_only": True,
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true"],
            "ipc_mode": "private",
            "log_config": docker.types.LogConfig(type="none"),
            "ulimits": [docker.types.Ulimit(name="core", soft=0, hard=0)],
            "oom_score_adj": 500,  # rather a trial than the engine that records it
        }
        if limits.file_bytes is not None:
            size = limits.file_bytes
            config["ulimits"].append(docker.types.Ulimit(name="fsize", soft=size, hard=size))
        if limits.memory_bytes is not None:
            # The same number for memory and swap together: no swap.
            config["mem_limit"] = config["memswap_limit"] = max(limits.memory_bytes, _LEAST_MEMORY)
        if limits.cpus is not None:
            # An engine refuses more than the machine has.
            config["nano_cpus"] = round(min(limits.cpus, self._engine.processors) * NS)
        if limits.processes is not None:
            config["pids_limit"] = limits.processes + OWN_PROCESSES
        return config

    async def attach(self) -> Stream:
        """The streams of process 1, to be asked for before it starts. SandboxError when it is gone."""
        return await self._engine.hijack(f"/containers/{self.id}/attach?stream=1&stdin=1&stdout=1&stderr=1")

    async def start(self) -> None:
        """Start process 1. Raises SandboxError."""
        self.killed = False
        try:
            await self._engine.call(lambda api: api.start(self.id))
        except docker.errors.APIError as error:
            words = said(error)
            if SHELL in words:
                words = f"it has no {SHELL}, which every image for trials needs"
            raise SandboxError(
                f"a container of image {self._shape.image.ref} does not start: {words}", infra=True
            ) from error

    async def signal(self, name: str) -> None:
        """A signal to process 1; no error when it is gone. Raises EngineGone."""
        self.killed = self.killed or name == "KILL"
        with contextlib.suppress(docker.errors.APIError):
            await self._engine.call(lambda api: api.kill(self.id, signal=name), patience=PATIENCE_SECONDS)

    async def gone(self) -> None:
        """Wait until nothing of it runs; no error when it is gone. Raises EngineGone."""
        with contextlib.suppress(docker.errors.APIError):
            await self._engine.call(lambda api: api.wait(self.id, timeout=_GONE_SECONDS))

    async def state(self) -> dict[str, Any] | None:
        """What the engine knows of it; None when it is gone. Raises EngineGone."""
        try:
            found = await self._engine.call(lambda api: api.inspect_container(self.id))
        except docker.errors.APIError:
            return None
        state: dict[str, Any] = found["State"]
        return state

    async def exec(self, argv: list[str], environment: dict[str, str], *, tty: bool) -> tuple[str, Stream]:
        """Start a program beside process 1: its id and its streams. Raises SandboxError."""
        options = {"environment": environment, "stdin": not tty, "tty": tty, "workdir": "/"}
        try:
            found = await self._engine.call(
                lambda api: api.exec_create(self.id, argv, user="{}:{}".format(*self._shape.user), **options)
            )
        except docker.errors.APIError as error:
            raise SandboxError(f"the container takes no further program: {said(error)}") from error
        number: str = found["Id"]
        return number, await self._engine.hijack(f"/exec/{number}/start", {"Detach": False, "Tty": tty})

    async def exec_state(self, number: str) -> dict[str, Any] | None:
        """What the engine knows of such a program; None when its container is gone. Raises EngineGone."""
        try:
            found: dict[str, Any] = await self._engine.call(lambda api: api.exec_inspect(number))
        except docker.errors.APIError:
            return None
        return found

    async def remove(self) -> None:
        """Kill and remove it, if it is there. Raises SandboxError."""
        if not self.id:
            return
        number, self.id = self.id, ""
        try:
            await self._engine.call(lambda api: remove_container(api, number), patience=PATIENCE_SECONDS)
        except BaseException:
            self.id = number
            raise

    def kill_now(self) -> list[socket.socket]:
        """Order its end without waiting. The connections given back must stay open until this process ends."""
        if not self.id:
            return []
        self.killed = True
        held = []
        for method, path in (
            ("POST", f"/containers/{self.id}/kill"),
            ("DELETE", f"/containers/{self.id}?force=1&v=1"),
        ):
            with contextlib.suppress(OSError):
                found = self._engine.dial(0.5)
                held.append(found)
                found.sendall(
                    f"{method} /v{API_VERSION}{path} HTTP/1.1\r\nHost: engine\r\nContent-Length: 0\r\n\r\n".encode()
                )
        return held


def remove_container(api: docker.APIClient, number: str) -> None:
    """Kill and remove a container with its anonymous volumes; no error when it is gone. SandboxError. Blocks."""
    try:
        api.remove_container(number, force=True, v=True)
    except docker.errors.NotFound:
        return
    except docker.errors.APIError as error:
        # Somebody else is at it: then it is gone in a moment.
        if error.status_code == 409 and _vanishes(api, number):
            return
        raise SandboxError(f"container {number[:12]} cannot be removed: {said(error)}") from error


def _vanishes(api: docker.APIClient, number: str) -> bool:
    try:
        api.wait(number, timeout=_GONE_SECONDS, condition="removed")
    except docker.errors.NotFound:
        return True
    except docker.errors.APIError:
        return False
    return True


async def evidence(engine: Engine, container: Container, since_ns: int) -> dict[str, Any]:
    """What is to be known of a container that went away under its trial: its last state, what happened to it."""
    found: dict[str, Any] = {"container": container.id, "engine": engine.address}
    try:
        await asyncio.sleep(_SETTLE_SECONDS)
        state = await container.state()
        found["state"] = state and {
            name: state.get(name)
            for name in ("Status", "Running", "OOMKilled", "ExitCode", "Error", "StartedAt", "FinishedAt")
        }
        found["events"] = await asyncio.wait_for(
            engine.call(lambda api: _events(api, container.id, since_ns)), 5
        )
    except (EngineGone, TimeoutError, docker.errors.APIError) as error:
        found["error"] = str(error)
    return found


def _events(api: docker.APIClient, number: str, since: int) -> list[dict[str, Any]]:
    told = api.events(
        since=since // NS, until=clock.wall_ns() // NS + 1, filters={"container": number}, decode=True
    )
    return [{"time": each.get("timeNano"), "action": each.get("Action")} for each in told][-20:]
