"""Named places where a test may kill the process. Inert unless HEMRA_CRASH_AT is set.

`HEMRA_CRASH_AT=NAME` kills the process with SIGKILL the first time it passes the point NAME,
`HEMRA_CRASH_AT=NAME:3` the third time.
"""

from __future__ import annotations

import os
import signal

_wanted, _, _count = os.environ.get("HEMRA_CRASH_AT", "").partition(":")
_passed = 0


def crash_point(name: str) -> None:
    """Kill this process here if the environment asks for it (tests of recovery only)."""
    if not _wanted or _wanted != name:
        return
    global _passed  # noqa: PLW0603 - counts passes within this process
    _passed += 1
    if _passed >= int(_count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
