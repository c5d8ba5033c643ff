"""What sandboxes that run on this machine's own system have in common: folders, programs, their end.

A sandbox of this kind says where launchers are started (`_starter`), what its folders are called inside, and what
it enforces. Everything else is here.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from hemra.sandboxes.base import (
    MARKER,
    TASK_FILES,
    Endpoint,
    ExecResult,
    ExecSpec,
    OnOutput,
    OnSample,
    OnStart,
    SandboxError,
    SandboxSpec,
    SandboxTraits,
)
from hemra.sandboxes.cgroups import Group
from hemra.sandboxes.environment import trial_environment
from hemra.sandboxes.execution import Execution, Place
from hemra.sandboxes.files import FolderFiles
from hemra.sandboxes.leftovers import become_subreaper, end_marked, marked
from hemra.sandboxes.scratch import Scratch
from hemra.sandboxes.starter import HostStarter, Starter


class LocalSandbox(FolderFiles):
    """One try of one trial on this machine. See `hemra.sandboxes.base.Sandbox`; `spec` is what it was made for.

    A sandbox made from this one gives its `kind`, its `traits`, its `enforcement`, and what it does in another way.
    """

    traits: ClassVar[SandboxTraits]
    kind = "local"

    def __init__(self, spec: SandboxSpec) -> None:
        self.spec = spec
        self._scratch = Scratch(spec.root, spec.run, spec.trial, spec.try_no)
        self._token = f"{spec.run}/{spec.trial}.{spec.try_no}"
        self._group = Group(f"{spec.run}.{spec.trial}.{spec.try_no}", spec.limits)
        self._executions: set[Execution] = set()
        self.workspace = self._scratch.workspace
        self.home = self._scratch.home
        self.harness_dir = self._scratch.harness
        self.details: dict[str, Any] = {}

    async def create(self) -> None:
        """Make the folders and the control group; become the one who inherits orphans. Raises SandboxError."""
        become_subreaper()
        await asyncio.to_thread(self._create)

    def _create(self) -> None:
        self._scratch.create()
        self._group.create()
        if self.spec.task_files:
            (self.harness_dir / TASK_FILES).mkdir(mode=0o755)
        self._put_login_files()

    def _put_login_files(self) -> None:
        """Copy what the harness needs to log in, nothing else of the user's home."""
        for login in self.spec.login_files:
            try:
                content = login.source.read_bytes()
            except OSError as error:
                raise SandboxError(
                    f"login file {login.source} cannot be read: {error.strerror}; log in first, or take it out "
                    "of the harness file"
                ) from error
            target = self.home / login.target
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o400)

    def environment(self) -> dict[str, str]:
        """What the allow-list lets through, the trial's own folders, its marker, and the spec's extras."""
        base = trial_environment(
            os.environ, home=self.home, tmp=Path(self.inside(self._scratch.tmp)), workspace=self.workspace
        )
        return base | {MARKER: self._new_token()} | self.spec.environment

    def _new_token(self) -> str:
        return f"{self._token}/{secrets.token_hex(8)}"

    def _is_ours(self, token: str) -> bool:
        return token.startswith(f"{self._token}/")

    def address(self, endpoint: Endpoint) -> Endpoint:
        """The same as on this machine."""
        return endpoint

    def starter(self) -> Starter:
        """Who starts launchers, where the trial's programs are to run."""
        return HostStarter()

    def contained(self) -> bool:
        """Whether the kernel knows every process of the trial: root's may leave their control group."""
        return "track" in self._group.folders and os.getuid() != 0

    def tasks(self) -> int:
        """How many tasks this user has, where a launcher cannot count them itself; 0: it can."""
        return 0

    async def exec(
        self, spec: ExecSpec, on_start: OnStart, on_output: OnOutput, on_sample: OnSample
    ) -> ExecResult:
        """Run one program to its end and end everything that it started."""
        # A marker for each program: the end of one must not be the end of those that run beside it.
        environment = spec.env | {MARKER: self._new_token()}
        if spec.pty is not None and environment.get("TERM", "dumb") == "dumb":
            environment["TERM"] = "xterm-256color"
        spec = replace(spec, env=environment)
        scratch = self._scratch
        place = Place(
            limits=self.spec.limits, folders=(scratch.workspace, scratch.home, scratch.tmp),
            starter=self.starter(), group=self._group if self._group.folders else None, tasks=self.tasks(),
            contained=self.contained(),
        )  # fmt: skip
        execution = Execution(spec, place, on_output, on_sample)
        self._executions.add(execution)
        try:
            return await execution.run(on_start)
        finally:
            self._executions.discard(execution)

    async def stop(self) -> int:
        """End every process of the trial: in order what runs, at once what is left of it. Returns how many
        had to be killed."""
        running = list(self._executions)
        for execution in running:
            execution.stop(at_once=False, flag="stopped")
        for execution in running:
            await execution.over.wait()
        killed = sum(execution.killed for execution in running)
        if self._group.living():
            killed += await asyncio.to_thread(self._group.kill)
        if not self.contained() and any(marked(self._is_ours)):
            killed += (await asyncio.to_thread(end_marked, self._is_ours))[0]
        return killed

    async def destroy(self) -> None:
        """End what runs and remove the folders. Raises SandboxError naming what cannot be removed."""
        await self.stop()
        await asyncio.to_thread(self._destroy)

    def _destroy(self) -> None:
        left = self._group.destroy()
        self._scratch.destroy()
        if left:
            raise SandboxError(f"cannot remove the control group {left[0]}: a process in it does not end")

    def kill_now(self) -> None:
        """Order the end of every process and return at once; safe in a signal handler."""
        for execution in tuple(self._executions):
            execution.kill_now()
        self._group.kill_now()
