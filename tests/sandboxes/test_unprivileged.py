"""bwrap needs no root: the same sandbox made by an ordinary user, who has no control groups either."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = 65534

PROBE = """
import asyncio, json, sys
from hemra.sandboxes.registry import why_not
from hemra.sandboxes.table import held
assert why_not("bwrap") is None, why_not("bwrap")
table = asyncio.run(held("bwrap", "gateway", anew=True))
print(json.dumps({"held": {v.name: v.held for v in table.verdicts}, "problems": table.problems,
                  "recorded": {name: each.status for name, each in table.recorded.items()}}))
"""

MISBEHAVE = """
import asyncio, pathlib, sys
from tests.sandboxes.test_left_behind import check
check("bwrap", pathlib.Path(sys.argv[1]) / "scratch", 20)
print("clean")
"""


def _pythons() -> list[str]:
    """Interpreters of this version that another user might be allowed to run."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    found = [sys.executable, shutil.which(version, path="/usr/local/bin:/usr/bin")]
    return [python for python in found if python is not None]


def _as_nobody(python: str, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python as somebody without any privilege."""
    user = [] if os.getuid() != 0 else ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")]), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    return subprocess.run(
        [*user, python, *arguments],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


@pytest.fixture
def nobody() -> Iterator[tuple[str, Path]]:
    """A Python that an ordinary user can run with this code, and a folder that is that user's."""
    home = Path(f"/tmp/hemra-test-{os.getpid()}")
    home.mkdir(mode=0o700)
    if os.getuid() == 0:
        os.chown(home, NOBODY, NOBODY)
    # It must be able to start itself too: setpriv's own start of it is not held to the folders around it.
    code = "import subprocess, sys, msgspec, hemra.sandboxes.probe, tests.sandboxes.machine\n"
    code += "subprocess.run([sys.executable, '-c', 'pass'], check=True)"
    for python in _pythons():
        tried = _as_nobody(python, home, "-c", code)
        if tried.returncode == 0:
            break
    else:
        shutil.rmtree(home)
        pytest.skip("needs a Python that another user may run")
    yield python, home
    shutil.rmtree(home)


pytestmark = pytest.mark.needs("bwrap", "setpriv")


def test_an_ordinary_users_sandbox_holds_the_same(nobody: tuple[str, Path]) -> None:
    """Most people are not root: for them every isolation must hold as well."""
    python, home = nobody
    done = _as_nobody(python, home, "-c", PROBE)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["problems"] == []
    # Without control groups of its own nothing rations its processors, and the table says so.
    assert {name for name, held in found["held"].items() if not held} <= {"cpus"}
    assert found["held"]["cpus"] or found["recorded"]["cpus"] == "not enforced"
    isolations = ("file_system", "user_home", "store_hidden", "verifier_hidden", "other_trials", "network",
                  "host_services", "host_processes", "environment", "privileges", "user_namespaces",
                  "process_cleanup")  # fmt: skip
    assert {name: found["recorded"][name] for name in isolations} == dict.fromkeys(isolations, "enforced")


def test_an_ordinary_users_misbehaving_trials_leave_nothing(nobody: tuple[str, Path]) -> None:
    """Without control groups, the namespaces and the watch alone have to end everything."""
    python, home = nobody
    done = _as_nobody(python, home, "-c", MISBEHAVE, str(home))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["clean"]
