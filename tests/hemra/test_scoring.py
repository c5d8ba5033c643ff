"""Scoring: the contract, and a verifier that can do nothing worse than fail to answer."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hemra.datasets import taskcode
from hemra.datasets.load import load_folder
from hemra.datasets.model import Task
from hemra.sandboxes.leftovers import marked
from hemra.sandboxes.reclaim import reclaim_all
from hemra.sandboxes.scratch import scratch_root
from hemra.scoring.contract import ContractError, Score, check
from hemra.scoring.verifier import score
from tests.hemra.task_folders import make_task


def task_with(root: Path, body: str) -> Task:
    """A task whose verifier has this body (imports allowed in it)."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    make_task(root / "set", verifier=f"def verify(workspace, trace):\n{lines}\n")
    return load_folder(root / "set").tasks[0]


def ask(root: Path, body: str, trace: dict[str, Any] | None = None, timeout_s: float = 20.0) -> Score:
    """The score by a verifier with this body, on a workspace with one file."""
    task = task_with(root, body)
    workspace = root / "workspace"
    workspace.mkdir(exist_ok=True)
    (workspace / "file.txt").write_text("content")
    return asyncio.run(score(task, workspace, trace or {"task": task.id}, timeout_s))


@pytest.mark.parametrize(
    ("result", "status", "value"),
    [
        ({"status": "PASS"}, "PASS", 1.0),
        ({"status": "FAIL"}, "FAIL", 0.0),
        ({"status": "PASS", "score": 0.5, "reason": "half"}, "PASS", 0.5),
        ({"status": "FAIL", "score": 0.25}, "FAIL", 0.25),
        ({"status": "PASS", "score": 1}, "PASS", 1.0),
        ({"status": "FAIL", "score": 0}, "FAIL", 0.0),
        ({"status": "SKIPPED"}, "SKIPPED", None),
        ({"status": "SKIPPED", "score": 1.0}, "SKIPPED", None),
        ({"status": "VERIFIER_ERROR", "reason": "no fixture", "score": 0.5}, "VERIFIER_ERROR", None),
        ({"status": "PASS", "details": {"a": [1, None]}, "reason": None}, "PASS", 1.0),
    ],
)
def test_results_within_the_contract(result: dict[str, Any], status: str, value: float | None) -> None:
    """A FAIL would carry a score, or a skipped trial a 0."""
    assert check(result)[:2] == (status, value)


@pytest.mark.parametrize(
    "result",
    [
        {"status": "PASS", "score": True},
        {"status": "FAIL", "score": False},
        {"status": "PASS", "score": "1.0"},
        {"status": "PASS", "score": math.nan},
        {"status": "PASS", "score": math.inf},
        {"status": "FAIL", "score": -math.inf},
        {"status": "PASS", "score": 1.0000001},
        {"status": "PASS", "score": -0.1},
        {"status": "PASS", "score": 10**400},
        {"status": "PASS", "score": [1]},
        {"status": "FAIL", "score": 1.0},
        {"status": "PASS", "score": 0},
        {"status": "PASS", "score": 0.0},
        {"status": "pass"},
        {"status": True},
        {"status": ["PASS"]},
        {"score": 1.0},
        {"status": "PASS", "reason": 5},
        {"status": "PASS", "socre": 0.1},
        {},
        None,
        True,
        "PASS",
        1.0,
        [{"status": "PASS"}],
    ],
)
def test_results_outside_the_contract(result: Any) -> None:
    """A verifier's slip would become a score."""
    with pytest.raises(ContractError, match="verifier"):
        check(result)


