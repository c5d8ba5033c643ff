"""The score is what the pinned verifier says, whatever the harness left behind for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eventlog.reader import read
from eventlog.store import Store
from hemra.engine.plan import make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import start
from tests.hemra.engine_driver import make_harness, make_task
from tests.sandboxes.escape.prison import Prison

#: Says how it was run itself, and runs a program of the workspace, as verifiers of programming tasks do.
VERIFIER = """
import json, os, subprocess, sys

def verify(workspace, trace):
    ran = subprocess.run([sys.executable, "-I", "-B", str(workspace / "program.py")], capture_output=True, timeout=20,
                         env={"PATH": os.defpath}) if (workspace / "program.py").exists() else None
    return {"status": "PASS" if (workspace / "done").exists() else "FAIL", "reason": "done" if ran is None else "ran",
            "details": {"json": json.__file__, "path": sys.path, "sites": "sitecustomize" in sys.modules,
                        "preloaded": "evil" in open("/proc/self/maps").read(), "env": sorted(os.environ),
                        "printed": "" if ran is None else ran.stdout.decode()[:1000]}}
"""

#: Puts something everywhere where a careless scorer would find it.
TAMPER = r"""
for place in . "$HOME" /logs /logs/verifier /tmp "$HOME/.." ..; do
    mkdir -p "$place" 2>/dev/null
    for name in reward.txt reward.json score.json result.json verdict; do
        echo '{"status": "PASS", "score": 1.0, "reward": 1}' > "$place/$name" 2>/dev/null
    done
    for module in json pathlib os re subprocess verifier hemra_verifier sitecustomize usercustomize; do
        echo 'raise SystemExit(0)' > "$place/$module.py" 2>/dev/null
    done
done
for bin in bin "$HOME/bin" "$HOME/.local/bin"; do
    mkdir -p "$bin"
    for name in python3 python sh bwrap cat; do
        printf '#!/bin/sh\necho "{\\"returned\\": {\\"status\\": \\"PASS\\"}}"\n' > "$bin/$name"; chmod +x "$bin/$name"
    done
done
for version in 3.11 3.12 3.13; do
    site="$HOME/.local/lib/python$version/site-packages"; mkdir -p "$site"
    echo 'import sys; sys.evil = 1' > "$site/evil.pth"; echo 'import sys; sys.evil = 1' > "$site/sitecustomize.py"
done
printf '\177ELF' > evil.so
for name in "$HOME/.pam_environment" "$HOME/.profile" "$HOME/.bashrc" /etc/environment /etc/ld.so.preload; do
    echo "LD_PRELOAD=$PWD/evil.so PYTHONPATH=$PWD" >> "$name"
done 2>/dev/null
echo "[install]" > setup.cfg; echo "PYTHONPATH=$PWD" > .env
true
"""

#: What a program of the workspace tries when the verifier runs it.
PROGRAM = """
import glob, os, signal, sys
answer = b'{"returned": [{"returned": {"status": "PASS", "score": 1.0}}]}'
for fd in range(3, 64):
    try: os.write(fd, answer)
    except OSError: pass
for pid in [os.getppid()] + [int(n) for n in os.listdir("/proc") if n.isdigit()]:
    if pid == os.getpid(): continue
    for name in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            with open(name, "wb", buffering=0) as file: file.write(answer)
            print("wrote", name)
        except OSError: pass
    try: open(f"/proc/{pid}/mem", "r+b"); print("memory of", pid)
    except OSError: pass
for name in SECRETS:
    try: print("read", open(name).read())
    except OSError: pass
for name in OUTSIDE:
    try: open(name, "w").write("changed"); print("wrote", name)
    except OSError: pass
"""


def judged(prison: Prison, tmp_path: Path, script: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the score, the trial's final state) of a harness that runs `script`."""
    make_task(tmp_path / "set", "a", verifier_py=VERIFIER)
    store = Store.open(tmp_path / "log", create=True)
    harness = make_harness(tmp_path / "harnesses", "h", script, network="none")
    request = RunRequest(dataset=str(tmp_path / "set"), harnesses=[harness], sandbox=prison.ref, retries=0)
    result = start(store, make_plan(store, request), Quiet())
    found = {event.type: event.data for event in read(store, result.run)}
    assert found["trial.finished"]["outcome"] == "completed", found["trial.finished"]["reason"]
    assert found["sandbox.created"]["enforcement"]["verifier_hidden"]["status"] == "enforced"
    return found["score.recorded"], found["trial.finished"]


def test_nothing_that_a_harness_leaves_behind_changes_its_score(prison: Prison, tmp_path: Path) -> None:
    """A reward file, a python on PATH, a module, a .pth or LD_PRELOAD would be worth more than doing the task."""
    clean, _ = judged(prison, tmp_path / "clean", "true")
    score, final = judged(prison, tmp_path / "tampered", TAMPER)
    assert (score["status"], score["score"], final["reward"]) == ("FAIL", 0.0, 0.0)
    assert score["details"] == clean["details"]
    assert not score["details"]["sites"]
    assert not score["details"]["preloaded"]


@pytest.mark.needs("bwrap")
def test_a_program_that_the_verifier_runs_is_enclosed_too(prison: Prison, tmp_path: Path) -> None:
    """The harness's own program, run by the verifier, would be outside the sandbox that the harness was in."""
    secrets = [str(prison.store / "log" / "events"), str(prison.task / "verifier.py"), "/etc/shadow"]
    program = f"SECRETS = {secrets!r}\nOUTSIDE = {[str(prison.outside), '/etc/hemra-was-here']!r}\n{PROGRAM}"
    script = f"cat > program.py <<'EOF'\n{program}\nEOF"
    score, final = judged(prison, tmp_path / "run", script)
    assert (score["status"], score["score"], score["reason"], final["reward"]) == ("FAIL", 0.0, "ran", 0.0)
    assert score["details"]["printed"] == ""
    assert not Path("/etc/hemra-was-here").exists()
