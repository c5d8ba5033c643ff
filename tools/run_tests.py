"""All tests, in two processes side by side: most of them wait for programs and disks.

    python tools/run_tests.py [PYTEST ARGUMENT ...]

Prints one report after the other and fails if either does. With arguments: one pytest with those.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-m", "not torture"]
FIRST = ["tests/e2e", "tests/hemra", "tests/harnesses"]
#: What is not in the first half is found by the second: a new folder of tests is never left out.
HALVES = (FIRST, ["tests", *(f"--ignore={folder}" for folder in FIRST)])


def main() -> int:
    """Run them; the exit code of the worse half."""
    # Started in the background by a shell, Ctrl-C is ignored here and in everything below; some tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.argv[1:]:
        return subprocess.run([*PYTEST, *sys.argv[1:]], cwd=ROOT, check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(folder, str(number)) for number in range(len(HALVES))]
        running = []
        for half, report in zip(HALVES, reports, strict=True):
            command = [*PYTEST, "-p", "no:cacheprovider", *half]
            with report.open("wb") as out:
                running.append(subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT))
        try:
            codes = [process.wait() for process in running]
        finally:
            for process in running:
                process.terminate()
            for report in reports:
                sys.stdout.write(report.read_text(encoding="utf-8", errors="replace"))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
