"""The host sandbox: the trial's programs run as this user on this machine, in folders of their own.

It gives every try fresh folders, a scrubbed environment, limits and a thorough end of all processes. It
isolates neither the network nor the file system, and says so.
"""

from __future__ import annotations

import os
import sys

from eventlog.schemas.trials import Enforcement
from hemra.sandboxes.base import ENFORCEMENTS, SandboxTraits
from hemra.sandboxes.local import LocalSandbox

NO, EFFORT, YES = "not enforced", "best effort", "enforced"


def _why_not(option: str | None) -> str | None:
    """Nothing keeps it from being used; it has no option."""
    return None if option is None else f"host takes no option, so not {option!r}"


class HostSandbox(LocalSandbox):
    """One try of one trial on this machine. See `hemra.sandboxes.base.Sandbox`."""

    traits = SandboxTraits(why_not=_why_not)
    kind = "host"

    def enforcement(self) -> dict[str, Enforcement]:
        """How each limit and isolation is held here."""
        return host_enforcement(
            linux=sys.platform == "linux",
            root=os.getuid() == 0,
            groups=self._group.uses,
        )


def limits_enforcement(*, root: bool, groups: frozenset[str], inside: bool) -> dict[str, Enforcement]:
    """How limits are held on this machine. `groups`: uses for which there are control groups. `inside`: programs
    cannot get at what holds them, because they are in namespaces of their own."""
    out_of_reach = inside or not root
    sampled = "looked at 20 times a second"

    def by_group(use: str, group: str, otherwise: Enforcement) -> Enforcement:
        if use not in groups:
            return otherwise
        # A program of root's on the host may leave its group.
        return Enforcement(status=YES if out_of_reach else EFFORT, by=f"control group ({group})")

    return {
        "wall_time": Enforcement(status=YES, by="timer; SIGTERM, then SIGKILL to the whole tree"),
        "cpu_time": by_group("cpu", "CPU time of all that was in it", Enforcement(
            status=EFFORT, by=f"CPU time of the process tree {sampled}; RLIMIT_CPU")),
        "cpus": by_group("cpus", "quota of CPU time in each 0.1 s", Enforcement(
            status=NO, by="no control group that rations CPU time can be made")),
        "output": Enforcement(status=YES, by="bytes counted over stdout and stderr as they are read"),
        "memory": by_group("memory", "memory", Enforcement(
            status=EFFORT, by=f"memory of the process tree {sampled}; RLIMIT_DATA")),
        "processes": by_group("processes", "pids: 4 threads for each and 128 more", Enforcement(
            status=EFFORT, by=f"processes counted, {sampled}")),
        "file_size": Enforcement(status=YES if out_of_reach else EFFORT, by="RLIMIT_FSIZE"),
        "workspace_size": Enforcement(status=EFFORT, by="folders measured twice a second"),
    }  # fmt: skip


def host_enforcement(
    *, linux: bool, root: bool, groups: frozenset[str] = frozenset()
) -> dict[str, Enforcement]:
    """What the host sandbox enforces for this system and user. The trial runs as the same user as HEMRA, so
    nothing that a determined program of that user can undo is called enforced."""
    tracked = "track" in groups and not root
    table = limits_enforcement(root=root, groups=groups, inside=False) | {
        "file_system": Enforcement(status=NO, by="programs read and write what this user may"),
        "user_home": Enforcement(status=NO, by="HOME is a fresh folder; the user's own stays readable"),
        "store_hidden": Enforcement(status=NO, by="readable to who finds it"),
        "verifier_hidden": Enforcement(
            status=NO, by="never in the workspace, not named to the harness; readable to who finds it"
        ),
        "other_trials": Enforcement(status=NO, by="readable to who finds them"),
        "host_processes": Enforcement(status=NO, by="programs see and may end what this user may"),
        "network": Enforcement(status=NO, by="programs use this machine's network"),
        "host_services": Enforcement(status=NO, by="programs use this machine's loopback"),
        "cloud_metadata": Enforcement(status=NO, by="programs use this machine's network"),
        "user_sockets": Enforcement(status=NO, by="not named to the harness; open to who finds them"),
        "environment": Enforcement(
            status=EFFORT, by="allow-list; environments of this user's other processes stay readable"
        ),
        "privileges": Enforcement(status=NO, by="what this user may, programs may"),
        "user_namespaces": Enforcement(status=NO, by="what this user may, programs may"),
        "process_cleanup": Enforcement(
            status=YES if tracked else EFFORT,
            by=("control group; " if "track" in groups else "")
            + ("child subreaper, process groups, a marker in the environment" if linux else "process group"),
        ),
    }
    return {name: table[name] for name in ENFORCEMENTS}