def test_good_verifier_gives_its_word(tmp_path: Path) -> None:
    """Nothing could be scored."""
    body = """
    import pathlib
    assert isinstance(workspace, pathlib.Path) and workspace.is_absolute()
    print("noise", flush=True)
    text = (workspace / "file.txt").read_text()
    return {"status": "PASS", "score": 0.5, "reason": text, "details": {"final": trace["final"]}}
    """
    got = ask(tmp_path, body.replace("\n    ", "\n"), {"final": "ä \udcff \x00"})
    assert (got.status, got.score, got.reason) == ("PASS", 0.5, "content")
    assert got.details == {"final": "ä \udcff \x00"}
    assert 0 < got.duration_ns < 20e9


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("print('PASS')", "must return a dict, not nothing"),
        ("import os; os._exit(0)", "exited with code 0 without a result"),
        ("import sys; sys.exit(0)", "raised SystemExit: 0 (verifier.py, line 2)"),
        ("raise ValueError('bad fixture')", "raised ValueError: bad fixture (verifier.py, line 2)"),
        ("import yaml", "raised ModuleNotFoundError: No module named 'yaml'"),
        ("import hemra", "raised ModuleNotFoundError"),
        ("return {'status': 'PASS', 'score': float('nan')}", "must be in [0, 1], not nan"),
        ("return {'status': 'PASS', 'score': True}", "must be a number, not a bool"),
        ("return {'status': 'PASS', 'details': {1, 2}}", "not JSON"),
        ("return {'status': 'PASS', 'details': b'x'}", "not JSON"),
        ("return {'status': 'PASS', 'reason': 'x' * 2_000_000}", "returned more than 1048576 bytes"),
        ("while True: print('x' * 100_000)", "printed more than 1048576 bytes"),
        ("import ctypes; ctypes.string_at(0)", "was killed by signal 11"),
        ("return verify(workspace, trace)", "raised RecursionError"),
        ("open('big', 'wb').write(b'x' * 1_000_000_000)", "raised OSError: [Errno 27]"),
        ("b'x' * 10_000_000_000", "raised MemoryError"),
        (
            "import os\nif os.fork() == 0: return {'status': 'PASS'}\nos.wait()\nos._exit(4)",
            "exited with code 4",
        ),
    ],
)
def test_bad_verifier_is_a_clear_error(tmp_path: Path, body: str, told: str) -> None:
    """A broken verifier would count as a failure of the harness, or as a pass."""
    got = ask(tmp_path, body)
    assert got.status == "VERIFIER_ERROR"
    assert got.score is None
    assert told in got.reason
    assert len(got.reason.splitlines()) == 1


@pytest.mark.usefixtures("unenclosed")
@pytest.mark.parametrize(
    ("body", "number"),
    [("import os; os.kill(os.getpid(), 9)", 9), ("import os, signal; os.killpg(0, signal.SIGTERM)", 15)],
)
def test_verifier_that_kills_itself_is_a_clear_error(tmp_path: Path, body: str, number: int) -> None:
    """Without a word on why, its author would look for the mistake in the harness."""
    assert f"was killed by signal {number}" in ask(tmp_path, body).reason


def test_verifier_with_a_syntax_error_names_the_line(tmp_path: Path) -> None:
    """An author would not find the mistake."""
    make_task(tmp_path / "set", verifier="x = 1\ndef verify(:\n")
    task = load_folder(tmp_path / "set").tasks[0]
    got = asyncio.run(score(task, tmp_path, {}))
    assert got.status == "VERIFIER_ERROR"
    assert "SyntaxError" in got.reason
    assert "verifier.py, line 2" in got.reason


def test_raw_result_and_printed_text_are_kept(tmp_path: Path) -> None:
    """The cause of a verifier's mistake could not be found in the record."""
    got = ask(tmp_path, "print('looking at it')\nreturn {'status': 'PASS', 'score': float('inf')}")
    assert "Infinity" in got.details["raw"]
    assert got.details["printed"] == "looking at it\n"


def alive(mark: Path, owner: int | None = None) -> bool:
    """Whether the process that wrote its id into a file, as it is numbered where it ran, is still there.

    It was started by this process, or by `owner`.
    """
    token = f"code-{os.getpid() if owner is None else owner}/"
    for pid in marked(lambda found: found.startswith(token)):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            numbers = next(line for line in lines if line.startswith("NSpid:")).split()
            if numbers[-1] == mark.read_text():
                return True
    return False


@pytest.fixture
def unenclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without bubblewrap."""
    monkeypatch.setattr(taskcode, "enclosed", lambda *_, **__: None)


HANG = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
(workspace / "pid").write_text(str(os.getpid()))
while True: time.sleep(60)
"""


def test_hanging_verifier_is_ended_at_its_limit(tmp_path: Path) -> None:
    """A run would never end."""
    started = time.monotonic()
    got = ask(tmp_path, HANG, timeout_s=0.5)
    assert got.status == "VERIFIER_ERROR"
    assert got.reason == "the verifier did not finish within 0.5 s"
    assert time.monotonic() - started < 10
    assert not alive(tmp_path / "workspace/pid")


