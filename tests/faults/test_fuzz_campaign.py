"""Coverage-guided fuzzing of every target for minutes: `make torture` only; it fetches atheris by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".tools" / "fuzz"
#: Seconds a target.
SECONDS = os.environ.get("HEMRA_FUZZ_SECONDS", "120")


@pytest.fixture(scope="module")
def atheris() -> Path:
    """The folder that has atheris: put there by pip, beside the project's own packages and not among them."""
    place = FOLDER / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not (place / "atheris").is_dir():
        argv = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary",
                ":all:", "--target", str(place), "atheris"]  # fmt: skip
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(place, ignore_errors=True)
            pytest.skip(
                "needs atheris, which pip cannot install here (no network, or no wheel for this python)"
            )
    return place


@pytest.mark.torture
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", TARGETS)
def test_minutes_of_coverage_guided_fuzzing(name: str, atheris: Path) -> None:
    """If this failed, an input is kept that makes the log raise what is not its own, hang, or take all memory."""
    folder = FOLDER / name
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{atheris}"}
    argv = [sys.executable, "-m", "tests.faults.fuzz.campaign", name, SECONDS, str(folder)]
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"see {folder / 'found'}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    print(f"{name}: {executions(done.stderr)} inputs in {SECONDS} s")


def executions(said: str) -> str:
    """How many inputs were tried, as libFuzzer tells."""
    lines = [line for line in said.splitlines() if line.startswith("stat::number_of_executed_units:")]
    assert lines, said[-2000:]
    return lines[-1].split()[-1]
