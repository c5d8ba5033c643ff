"""All tests, two processes side by side at any time: most of them wait for programs and disks.

    python tools/run_tests.py [PYTEST ARGUMENT ...]

Each folder of tests is one process, the longest first; its report is printed when it ends. Fails if any does. With
arguments: one pytest with those.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-m", "not torture"]
AT_ONCE = 2
LONGEST_FIRST = ("e2e", "hemra", "sandboxes", "faults", "gateway", "eventlog")


def parts() -> deque[list[str]]:
    """What each process is given: a folder of tests each, and all that is in none; nothing is left out."""
    folders = [path.name for path in sorted((ROOT / "tests").iterdir()) if any(path.glob("**/test_*.py"))]
    folders.sort(key=lambda name: LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST))
    known = [f"tests/{name}" for name in folders]
    return deque([*([folder] for folder in known), ["tests", *(f"--ignore={folder}" for folder in known)]])


class Runs:
    """Takes part after part until none is left. `failed` are those whose pytest did not end well."""

    def __init__(self) -> None:
        self._waiting = parts()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._printing = threading.Lock()
        self.failed: list[str] = []

    def take(self) -> None:
        """Run what waits, one part after the other, and print each report whole."""
        while True:
            try:
                part = self._waiting.popleft()
            except IndexError:
                return
            began = time.monotonic()
            with subprocess.Popen(
                [*PYTEST, "-p", "no:cacheprovider", *part], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            ) as process:  # fmt: skip
                self._running.add(process)
                report, _ = process.communicate()
                self._running.discard(process)
            with self._printing:
                sys.stdout.write(report.decode("utf-8", "replace"))
                print(f"{part[0]}: {time.monotonic() - began:.0f} s", flush=True)
                if process.returncode:
                    self.failed.append(part[0])

    def stop(self) -> None:
        """End what runs, and start nothing more."""
        self._waiting.clear()
        for process in tuple(self._running):
            process.terminate()


def main() -> int:
    """Run them; 1 when any part failed."""
    # Started in the background by a shell, Ctrl-C is ignored here and in everything below; some tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.argv[1:]:
        return subprocess.run([*PYTEST, *sys.argv[1:]], cwd=ROOT, check=False).returncode
    runs = Runs()
    takers = [threading.Thread(target=runs.take) for _ in range(AT_ONCE)]
    try:
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join()
    except BaseException:
        runs.stop()
        raise
    if runs.failed:
        print(f"failed: {', '.join(runs.failed)}", file=sys.stderr)
    return int(bool(runs.failed))


if __name__ == "__main__":
    sys.exit(main())
