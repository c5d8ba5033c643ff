"""What a run's numbers depend on besides the plan: this machine and this program. Nothing personal."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import hemra


def boot_id() -> str | None:
    """Tells two boots of this machine apart, so that `mono` values of different ones are not compared."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return None  # no counterpart on macOS that survives a clock change


def _cpu_model() -> str | None:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        return platform.processor() or None
    return None


def _usable_cpus() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def describe_host() -> dict[str, Any]:
    """System, processor and memory of this machine; null where it cannot be read. Sizes in bytes."""
    import psutil

    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cpu_model": _cpu_model(),
        "cpus": _usable_cpus(),
        "memory_bytes": psutil.virtual_memory().total,
    }


def describe_program() -> dict[str, Any]:
    """Version of hemra and of the Python that runs it."""
    return {"version": hemra.__version__, "python": platform.python_version()}