@pytest.mark.parametrize("session", ["pass", "os.setsid()"])
def test_daemon_of_a_verifier_is_ended_and_does_not_delay(tmp_path: Path, session: str) -> None:
    """A process would stay on the machine, or the score would wait for it because it holds the pipes."""
    body = f"""
import os, time
if os.fork() == 0:
    {session}
    if os.fork() == 0:
        (workspace / "part").write_text(str(os.getpid()))
        (workspace / "part").rename(workspace / "pid")
        while True: time.sleep(60)
    os._exit(0)
os.wait()
while not (workspace / "pid").exists(): time.sleep(0.01)
return {{"status": "PASS"}}
"""
    started = time.monotonic()
    got = ask(tmp_path, body)
    assert got.status == "PASS"
    assert time.monotonic() - started < 10
    assert not alive(tmp_path / "workspace/pid")


def test_cancelling_ends_the_verifier(tmp_path: Path) -> None:
    """A cancelled run would leave a verifier behind."""
    task = task_with(tmp_path, HANG)

    async def cancel() -> None:
        asking = asyncio.ensure_future(score(task, tmp_path, {}, 60))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(cancel())
    assert not alive(tmp_path / "pid")


@pytest.mark.usefixtures("unenclosed")
def test_process_ends_itself_when_the_product_has_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verifier that hangs would outlive a killed hemra for ever."""
    monkeypatch.setattr(taskcode, "_BACKSTOP_S", -29.7)
    got = ask(tmp_path, HANG, timeout_s=30)
    assert got.reason == "the verifier was killed by signal 14 before it gave a result"


KILLER = """
import os, signal, time
os.kill(os.getppid(), signal.{signal})
(workspace / "pid").write_text(str(os.getpid()))
time.sleep(60)
return {{"status": "PASS"}}
"""


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP", "SIGTERM"])
@pytest.mark.usefixtures("unenclosed")
def test_verifier_that_kills_its_parent_hurts_only_itself(tmp_path: Path, number: str) -> None:
    """One task's verifier would take the engine and the whole run with it."""
    got = ask(tmp_path, KILLER.format(signal=number), timeout_s=1.0)
    assert got.status == "VERIFIER_ERROR"
    told = "ended the process that watched over it" if number == "SIGKILL" else "did not finish within 1 s"
    assert got.reason == f"the verifier {told}"
    assert not (tmp_path / "workspace/pid").exists() or not alive(tmp_path / "workspace/pid")


