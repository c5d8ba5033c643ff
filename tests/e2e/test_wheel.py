"""The wheel, installed into a fresh environment and used far from any checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
#: The packages that `tools/setup` fetched; from these a wheel can be installed without a network.
WHEELS = ROOT / ".tools" / "wheels"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not WHEELS.is_dir(), reason="needs .tools/wheels, which `make setup` fills"),
]


def _run(*command: str | Path, cwd: Path, **extra: str) -> str:
    """Run a program that knows nothing of the checkout; its stdout."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))} | extra
    done = subprocess.run(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment that holds the wheel and its dependencies, and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "dist", cwd=ROOT)
    (wheel,) = (folder / "dist").glob("hemra-*.whl")
    _run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    pip = [
        folder / "venv/bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--find-links",
        WHEELS,
    ]
    _run(*pip, wheel, cwd=folder)
    return folder / "venv" / "bin"


def test_an_installed_hemra_carries_its_tasks(installed: Path, tmp_path: Path) -> None:
    """`pipx install hemra` must be able to run the bundled suite; a checkout hides that files are missing."""
    place = _run(installed / "python", "-c", "import hemra; print(hemra.__file__)", cwd=tmp_path).strip()
    assert Path(place).is_relative_to(installed.parent)
    store = {"HEMRA_STORE": str(tmp_path / "store")}
    arguments = ("--dataset", "hermes", "--harness", "oracle", "--harness", "nop", "--task", "t0*_*/t0[12]_*")
    run = _run(installed / "hemra", "run", *arguments, cwd=tmp_path, **store).strip()
    report = _run(installed / "hemra", "report", run, "--format", "csv", cwd=tmp_path, **store)
    assert "oracle" in report
    assert "sound" in _run(installed / "hemra", "log", "verify", cwd=tmp_path, **store)


def test_the_installed_suite_is_the_one_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    """If packing changed one byte of a task, results of a checkout and of an installation would not compare."""
    command = ("dataset", "list", "--json")
    hemra = Path(sys.executable).with_name("hemra")
    store = {"HEMRA_STORE": str(tmp_path / "none")}
    assert _run(installed / "hemra", *command, cwd=tmp_path, **store) == _run(
        hemra, *command, cwd=tmp_path, **store
    )
