"""The bwrap sandbox: as the host sandbox, in mount, pid, ipc, uts, user and network namespaces of the trial's own.

It needs bubblewrap and no privilege. Programs see a read-only system, their own folders, and what the harness
needs; the store, the user's home, the tasks and other trials are not there.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

from eventlog.schemas.trials import Enforcement
from hemra.sandboxes import bwrap_check, needs
from hemra.sandboxes.base import ENFORCEMENTS, TASK_FILES, Endpoint, SandboxError, SandboxSpec, SandboxTraits
from hemra.sandboxes.forwarding import Forwarder, places
from hemra.sandboxes.host import EFFORT, NO, YES, limits_enforcement
from hemra.sandboxes.launcher import tasks_of_user
from hemra.sandboxes.local import LocalSandbox
from hemra.sandboxes.mounts import View
from hemra.sandboxes.room import Room
from hemra.sandboxes.scratch import scratch_root
from hemra.sandboxes.starter import Starter

PROGRAM = "bwrap"
#: Option of `--sandbox bwrap:OPTION`: programs may make namespaces in theirs, as browsers and some agents do to
#: enclose what they run.
NESTED = "nested"


def _why_not(option: str | None) -> str | None:
    """Why it cannot be used here; None when it can."""
    if option not in (None, NESTED):
        return f"bwrap takes the option {NESTED!r} (namespaces in namespaces) or none, so not {option!r}"
    return bwrap_check.why_not()


class BwrapSandbox(LocalSandbox):
    """One try of one trial in namespaces of its own. See `hemra.sandboxes.base.Sandbox`."""

    traits = SandboxTraits(why_not=_why_not, holds_quotas=True)
    kind = "bwrap"

    def __init__(self, spec: SandboxSpec) -> None:
        super().__init__(spec)
        self._group.tracked = False  # the pid namespace does that
        self._places = places(spec.reach) if spec.network == "gateway" else {}
        self._room: Room | None = None
        self._forwarder = Forwarder()
        self._made = self._scratch.path / "room"

    async def create(self) -> None:
        """Make the folders, the control group and the namespaces. Raises SandboxError."""
        bwrap = shutil.which(PROGRAM)
        if bwrap is None:
            raise SandboxError(
                "bubblewrap is not installed: install it (Debian: bubblewrap), or use --sandbox host"
            )
        await super().create()
        self._made.mkdir(mode=0o700)
        room = Room(bwrap, self._arguments(), list(self._places.values()))
        await room.open()
        self._room = room
        for listener, endpoint in zip(room.listening, self._places, strict=True):
            await self._forwarder.add(listener, endpoint)
        room.listening = []

    def _arguments(self) -> list[str]:
        spec = self.spec
        hidden = [*spec.hidden, scratch_root(spec.root), Path.home()]
        wanted = [Path(os.path.abspath(path)) for path in spec.read_only]
        refused = [path for path in wanted if path == Path("/")] or needs.unseen(wanted, spec.hidden)
        if refused:
            raise SandboxError(
                f"the harness asks for {refused[0]}, where there is more than a trial may see: name what it needs"
            )
        view = View(["--share-net" if spec.network == "full" else "--unshare-net"])
        if self._nested() is None:
            view.arguments += bwrap_check.CLOSED
        view.system()
        view.plain_user(self._made)
        view.open(self._scratch.tmp, "/tmp")
        view.show(
            [*needs.of_interpreter(), *wanted], hidden, [] if spec.solution is None else [spec.solution]
        )
        for folder in (self.workspace, self.home, self.harness_dir):
            view.open(folder, str(folder))
        if spec.task_files:
            view.file(self.harness_dir / TASK_FILES, self.harness_dir / TASK_FILES)
        for place, size in spec.quotas.items():
            view.temporary(str(self.workspace / place), size)
        for login in spec.login_files:
            view.file(self.home / login.target, self.home / login.target)
        view.close()
        return view.arguments

    def _nested(self) -> str | None:
        """Why programs may make user namespaces; None when they may not."""
        return (
            f"allowed by --sandbox {self.kind}:{NESTED}"
            if self.spec.option == NESTED
            else bwrap_check.why_nested()
        )

    def environment(self) -> dict[str, str]:
        """As on the host; root's trial has a plain user's name."""
        environment = super().environment()
        if os.getuid() == 0:
            environment |= {"USER": "trial", "LOGNAME": "trial"}
        return environment | self.spec.environment

    def inside(self, path: Path) -> str:
        """At the same place, but for the temporary folder, which is /tmp."""
        return "/tmp" if path == self._scratch.tmp else str(path)

    def address(self, endpoint: Endpoint) -> Endpoint:
        """Where it is listened for inside."""
        return self._places.get(endpoint, endpoint)

    def starter(self) -> Starter:
        """The namespaces' own process 1."""
        if self._room is None:
            raise SandboxError("the sandbox was not created, or is gone")
        return self._room

    def contained(self) -> bool:
        """Always: a process cannot leave its pid namespace."""
        return True

    def tasks(self) -> int:
        """Counted here: in the pid namespace only the trial's own are seen."""
        if self.spec.limits.processes is None or os.getuid() == 0 or "processes" in self._group.folders:
            return 0
        return tasks_of_user()

    async def stop(self) -> int:
        """End every process of the trial. Returns how many had to be killed."""
        killed = await super().stop()
        return killed + (await self._room.kill_all() if self._room is not None else 0)

    async def destroy(self) -> None:
        """End what runs, and the namespaces with it; remove the folders. Raises SandboxError naming what is left."""
        try:
            await super().stop()
        finally:
            room, self._room = self._room, None
            if room is not None:
                await room.close()
            await self._forwarder.close()
        await asyncio.to_thread(self._destroy)

    def kill_now(self) -> None:
        """Order the end of every process and return at once; safe in a signal handler."""
        super().kill_now()
        if self._room is not None:
            self._room.kill_now()

    def enforcement(self) -> dict[str, Enforcement]:
        """How each limit and isolation is held here."""
        return bwrap_enforcement(
            root=os.getuid() == 0,
            groups=self._group.uses,
            network=self.spec.network,
            nested=self._nested(),
        )


