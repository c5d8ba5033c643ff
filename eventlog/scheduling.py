"""Asking the operating system for short turns on the processor.

Where programs that compute want every processor, a thread that sleeps and wakes thousands of times a second waits each
time until somebody's turn is over, some milliseconds. Linux (6.12 and later) lets a thread trade the length of its
turns for their coming soon: it gets the same share of the processor as before, in smaller pieces.
"""

from __future__ import annotations

import os
import platform
import struct
import sys

#: The shortest turn that the kernel grants.
_TURN_NS = 100_000
#: Number of the system call sched_setattr, which the C library does not offer everywhere.
_SET_ATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
#: size, policy, flags, nice, priority, runtime (of an ordinary thread: its turn, in ns), deadline, period.
_ATTR = struct.Struct("=IIQiIQQQ")
#: Threads and processes that this one starts have ordinary turns again: what is measured is not to run differently.
_NOT_INHERITED = 1


def short_turns() -> bool:
    """Give the calling thread short turns; whether the kernel took it (an older one ignores it)."""
    number = _SET_ATTR.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return False
    if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK != os.SCHED_OTHER:
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    if nice < 0:
        return False  # what is not inherited then is the priority too
    import ctypes

    attr = _ATTR.pack(_ATTR.size, os.SCHED_OTHER, _NOT_INHERITED, nice, 0, _TURN_NS, 0, 0)
    return int(ctypes.CDLL(None).syscall(number, 0, attr, 0)) == 0
