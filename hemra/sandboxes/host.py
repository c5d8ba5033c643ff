"""The host sandbox: the trial's programs run as this user on this machine, in folders of their own.

It gives every try fresh folders, a scrubbed environment, limits and a thorough end of all processes. It
isolates neither the network nor the file system, and says so.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from dataclasses import replace

from eventlog.schemas.trials import Enforcement
from hemra.sandboxes.base import (
    ENFORCEMENTS,
    MARKER,
    ExecResult,
    ExecSpec,
    OnOutput,
    OnSample,
    OnStart,
    SandboxSpec,
)
from hemra.sandboxes.environment import trial_environment
from hemra.sandboxes.execution import Execution
from hemra.sandboxes.leftovers import become_subreaper, end_marked, marked
from hemra.sandboxes.scratch import Scratch


class HostSandbox:
    """One try of one trial on this machine. See `hemra.sandboxes.base.Sandbox`."""

    kind = "host"

    def __init__(self, spec: SandboxSpec) -> None:
        self._spec = spec
        self._scratch = Scratch(spec.root, spec.run, spec.trial, spec.try_no)
        self._token = f"{spec.run}/{spec.trial}.{spec.try_no}/{secrets.token_hex(8)}"
        self._executions: set[Execution] = set()
        self.workspace = self._scratch.workspace
        self.home = self._scratch.home
        self.harness_dir = self._scratch.harness

    async def create(self) -> None:
        """Make the folders; become the one who inherits orphans. Raises SandboxError."""
        become_subreaper()
        await asyncio.to_thread(self._scratch.create)

    def enforcement(self) -> dict[str, Enforcement]:
        """How each limit and isolation is held here."""
        return host_enforcement(linux=sys.platform == "linux", root=os.getuid() == 0)

    def environment(self) -> dict[str, str]:
        """What the allow-list lets through, the trial's own folders, its marker, and the spec's extras."""
        base = trial_environment(os.environ, home=self.home, tmp=self._scratch.tmp, workspace=self.workspace)
        return base | {MARKER: self._token} | self._spec.environment

    async def exec(
        self, spec: ExecSpec, on_start: OnStart, on_output: OnOutput, on_sample: OnSample
    ) -> ExecResult:
        """Run one program to its end and end everything that it started."""
        environment = spec.env | {MARKER: self._token}
        if spec.pty is not None and environment.get("TERM", "dumb") == "dumb":
            environment["TERM"] = "xterm-256color"
        spec = replace(spec, env=environment)
        execution = Execution(spec, self._spec.limits, self.workspace, on_output, on_sample)
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
        if any(marked(self._token.__eq__)):
            killed += (await asyncio.to_thread(end_marked, self._token.__eq__))[0]
        return killed

    async def destroy(self) -> None:
        """End what runs and remove the folders. Raises SandboxError naming what cannot be removed."""
        await self.stop()
        await asyncio.to_thread(self._scratch.destroy)

    def kill_now(self) -> None:
        """Order the end of every process and return at once; safe in a signal handler."""
        for execution in tuple(self._executions):
            execution.kill_now()


def host_enforcement(*, linux: bool, root: bool) -> dict[str, Enforcement]:
    """What the host sandbox enforces for this system and user. The trial runs as the same user as HEMRA, so
    nothing that a determined program of that user can undo is called enforced."""
    no, effort, yes = "not enforced", "best effort", "enforced"
    table = {
        "wall_time": Enforcement(status=yes, by="timer; SIGTERM, then SIGKILL to the whole tree"),
        "output": Enforcement(status=yes, by="bytes counted over stdout and stderr as they are read"),
        "memory": Enforcement(status=effort, by="memory of the process tree looked at 20 times a second"),
        "processes": Enforcement(status=effort, by="processes counted 20 times a second"),
        "file_size": Enforcement(status=effort if root else yes, by="RLIMIT_FSIZE"),
        "workspace_size": Enforcement(status=effort, by="workspace measured every 2 seconds"),
        "network": Enforcement(status=no, by="programs use this machine's network"),
        "file_system": Enforcement(status=no, by="programs read and write what this user may"),
        "user_home": Enforcement(status=no, by="HOME is a fresh folder; the user's own stays readable"),
        "verifier_hidden": Enforcement(
            status=no, by="never in the workspace, not named to the harness; readable to who finds it"
        ),
        "process_cleanup": Enforcement(
            status=effort,
            by="child subreaper, process groups, a marker in the environment" if linux else "process group",
        ),
        "environment": Enforcement(
            status=effort, by="allow-list; environments of this user's other processes stay readable"
        ),
    }
    return {name: table[name] for name in ENFORCEMENTS}
