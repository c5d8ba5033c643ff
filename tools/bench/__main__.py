"""All benchmarks, one after the other, as in docs/benchmarks.md: the log, sandboxes, a trial, the gateway.

    python -m tools.bench [--quick]

Each runs in a process of its own, so that none measures what another left in memory.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
#: Arguments that make each benchmark short enough for a look; figures for the record are taken without.
BENCHMARKS = {
    "log_read.py": ["--events", "50000", "--rounds", "1"],
    "log_bench.py": ["--appends", "1000", "--rounds", "1"],
    "log_latency.py": ["--seconds", "3"],
    "log_load.py": ["--events", "100000"],
    "log_inspect.py": ["--samples", "100"],
    "log_long.py": ["--events", "300000"],
    "sandboxes.py": ["--trials", "10"],
    "trial_overhead.py": ["--trials", "5", "--rounds", "1"],
    "gateway.py": ["--calls", "50", "--rounds", "1", "--seconds", "1"],
    "gateway_memory.py": ["--requests", "8"],
}


def main() -> int:
    """Run them all; the exit code is 1 when one could not be run, whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short look, noisier figures")
    quick = parser.parse_args().quick
    failed = False
    for script, short in BENCHMARKS.items():
        arguments = short if quick else []
        done = subprocess.run([sys.executable, str(HERE / script), *arguments], check=False)
        failed = failed or done.returncode != 0
        print(flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