@pytest.mark.needs("bwrap")
def test_what_a_verifier_runs_sees_only_the_workspace(tmp_path: Path) -> None:
    """A program that a harness left in the workspace would be run by its verifier, outside the harness's sandbox."""
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    body = f"""
import os, socket
os.symlink({str(secret)!r}, workspace / "link")
try:
    (workspace / "link").read_text()
    read = True
except OSError:
    read = False
found = [name for name in ("/root", "/home", "/var/run/docker.sock") if os.path.isdir(name) and os.listdir(name)]
try:
    socket.create_connection(("127.0.0.1", {{port}}), 1)
    reached = True
except OSError:
    reached = False
return {{{{"status": "PASS", "details": {{{{"read": read, "reached": reached,
        "pids": len([n for n in os.listdir("/proc") if n.isdigit()]), "uid": os.getuid()}}}}}}}}
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        details = ask(tmp_path, body.format(port=server.getsockname()[1])).details
    assert (details["read"], details["reached"]) == (False, False)
    assert details["pids"] <= 3


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP", "SIGTERM"])
@pytest.mark.needs("bwrap")
def test_an_enclosed_verifier_cannot_end_what_watches_it(tmp_path: Path, number: str) -> None:
    """A verifier that kills its parent would take what watches the time limit with it."""
    got = ask(tmp_path, KILLER.format(signal=number), timeout_s=1.0)
    assert got.reason == "the verifier did not finish within 1 s"
    assert not alive(tmp_path / "workspace/pid")


ENGINE = """
import asyncio, pathlib, sys
sys.path.insert(0, sys.argv[1])
from hemra.datasets.taskcode import run_task_code
code = pathlib.Path(sys.argv[2]).read_bytes()
asyncio.run(run_task_code(code, "verifier.py:verify", pathlib.Path(sys.argv[3]), None, timeout_s=60))
"""


def test_verifier_does_not_outlive_a_killed_engine(tmp_path: Path) -> None:
    """Until its own limit it would work on, in a folder that nobody removes."""
    task = task_with(tmp_path, HANG)
    root = str(Path(taskcode.__file__).parents[2])
    engine = subprocess.Popen(
        [sys.executable, "-c", ENGINE, root, str(task.path / "verifier.py"), str(tmp_path)],
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.01)
        assert engine.poll() is None
    assert reclaim_all(tmp_path).folders == []
    engine.kill()
    engine.wait()
    deadline = time.monotonic() + 10
    while alive(tmp_path / "pid", engine.pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert [folder.parent.name for folder in reclaim_all(tmp_path).folders] == [f"code-{engine.pid}"]
    assert list(scratch_root(tmp_path).iterdir()) == []


def test_verifier_changed_after_pinning_is_not_run(tmp_path: Path) -> None:
    """A harness could rewrite its own judge."""
    task = task_with(tmp_path, "return {'status': 'FAIL'}")
    verifier = task.path / "verifier.py"
    verifier.write_text("def verify(workspace, trace):\n    return {'status': 'PASS'}\n")
    got = asyncio.run(score(task, tmp_path, {}))
    assert got.status == "VERIFIER_ERROR"
    assert f"{verifier} was changed" in got.reason
    verifier.unlink()
    assert "No such file" in asyncio.run(score(task, tmp_path, {})).reason


def test_verifier_runs_apart_from_workspace_and_product(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code of the workspace could be imported as if it were the verifier's, or the environment be read."""
    monkeypatch.setenv("API_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "workspace"))
    body = """
import os, stat, sys
here = os.path.dirname(__file__ if "__file__" in globals() else "")
mode = stat.S_IMODE(os.stat(here).st_mode)
(workspace / "json.py").write_text("raise SystemExit")
return {"status": "PASS", "details": {
    "env": sorted(os.environ), "mode": mode, "inside": str(here).startswith(str(workspace)),
    "cwd": os.getcwd() == os.path.realpath(here),
    "path": [p for p in sys.path if "python3" not in p and "zip" not in p],
    "umask": os.umask(0), "here": here}}
"""
    details = ask(tmp_path, body).details
    assert set(details["env"]) <= {"HEMRA_TRIAL_TOKEN", "HOME", "LANG", "PATH", "PWD", "TMPDIR"}
    assert details["mode"] == 0o700
    assert not details["inside"]
    assert details["cwd"]
    assert details["path"] == []
    assert not Path(details["here"]).exists()


def make_sparse(path: Path) -> None:
    """A file that is larger than any memory limit, without taking room."""
    path.touch()
    os.truncate(path, 4 * 1024**3)


ODD = {
    "link out": lambda folder: (folder / "odd").symlink_to("/etc/passwd"),
    "fifo": lambda folder: os.mkfifo(folder / "odd"),
    "folder": lambda folder: (folder / "odd").mkdir(),
    "sparse": lambda folder: make_sparse(folder / "odd"),
}


@pytest.mark.parametrize("kind", list(ODD))
def test_odd_workspace_cannot_hang_a_careless_verifier(tmp_path: Path, kind: str) -> None:
    """One strange file in a workspace would stop the whole run."""
    (tmp_path / "workspace").mkdir()
    ODD[kind](tmp_path / "workspace")
    got = ask(tmp_path, "(workspace / 'odd').read_text()\nreturn {'status': 'FAIL'}", timeout_s=1.0)
    assert got.status in ("FAIL", "VERIFIER_ERROR")


def test_many_verifiers_at_once(tmp_path: Path) -> None:
    """Results of trials that are scored at the same time would be mixed up."""
    task = task_with(tmp_path, "return {'status': 'PASS', 'score': trace['n'] / 21}")

    async def all_of_them() -> list[Score]:
        return list(await asyncio.gather(*(score(task, tmp_path, {"n": n}) for n in range(1, 21))))

    assert [got.score for got in asyncio.run(all_of_them())] == [n / 21 for n in range(1, 21)]


def test_large_trace_is_handed_over(tmp_path: Path) -> None:
    """A trial with a long tool result could not be scored."""
    got = ask(tmp_path, "return {'status': 'PASS', 'details': len(trace['x'])}", {"x": "y" * 20_000_000})
    assert got.details == 20_000_000
