"""The docker sandbox: one container for one try of a trial, made, watched and removed through the engine's API.

The trial's folders are mounted into it, read-only but for workspace, HOME and /tmp; it has no capability, no way
to gain one, no network but what the trial was given, and an ordinary user. Process 1 is `docker_init.sh`.
docs/docker.md says what is enforced by what.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from eventlog.schemas.trials import Enforcement
from hemra.sandboxes import docker_engine, docker_shell
from hemra.sandboxes.base import (
    MARKER,
    Endpoint,
    ExecResult,
    ExecSpec,
    OnOutput,
    OnSample,
    OnStart,
    SandboxError,
    SandboxSpec,
    SandboxTraits,
    Snapshot,
)
from hemra.sandboxes.docker_claims import docker_enforcement
from hemra.sandboxes.docker_container import OWN_PROCESSES, Container, Shape, labels
from hemra.sandboxes.docker_engine import Stream, engine, why_no_engine
from hemra.sandboxes.docker_execution import DockerExecution, NotStarted, Place, Running
from hemra.sandboxes.docker_forward import Forwarding
from hemra.sandboxes.docker_image import Image, find_image
from hemra.sandboxes.docker_meter import Meter, sample_of_stats
from hemra.sandboxes.docker_mounts import CONTROL, HOME, TMP, WORKSPACE, Folders
from hemra.sandboxes.docker_network import Network
from hemra.sandboxes.docker_owner import hand_over, trial_user
from hemra.sandboxes.docker_program import Beside, Main, ending
from hemra.sandboxes.docker_reclaim import reclaim
from hemra.sandboxes.docker_words import Ending, Order, Refused
from hemra.sandboxes.files import FolderFiles
from hemra.sandboxes.launched import start_failure
from hemra.sandboxes.scratch import Scratch

_FALLBACK_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _why_not(option: str | None) -> str | None:
    """Why no container can be made here; None when an engine answers. The image is not looked for."""
    return "docker: names no image" if option == "" else why_no_engine()


class DockerSandbox(FolderFiles):
    """One try of one trial in a container of its own. See `hemra.sandboxes.base.Sandbox`."""

    traits = SandboxTraits(why_not=_why_not, brings_programs=True, holds_quotas=True, reclaim=reclaim)
    kind = "docker"

    def __init__(self, spec: SandboxSpec) -> None:
        self._spec = spec
        self._scratch = Scratch(spec.root, spec.run, spec.trial, spec.try_no)
        self._folders = Folders(self._scratch, spec)
        self._token = f"{spec.run}/{spec.trial}.{spec.try_no}"
        self._engine = engine()
        self._image: Image | None = None
        self._container: Container | None = None
        self._network = Network(self._engine, spec, labels(spec, self._scratch.path))
        reach = spec.reach if spec.network != "none" else ()
        self._forwarding = Forwarding(self._folders.control, CONTROL, reach)
        self._user = (0, 0)
        self._lifeline = -1
        self._stream: Stream | None = None
        self._first: Main | None = None
        self._meter: Meter | None = None
        self._turn = asyncio.Lock()
        self._holds = False
        self._executions: set[DockerExecution] = set()
        self._final: Snapshot | None = None
        self._held: list[socket.socket] = []
        self.workspace = self._scratch.workspace
        self.home = self._scratch.home
        self.harness_dir = self._scratch.harness
        self.details: dict[str, Any] = {}

    # -- its life ----------------------------------------------------------------------------

    async def create(self) -> None:
        """Make the folders, find the image, make and start the container. Raises SandboxError."""
        spec = self._spec
        self._engine.hold()
        self._holds = True
        problem = docker_engine.address_problem(self._engine.address)
        if problem:
            raise SandboxError(problem, infra=True)
        try:
            self._image = image = await find_image(self._engine, spec.option, spec.task, spec.store)
            rootless = await asyncio.to_thread(lambda: self._engine.rootless)
        except docker_engine.EngineGone as error:
            raise SandboxError(str(error), evidence=error.evidence, infra=True) from error
        self._user = trial_user(rootless=rootless)
        await asyncio.to_thread(self._make_folders)
        try:
            await self._forwarding.open()
        except OSError as error:
            raise SandboxError(
                f"no socket for the trial's endpoints can be made: {error.strerror}"
            ) from error
        network = await self._network.create()
        small = {f"{WORKSPACE}/{folder}": size for folder, size in spec.quotas.items()}
        marks = labels(spec, self._scratch.path)
        closed = await self._close_shell(image, marks)
        shell = f"{CONTROL}/{docker_shell.NAME}" if closed else docker_shell.SHELL
        shape = Shape(image, self._user, self._folders.mounts(), network, marks, small, shell)
        self._container = Container(self._engine, spec, shape)
        await self._container.create()
        await self._start_container(self._container)
        self.details = image.details() | {
            "container": self._container.id, "user": "{}:{}".format(*self._user), "network": network,
            "process_1": "out of reach" if closed else "within reach of the trial",
            "engine": await asyncio.to_thread(lambda: self._engine.info().get("ServerVersion")),
        }  # fmt: skip

    async def _close_shell(self, image: Image, marks: dict[str, str]) -> bool:
        """Whether process 1 is to be out of the trial's reach."""
        shell = await docker_shell.shell_of(self._engine, image, marks)
        return await asyncio.to_thread(docker_shell.put, shell, self._folders.control)

    def _make_folders(self) -> None:
        self._scratch.create()
        self._lifeline = self._folders.make(self._user)

    async def _start_container(self, container: Container) -> Stream:
        """Process 1 runs and waits for an order on the stream."""
        self._stream = stream = await container.attach()
        await container.start()
        self._meter = None
        return stream

    def enforcement(self) -> dict[str, Enforcement]:
        """How each limit and isolation is held here."""
        return docker_enforcement(self._engine, network=self._spec.network, root=self._user[0] == 0)

    def environment(self) -> dict[str, str]:
        """What the image sets, the trial's own folders, its marker, and the spec's extras: nothing of the user's."""
        image = self._image.environment if self._image else {}
        own = {
            "HOME": HOME, "PWD": self.inside(self.workspace), "TMPDIR": TMP, "SHELL": "/bin/sh", "TERM": "dumb",
            "USER": "trial", "LOGNAME": "trial", MARKER: self._new_token(),
            "XDG_CACHE_HOME": f"{HOME}/.cache", "XDG_CONFIG_HOME": f"{HOME}/.config",
            "XDG_DATA_HOME": f"{HOME}/.local/share", "XDG_STATE_HOME": f"{HOME}/.local/state",
            "XDG_RUNTIME_DIR": TMP,
        }  # fmt: skip
        known = {"PATH": _FALLBACK_PATH, "LANG": "C.UTF-8"} | image | own | self._spec.environment
        return dict(sorted(known.items()))

    def _new_token(self) -> str:
        return f"{self._token}/{secrets.token_hex(8)}"

    def inside(self, path: Path) -> str:
        """Where programs of the trial see it."""
        return self._folders.inside(path)

    def address(self, endpoint: Endpoint) -> Endpoint:
        """At a loopback address of the container."""
        return self._forwarding.addresses.get(endpoint, endpoint)

    async def put(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """Write a file of the trial, which is then its user's. See `hemra.sandboxes.base.Sandbox.put`."""
        await super().put(path, content, executable=executable)
        await asyncio.to_thread(hand_over, self._folders.all, self._user)

    async def snapshot(self) -> Snapshot:
        """Everything below the workspace while it is the trial's user's: changing hands is no change."""
        if self._final is not None:
            return self._final
        if not self._executions:
            await asyncio.to_thread(hand_over, self._folders.all, self._user)
        return await super().snapshot()

    # -- programs ----------------------------------------------------------------------------

    async def exec(
        self, spec: ExecSpec, on_start: OnStart, on_output: OnOutput, on_sample: OnSample
    ) -> ExecResult:
        """Run one program to its end and end everything that it started."""
        container = self._container
        if container is None or not container.id:
            raise SandboxError("the sandbox was not created, or is gone")
        # A marker for each program: the end of one must not be the end of those that run beside it.
        environment = spec.env | {MARKER: self._new_token()}
        if spec.pty is not None and environment.get("TERM", "dumb") == "dumb":
            environment["TERM"] = "xterm-256color"
        # This Python is not in the container; the image's own is meant.
        argv = ["python3" if word == sys.executable else word for word in spec.argv]
        spec = replace(spec, env=environment, argv=argv)
        place = Place(
            limits=self._spec.limits, folders=self._folders.writable,
            start=lambda: self._start(container, spec), meter=lambda: self._meter_of(container),
            ask=lambda keep: self._ask(container, keep),
        )  # fmt: skip
        execution = DockerExecution(spec, place, on_output, on_sample)
        self._executions.add(execution)
        try:
            return await execution.run(on_start)
        except SandboxError:
            if not self._held:
                raise
            return ExecResult(error="the sandbox was ended at once", flags=["stopped"])
        finally:
            self._executions.discard(execution)
            if not self._executions:
                await self._leave(container)

    def _meter_of(self, container: Container) -> Meter:
        if self._meter is None:
            self._meter = Meter(container.id, OWN_PROCESSES - (1 if self._forwarding.words else 3))
        return self._meter

    async def _ask(self, container: Container, keep: OnSample) -> None:
        with contextlib.suppress(docker_engine.EngineGone):
            keep(await self._engine.call(lambda api: sample_of_stats(api, container.id, OWN_PROCESSES - 3)))

    async def _start(self, container: Container, spec: ExecSpec) -> tuple[Running, int]:
        """Start a program: under process 1 when it is free, else beside it. NotStarted, SandboxError."""
        if any("\0" in word for word in (*spec.argv, *spec.env.values())) or "=" in spec.argv[0]:
            raise NotStarted(start_failure(spec.argv[0], None, "a word holds what no command can"))
        if spec.pty is not None and not isinstance(spec.stdin, bytes | None):
            raise NotStarted(
                "what is talked to while it runs cannot be on a terminal in a container; use pipes"
            )
        order = Order(
            argv=spec.argv, env=spec.env, folder=spec.cwd, control=CONTROL, forward=self._forwarding.words
        )
        async with self._turn:
            try:
                return await self._start_first(container, spec, order)
            except Refused as error:
                raise NotStarted(self._refusal(spec, str(error))) from error

    async def _start_first(self, container: Container, spec: ExecSpec, order: Order) -> tuple[Running, int]:
        if self._first is not None:
            return await self._start_beside(container, spec, order)
        self._final = None
        await asyncio.to_thread(hand_over, self._folders.all, self._user)
        stream = self._stream
        if stream is None:
            await container.gone()  # an engine that still sees it run would not start it
            stream = await self._start_container(container)
        self._stream = None
        self._first = first = Main(self._engine, container, stream, order.env[MARKER])
        try:
            if spec.pty is None:
                return first, await first.start(order)
            await first.start(replace(order, argv=[], folder="/"), "idle")
            beside, pid = await self._start_beside(container, spec, order)
            return _Alone(beside, first, lambda: len(self._executions) == 1), pid
        except BaseException:
            self._first = None
            await first.close()
            raise

    async def _start_beside(self, container: Container, spec: ExecSpec, order: Order) -> tuple[Beside, int]:
        program = Beside(self._engine, container, order.env[MARKER])
        try:
            if spec.pty is None:
                return program, await program.start(order)
            name = f"stdin-{secrets.token_hex(4)}"
            given = spec.stdin if isinstance(spec.stdin, bytes) else b""
            await asyncio.to_thread(self._folders.put_control, name, given, self._user)
            return program, await program.start_on_terminal(order, spec.pty, f"{CONTROL}/{name}")
        except BaseException:
            await program.close()
            raise

    def _refusal(self, spec: ExecSpec, number: str) -> str:
        ref = self._image.ref if self._image else "?"
        if number == "forward":
            return f"image {ref} has neither python3 nor perl, one of which carries the trial's connections"
        if number == "forward-failed":
            return f"what carries the trial's connections does not start in image {ref}"
        if number == "20":
            return f"cannot start {spec.argv[0]!r}: its working folder {spec.cwd} is not there"
        text = start_failure(spec.argv[0], int(number), os.strerror(int(number)))
        return f"{text} (in image {ref})"

    async def _leave(self, container: Container) -> None:
        """The last program has ended: so does process 1, by itself or not."""
        first, self._first = self._first, None
        if first is not None:
            if not first.over:
                await container.signal("KILL")
            await first.close()

    # -- its end -----------------------------------------------------------------------------

    async def stop(self) -> int:
        """End every process of the trial. Returns how many had to be killed."""
        running = list(self._executions)
        for execution in running:
            execution.stop(at_once=False, flag="stopped")
        for execution in running:
            await execution.over.wait()
        await self._take_back()
        return sum(execution.killed for execution in running)

    async def _take_back(self) -> None:
        """What the trial wrote is this user's again: whoever scores it may not be as mighty as this process."""
        if self._user[0] in (0, os.getuid()) or self._final is not None or not self.workspace.is_dir():
            return
        self._final = await super().snapshot()
        await asyncio.to_thread(hand_over, self._folders.all, (os.getuid(), os.getgid()))

    async def destroy(self) -> None:
        """Remove the container, its network and the folders. Raises SandboxError naming what is left."""
        await self.stop()
        try:
            if self._stream is not None:
                await self._stream.close()
                self._stream = None
            if self._container is not None:
                await self._container.remove()
            await self._network.remove()
        finally:
            await self._forwarding.close()
            if self._lifeline >= 0:
                os.close(self._lifeline)
                self._lifeline = -1
            while self._held:
                self._held.pop().close()
            if self._holds:
                self._holds = False
                self._engine.let_go()
        await asyncio.to_thread(self._scratch.destroy)

    def kill_now(self) -> None:
        """Order the end of the container and return at once; safe in a signal handler."""
        if self._container is not None:
            self._held += self._container.kill_now()


class _Alone:
    """A program beside an idle process 1: what that counts at the end is the program's."""

    def __init__(self, program: Beside, first: Main, alone: Any) -> None:
        self._program = program
        self._first = first
        self._alone = alone
        self.outputs = program.outputs

    async def write(self, data: bytes) -> bool:
        return await self._program.write(data)

    def end_input(self) -> None:
        self._program.end_input()

    async def ended(self) -> Ending:
        ended = await self._program.ended(sweep_too=not self._alone())
        if not self._alone():
            return ended
        await self._first.release()
        counted = await self._first.ended()
        counted.code = ended.code
        return counted

    async def terminate(self) -> None:
        await self._program.terminate()

    async def kill(self) -> None:
        await ending(self._first.kill(), self.outputs)

    async def close(self) -> None:
        await self._program.close()
