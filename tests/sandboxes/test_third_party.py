"""A sandbox of another package is found by its entry point, and is used and probed like our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.hemra.engine_driver import make_harness, make_task

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "sandboxes" / "offline"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder to import from, as the example is after it was installed."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    place = tmp_path / "site"
    info = place / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8"
    )
    lines = [f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
             for group, points in project["entry-points"].items()]  # fmt: skip
    (info / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
    (place / "hemra_offline.py").write_bytes((EXAMPLE / "hemra_offline.py").read_bytes())
    return place


def hemra(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line with the example installed."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])}
    return subprocess.run(
        [sys.executable, "-m", "hemra.cli.main", *arguments], env=environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


def usable() -> bool:
    """Whether this machine lets the example work at all."""
    done = subprocess.run(
        ["unshare", "--map-current-user", "--net", "--", "true"], capture_output=True, check=False
    )
    return done.returncode == 0


pytestmark = [
    pytest.mark.needs("unshare"),
    pytest.mark.skipif(not usable(), reason="needs a kernel that lets this user make network namespaces"),
]


def test_the_example_runs_trials_without_a_network(installed: Path, tmp_path: Path) -> None:
    """docs/sandboxes.md shows it: whoever follows it must get a sandbox that works."""
    make_task(tmp_path / "set", "a")
    code = "import socket; s = socket.socket(); print(s.connect_ex(('127.0.0.1', 9)))"
    script = f'{sys.executable} -I -c "{code}" && touch done'
    harness = make_harness(tmp_path, "h", script, network="none")
    store = str(tmp_path / "store")
    ran = hemra(installed, "run", "--dataset", str(tmp_path / "set"), "--harness", harness,
                "--sandbox", "offline", "--store", store)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    run = ran.stdout.split()[-1]
    shown = hemra(installed, "log", "cat", run, "--store", store, "--type", "sandbox.created")
    event = json.loads(shown.stdout.splitlines()[0])["data"]
    assert (event["kind"], event["network"]) == ("offline", "none")
    assert event["enforcement"]["network"]["status"] == "enforced"
    assert event["enforcement"]["file_system"]["status"] == "not enforced"


def test_the_example_is_probed_like_our_own(installed: Path) -> None:
    """A third party's claim is worth as little as ours until it was tried."""
    probed = hemra(installed, "sandbox", "probe", "offline", "--network", "none", "--json")
    assert probed.returncode == 0, probed.stdout + probed.stderr
    attempts = {each["name"]: each["held"] for each in json.loads(probed.stdout)["attempts"]}
    assert attempts["network"]
    assert attempts["host_services"]
    assert not attempts["file_system"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("import os", "import nothing_such", "cannot be loaded: No module named 'nothing_such'"),
        ("(why_not=", "(whynot=", "cannot be loaded: SandboxTraits.__init__() got an unexpected keyword"),
        ("    traits = SandboxTraits(why_not=why_not)\n", "", "none for this hemra: it has no `traits`"),
    ],
)
def test_a_sandbox_that_is_none_is_a_clear_error(installed: Path, before: str, after: str, said: str) -> None:
    """Somebody else's broken package would look like a bug of ours, or what it says of itself would go unheard."""
    module = installed / "hemra_offline.py"
    code = module.read_text(encoding="utf-8")
    assert before in code
    module.write_text(code.replace(before, after, 1), encoding="utf-8")
    done = hemra(installed, "sandbox", "probe", "offline")
    assert done.returncode == 2
    assert "sandbox 'offline' (hemra_offline:OfflineSandbox)" in done.stderr
    assert said in done.stderr
