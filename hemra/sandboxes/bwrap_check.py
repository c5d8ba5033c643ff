"""Whether bubblewrap works here, shown by letting it make the namespaces that a trial gets; and what to do if not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

_SECONDS = 10
#: No user namespace can be made in the one that is made.
CLOSED = ("--disable-userns",)
#: Kernel settings that keep ordinary users from making namespaces: file, value, and the command that allows it.
_SETTINGS = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
)


@cache
def why_not() -> str | None:
    """Why it cannot be used on this machine, with the remedy; None when it can. Asked once a process."""
    if sys.platform != "linux":
        return "it needs Linux"
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed: install it (Debian: apt-get install bubblewrap)"
    problem = _try(program)
    return None if problem is None else f"{problem}{_remedy()}"


@cache
def why_nested() -> str | None:
    """Why programs in there may make user namespaces of their own, which they have no right to; None when they cannot.
    Asked once a process."""
    program = shutil.which("bwrap")
    if program is None or why_not() is not None:
        return "bubblewrap does not work here"
    problem = _try(program, *CLOSED)
    if problem is None:
        return None
    if "disable-userns" in problem and "nknown" in problem:
        return "this bubblewrap is older than 0.8, which has --disable-userns"
    return f"bubblewrap cannot forbid it here: {problem}"


def _try(program: str, *more: str) -> str | None:
    shell = ["/bin/sh", "-c", "test -d /proc/self && test -w /dev/null && test ! -e /etc/shadow-"]
    command = [
        *(program, "--unshare-all", "--unshare-user", *more),
        *("--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"),
        *("--ro-bind", "/", "/", "--tmpfs", "/etc", "--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", "65536", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
        *("--", *shell),
    ]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} does not run: {error}"
    if done.returncode == 0:
        return None
    said = done.stderr.decode("utf-8", "replace").strip().replace("\n", "; ")
    return said or f"{program} ended with {done.returncode}"


def _remedy() -> str:
    for name, value, command in _SETTINGS:
        try:
            found = Path(name).read_text("ascii").strip()
        except OSError:
            continue  # this kernel has no such setting
        if found == value and os.getuid() != 0:
            return f"; as root: {command}"
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return "; in a container it needs one that may make namespaces (docker: --security-opt seccomp=unconfined)"
    return ""