def bwrap_enforcement(
    *, root: bool, groups: frozenset[str], network: str, nested: str | None = None
) -> dict[str, Enforcement]:
    """What bubblewrap's namespaces enforce for this user, these control groups and this network. `nested` is why
    programs may make user namespaces."""
    unseen = "mount namespace: not there"
    own_network = {"none": "network namespace without a way out",
                   "gateway": "network namespace; only the given endpoints are carried through"}  # fmt: skip
    table: dict[str, Any] = limits_enforcement(root=root, groups=groups, inside=True) | {
        "file_system": Enforcement(
            status=YES, by="mount namespace: all but the trial's folders is read-only"
        ),
        "user_home": Enforcement(status=YES, by=unseen),
        "store_hidden": Enforcement(status=YES, by=unseen),
        "verifier_hidden": Enforcement(status=YES, by=unseen),
        "other_trials": Enforcement(status=YES, by=unseen),
        "host_processes": Enforcement(status=YES, by="pid and ipc namespaces"),
        "environment": Enforcement(status=YES, by="allow-list; no other process can be looked at"),
        "privileges": Enforcement(status=YES, by="no_new_privs, no capability, user namespace"),
        "user_namespaces": Enforcement(status=YES, by="the trial's may have none in it")
        if nested is None
        else Enforcement(status=NO, by=nested),
        "process_cleanup": Enforcement(status=YES, by="pid namespace ends with the trial"),
    }
    for name in ("network", "host_services", "cloud_metadata", "user_sockets"):
        if network in own_network:
            table[name] = Enforcement(status=YES, by=own_network[network])
        else:
            table[name] = Enforcement(status=NO, by="programs use this machine's network")
    if network == "full":
        table["user_sockets"] = Enforcement(
            status=EFFORT, by="sockets with a name in the file system are not there; others are open"
        )
    return {name: table[name] for name in ENFORCEMENTS}
