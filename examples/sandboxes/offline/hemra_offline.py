"""A sandbox of another package: the host sandbox with the network switched off by util-linux' `unshare`.

It shows all that a sandbox for this machine has to say: whether it works here, what it enforces, and what it
does in another way than `LocalSandbox`, from which it has folders, limits, terminals, telemetry and clean-up.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

from eventlog.schemas.trials import Enforcement
from hemra.sandboxes.base import (
    ExecResult,
    ExecSpec,
    OnOutput,
    OnSample,
    OnStart,
    SandboxError,
    SandboxTraits,
)
from hemra.sandboxes.cgroups import usable
from hemra.sandboxes.host import host_enforcement
from hemra.sandboxes.local import LocalSandbox

#: A network namespace in which there is nothing, not even a loopback interface that is up.
PREFIX = ["unshare", "--map-current-user", "--net", "--"]


def why_not(option: str | None) -> str | None:
    """Why it cannot be used here; None when it can. Asked before a run starts."""
    if option is not None:
        return f"offline takes no option, so not {option!r}"
    try:
        done = subprocess.run([*PREFIX, "true"], capture_output=True, text=True, timeout=10, check=False)
    except OSError as error:
        return f"unshare cannot be started: {error.strerror}; install util-linux"
    return None if done.returncode == 0 else done.stderr.strip() or "unshare does not work here"


class OfflineSandbox(LocalSandbox):
    """One try of one trial on this machine, without any network."""

    traits = SandboxTraits(why_not=why_not)
    kind = "offline"

    async def create(self) -> None:
        """Make the folders, unless the trial is to reach something."""
        if self.spec.network == "gateway":
            raise SandboxError("the offline sandbox lets nothing through: use --sandbox bwrap")
        await super().create()

    def enforcement(self) -> dict[str, Enforcement]:
        """As on the host, and no network. What is recorded of a trial is never more than a probe showed."""
        host = host_enforcement(
            linux=sys.platform == "linux", root=os.getuid() == 0, groups=frozenset(usable())
        )
        if self.spec.network == "full":
            return host
        held = Enforcement(status="enforced", by="network namespace without an interface")
        return host | dict.fromkeys(("network", "host_services", "cloud_metadata"), held)

    async def exec(
        self, spec: ExecSpec, on_start: OnStart, on_output: OnOutput, on_sample: OnSample
    ) -> ExecResult:
        """Run one program in the namespace."""
        if self.spec.network != "full":
            spec = replace(spec, argv=[*PREFIX, *spec.argv])
        return await super().exec(spec, on_start, on_output, on_sample)
