"""Renew uv.lock: pin the newest versions that fit (--upgrade) or only what pyproject.toml added.

uv writes for every file the place it saw it at. That place is one machine's business: somebody else
reaches packages through a mirror. So the lock kept here names files and their SHA-256 only, under the
folder `.tools/wheels`, which `tools/setup` fills with pip as the machine has it configured. What stays
is a lock that `uv sync --frozen` and `uv lock --check` both accept.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "uv.lock"
WHEELS = ".tools/wheels"


def without_places(lock: str) -> str:
    """The same lock with files named by their last path component and no time of upload."""
    lock = re.sub(r'source = \{ registry = "[^"]+" \}', f'source = {{ registry = "{WHEELS}" }}', lock)
    lock = re.sub(r'\{ url = "[a-z]+://[^"]*/([^"/]+)"', r'{ path = "\1"', lock)
    return re.sub(r', upload-time = "[^"]*"', "", lock)


def main() -> int:
    """Lock, rewrite, and leave uv.lock as it was when uv refuses."""
    before = LOCK.read_text(encoding="utf-8") if LOCK.exists() else None
    environment = os.environ | {"UV_PYTHON_DOWNLOADS": "never"}
    done = subprocess.run(["uv", "lock", *sys.argv[1:]], cwd=ROOT, env=environment, check=False)
    if done.returncode:
        if before is not None:
            LOCK.write_text(before, encoding="utf-8")
        return done.returncode
    LOCK.write_text(without_places(LOCK.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
