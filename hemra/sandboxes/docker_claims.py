"""What the docker sandbox says that it enforces, and by what."""

from __future__ import annotations

from typing import Any

from eventlog.schemas.trials import Enforcement
from hemra.sandboxes.base import ENFORCEMENTS
from hemra.sandboxes.docker_engine import Engine, EngineGone

_YES, _EFFORT, _NO = "enforced", "best effort", "not enforced"


def docker_enforcement(engine: Engine, *, network: str, root: bool) -> dict[str, Enforcement]:
    """How each of `ENFORCEMENTS` is held by this engine. `root`: the trial's user is root in the container, which a
    rootless engine makes an ordinary user of this machine. Blocks when the engine was never asked."""
    info: dict[str, Any] = {}
    try:
        info = engine.info()
    except EngineGone:
        info = {}
    unseen = "mount namespace: not there"
    table = {
        "wall_time": (_YES, "timer; SIGTERM, then SIGKILL to the container"),
        "cpu_time": (_EFFORT, "CPU time of the container looked at 20 times a second"),
        "cpus": (_YES, "the engine: quota of CPU time of the container") if info.get("CpuCfsQuota")
        else (_NO, "this engine does not ration CPU time"),
        "output": (_YES, "bytes counted over stdout and stderr as they are read"),
        "memory": (_YES, "the engine: memory of the container") if info.get("MemoryLimit")
        else (_NO, "this engine has no memory limit"),
        "processes": (_YES, "the engine: pids of the container") if info.get("PidsLimit")
        else (_NO, "this engine has no limit of processes"),
        "file_size": (_YES, "RLIMIT_FSIZE"),
        "workspace_size": (_EFFORT, "folders measured twice a second; nothing else can be written"),
        "file_system": (_YES, "mount namespace: all but the trial's folders is read-only"),
        "user_home": (_YES, unseen),
        "store_hidden": (_YES, unseen),
        "verifier_hidden": (_YES, unseen),
        "other_trials": (_YES, "a container, and with a network a bridge, of its own"),
        "host_processes": (_YES, "pid and ipc namespaces"),
        "user_sockets": (_YES, unseen),
        "environment": (_YES, "the image's and the trial's own; no other process can be looked at"),
        "privileges": (_YES, "no_new_privs, no capability, "
                       + ("root of a rootless engine" if root else "not root")),
        "user_namespaces": (_YES, "the engine's seccomp profile") if _has_seccomp(info)
        else (_NO, "this engine runs containers without a seccomp profile"),
        "process_cleanup": (_YES, "the container's pid namespace ends with the trial"),
    }  # fmt: skip
    if network == "full":
        table |= {
            "network": (_NO, "programs use this machine's network, through a bridge"),
            "host_services": (_YES, "loopback of this machine is another one; what listens on all its addresses "
                              "can be reached"),
            "cloud_metadata": (_NO, "can be reached through the bridge"),
        }  # fmt: skip
    else:
        by = "network namespace without a way out"
        if network == "gateway":
            by = "network namespace without a way out; the given endpoints by one socket each"
        table |= dict.fromkeys(("network", "host_services", "cloud_metadata"), (_YES, by))
    return {name: Enforcement(status=table[name][0], by=table[name][1]) for name in ENFORCEMENTS}


def _has_seccomp(info: dict[str, Any]) -> bool:
    options = [str(option) for option in info.get("SecurityOptions") or ()]
    return any("name=seccomp" in option and "unconfined" not in option for option in options)
