"""What is on this machine that a trial could leave behind, counted."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hemra.sandboxes.base import MARKER
from hemra.sandboxes.hierarchies import find


def processes(*signs: str) -> list[str]:
    """Command lines of living processes that carry one of the signs in their environment or command line."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes()
            text = command + b"\0" + Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue  # it ended, or is somebody else's
        if any(sign.encode() in text for sign in signs):
            found.append(command.replace(b"\0", b" ").decode("utf-8", "replace")[:120])
    return sorted(found)


def parents() -> set[Path]:
    """Where control groups of trials are made."""
    return {parent.folder for parent in find().values()}


def groups() -> list[str]:
    """Control groups of this process's trials."""
    found = []
    for folder in parents():
        for entry in folder.glob(f"hemra-*-{os.getpid()}-*"):
            found += [str(path) for path in entry.iterdir() if path.is_dir() and path.name != "launchers"]
    return sorted(found)


def mounts() -> list[str]:
    """Mount points, as this process sees them."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return sorted(line.split()[4] for line in lines if "docker" not in line and "containerd" not in line)


def interfaces() -> list[str]:
    """Network interfaces but those of container engines."""
    return sorted(
        name for name in os.listdir("/sys/class/net") if not name.startswith(("veth", "docker", "br-"))
    )


def temporary(run: str) -> list[str]:
    """What of a run's trials is in the folder for temporary files."""
    place = Path(tempfile.gettempdir())
    return sorted(str(path) for path in place.glob(f"hemra-{os.getuid()}/{run}*"))


def state(run: str, scratch: Path) -> dict[str, list[str]]:
    """All of it, by what it is."""
    return {
        "processes": processes(f"{MARKER}={run}", str(scratch)),
        "groups": groups(),
        "mounts": mounts(),
        "interfaces": interfaces(),
        "temporary": temporary(run),
        "scratch": sorted(str(path) for path in scratch.glob("hemra-*/*")),
        "system": sorted(name for name in os.listdir("/etc") if "hemra" in name),
    }
