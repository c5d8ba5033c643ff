"""One target under atheris (coverage-guided): python -m tests.faults.fuzz.campaign TARGET SECONDS FOLDER

FOLDER keeps the corpus from run to run, and every input that led to a finding. Needs atheris on the path;
test_fuzz_campaign.py installs it for `make torture`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

#: An input is a finding when it takes more than so many seconds, or the process more than so much memory.
MAX_SECONDS, MAX_MEMORY_MB, MAX_BYTES = 20, 1024, 65536


def main(name: str, seconds: str, folder: str) -> None:
    """Fuzz for `seconds`; the process ends with 0 when nothing was found."""
    import atheris

    with atheris.instrument_imports(include=["eventlog"]):
        from tests.faults.fuzz.targets import TARGETS

    target, memory = TARGETS[name], Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="hemra-fuzz-", dir=memory if memory.is_dir() else None)) / "work"
    corpus, found = Path(folder) / "corpus", Path(folder) / "found"
    for directory in (corpus, found):
        directory.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)

    def one(data: bytes) -> None:
        target.run(data, place)

    flags = [
        f"-max_total_time={seconds}", f"-timeout={MAX_SECONDS}", f"-rss_limit_mb={MAX_MEMORY_MB}",
        f"-max_len={MAX_BYTES}", f"-artifact_prefix={found}/", "-print_final_stats=1",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *flags, str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
