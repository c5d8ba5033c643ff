"""A host sandbox from its making to its removal: environment, stop, cancel, and an engine that dies."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from eventlog.schemas.runs import Limits
from hemra.errors import UsageError
from hemra.sandboxes.base import ENFORCEMENTS, MARKER, SandboxError, SandboxSpec
from hemra.sandboxes.environment import search_path
from hemra.sandboxes.host import HostSandbox, host_enforcement
from hemra.sandboxes.reclaim import reclaim, reclaim_all
from hemra.sandboxes.registry import open_sandbox
from hemra.sandboxes.scratch import scratch_root
from tests.hemra.sandboxed import NAPPING, RUN, Ran, alive, attempt, python, run_in, sandbox, shell

ROOT = Path(__file__).parents[2]
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="needs Linux: only there all descendants are ended"
)


def wait_for(condition: Callable[[], object], seconds: float = 10) -> bool:
    """Whether something became true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_the_environment_is_an_allow_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stale key that is exported in the user's shell must not reach, or decide, a trial."""
    monkeypatch.setenv("FAKE_API_KEY", "sk-stale")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("LC_TIME", "C.UTF-8")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    ran = attempt(tmp_path, ["env", "-0"], env={"GIVEN": "by the harness file"})
    told = dict(entry.split("=", 1) for entry in ran.stdout.decode().split("\0") if entry)
    base = tmp_path.resolve() / f"hemra-{os.getuid()}" / RUN / "0001.1"
    assert told.keys() <= {
        *("PATH", "HOME", "PWD", "TMPDIR", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "GIVEN", MARKER),
        *(name for name in told if name.startswith("LC_")),
    }
    assert told["HOME"] == str(base / "home")
    assert told["TMPDIR"] == str(base / "tmp")
    assert told["XDG_CONFIG_HOME"] == str(base / "home" / ".config")
    assert (told["TERM"], told["GIVEN"]) == ("dumb", "by the harness file")
    assert told["LC_TIME"] == "C.UTF-8"
    assert told[MARKER].startswith(f"{RUN}/0001.1/")


def test_the_marker_cannot_be_taken_away_by_a_harness_file(tmp_path: Path) -> None:
    """Without it, what a killed launcher leaves behind is not found."""
    ran = attempt(tmp_path, shell(f"echo ${MARKER}"), env={MARKER: "mine"})
    assert ran.stdout.decode().startswith(f"{RUN}/")


def test_programs_are_not_looked_for_in_the_workspace() -> None:
    """An empty or relative entry in PATH runs whatever a trial has put there."""
    assert search_path({"PATH": "/a::.:bin:/b"}) == "/a:/b"
    assert search_path({"PATH": "."}) == search_path({}) == "/usr/local/bin:/usr/bin:/bin"


def test_the_folders_are_private_and_apart(tmp_path: Path) -> None:
    """Another user of the machine must not read a trial, and its own files must not lie in its workspace."""

    async def go() -> None:
        box = sandbox(tmp_path)
        await box.create()
        root = box.workspace.parent
        for folder in (scratch_root(tmp_path), root.parent, root, box.workspace, box.home, box.harness_dir):
            assert folder.stat().st_mode & 0o777 == 0o700
        assert box.workspace not in box.harness_dir.parents
        assert sorted(path.name for path in root.iterdir()) == [
            "harness",
            "home",
            "tmp",
            "workspace",
        ]
        await box.destroy()
        await box.destroy()
        assert not root.parent.exists()

    asyncio.run(go())


def test_trials_are_not_put_into_a_checkout(tmp_path: Path) -> None:
    """An agent in a checkout finds its history, its tests, and its answers."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "below").mkdir()
    with pytest.raises(SandboxError, match="must not run inside a checkout"):
        asyncio.run(sandbox(tmp_path / "below").create())
    assert list((tmp_path / "below").iterdir()) == []


def test_a_place_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    """In a shared /tmp somebody else may have put a link where our folder goes."""
    (tmp_path / "elsewhere").mkdir()
    scratch_root(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SandboxError, match="is not a folder of this user"):
        asyncio.run(sandbox(tmp_path).create())
    assert list((tmp_path / "elsewhere").iterdir()) == []
    with pytest.raises(SandboxError, match="is not a folder: set TMPDIR"):
        asyncio.run(sandbox(tmp_path / "absent").create())


@pytest.mark.parametrize(("run", "trial"), [("../x", "0001"), ("a/b", "0001"), ("r", "..")])
def test_names_that_leave_the_scratch_folder_are_refused(tmp_path: Path, run: str, trial: str) -> None:
    """Destroying a trial removes a folder; its name must not lead anywhere else."""
    with pytest.raises(SandboxError, match="cannot name a folder"):
        HostSandbox(SandboxSpec(run=run, trial=trial, try_no=1, limits=Limits(), root=tmp_path))


def test_a_trial_runs_once_at_a_time(tmp_path: Path) -> None:
    """Two engines on one trial would share a workspace; what a dead one left is cleared away."""

    async def go() -> None:
        first, second = sandbox(tmp_path), sandbox(tmp_path)
        await first.create()
        (first.workspace / "old").write_text("old", encoding="utf-8")
        with pytest.raises(SandboxError, match="in use by another engine"):
            await second.create()
        await second.destroy()  # as after any failed create: what the other has stays
        assert (first.workspace / "old").exists()
        lock = first._scratch._folder._held
        assert lock is not None
        os.close(lock)  # as the system does for an engine that dies
        first._scratch._folder._held = None
        await second.create()
        assert list(second.workspace.iterdir()) == []
        await second.destroy()

    asyncio.run(go())


@linux
def test_a_cancelled_program_is_ended_in_order(tmp_path: Path) -> None:
    """Ctrl-C must let a harness say its last words, and must not leave it running."""

    async def go() -> None:
        box, ran = sandbox(tmp_path), Ran()
        await box.create()
        code = "trap 'echo bye; exit 9' TERM; setsid sleep NAP & echo up; wait"
        task = asyncio.ensure_future(run_in(box, shell(code), ran))
        while b"up" not in ran.stdout:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ran.stdout == b"up\nbye\n"
        assert alive() == []
        await box.destroy()

    asyncio.run(go())


@linux
def test_a_second_cancel_does_not_wait(tmp_path: Path) -> None:
    """Ctrl-C twice means now."""

    async def go() -> float:
        box, ran = sandbox(tmp_path), Ran()
        await box.create()
        code = (
            "import signal,time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
        )
        task = asyncio.ensure_future(run_in(box, python(code), ran, grace_seconds=30))
        while not ran.stdout:
            await asyncio.sleep(0.01)
        start = time.monotonic()
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0.05)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert alive() == []
        await box.destroy()
        return time.monotonic() - start

    assert asyncio.run(go()) < 3


@linux
def test_stop_ends_a_program_and_it_still_gives_its_result(tmp_path: Path) -> None:
    """The engine that cancels a run wants to record how each harness ended."""

    async def go() -> None:
        box, ran = sandbox(tmp_path), Ran()
        await box.create()
        task = asyncio.ensure_future(run_in(box, shell("echo up; sleep NAP"), ran, grace_seconds=1))
        while not ran.stdout:
            await asyncio.sleep(0.01)
        assert await box.stop() == 0
        await task
        assert (ran.result.exit_signal, ran.result.flags) == (signal.SIGTERM, ["stopped"])
        assert await box.stop() == 0
        await box.destroy()

    asyncio.run(go())


@linux
def test_stop_counts_what_had_to_be_killed(tmp_path: Path) -> None:
    """A harness that does not end when asked is worth knowing about."""

    async def go() -> int:
        box, ran = sandbox(tmp_path), Ran()
        await box.create()
        code = "trap '' TERM; echo up; sleep NAP; sleep NAP"
        task = asyncio.ensure_future(run_in(box, shell(code), ran, grace_seconds=0.2))
        while not ran.stdout:
            await asyncio.sleep(0.01)
        killed = await box.stop()
        await task
        await box.destroy()
        return killed

    assert asyncio.run(go()) == 2


@linux
def test_kill_now_is_enough_from_a_signal_handler(tmp_path: Path) -> None:
    """At the second Ctrl-C there is no loop left to wait in."""

    async def go() -> None:
        box, ran = sandbox(tmp_path), Ran()
        await box.create()
        loop = asyncio.get_running_loop()
        old = signal.signal(signal.SIGUSR1, lambda *_: box.kill_now())
        try:
            loop.call_later(0.3, os.kill, os.getpid(), signal.SIGUSR1)
            await run_in(box, shell("trap '' TERM; setsid sleep NAP & sleep NAP"), ran, grace_seconds=30)
        finally:
            signal.signal(signal.SIGUSR1, old)
        assert ran.result.exit_signal == signal.SIGKILL
        assert ran.result.duration_ns < 2e9
        await box.destroy()
        box.kill_now()

    asyncio.run(go())


ENGINE = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.hemra.sandboxed import sandbox, run_in, shell
async def go():
    box = sandbox(Path(sys.argv[2]))
    await box.create()
    print("created", flush=True)
    await run_in(box, shell("trap '' TERM; setsid sleep NAP & echo $PPID >pids; sleep NAP"))
asyncio.run(go())
"""


def engine_with_a_trial(root: Path) -> tuple[subprocess.Popen[bytes], Path]:
    """A process that runs a trial, as an engine does, and the trial's folder."""
    root.mkdir(exist_ok=True)
    engine = subprocess.Popen(
        [sys.executable, "-c", ENGINE, str(ROOT), str(root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    folder = scratch_root(root) / RUN / "0001.1"
    assert wait_for(lambda: (folder / "workspace" / "pids").exists() and len(alive(NAPPING)) == 2)
    return engine, folder


@linux
def test_a_trial_does_not_outlive_its_engine(tmp_path: Path) -> None:
    """After kill -9 of the engine nobody watches the limits; the trial must end with it."""
    engine, folder = engine_with_a_trial(tmp_path)
    assert reclaim(RUN, tmp_path).folders == []  # a living engine's trial is left alone
    assert len(alive(NAPPING)) == 2
    engine.kill()
    engine.communicate()
    assert wait_for(lambda: not alive(NAPPING) and not alive())
    reclaimed = reclaim(RUN, tmp_path)
    assert reclaimed.folders == [folder]
    assert not folder.parent.exists()


@linux
def test_orphans_of_a_dead_engine_are_reclaimed(tmp_path: Path) -> None:
    """Engine and launcher both killed: what is left is found by its marker at the next start."""
    engine, folder = engine_with_a_trial(tmp_path)
    launcher = int((folder / "workspace" / "pids").read_text(encoding="utf-8"))
    engine.send_signal(signal.SIGSTOP)
    os.kill(launcher, signal.SIGKILL)
    engine.kill()
    engine.communicate()
    assert len(alive(NAPPING)) == 2
    reclaimed = reclaim(RUN, tmp_path)
    assert reclaimed.processes >= 3
    assert (reclaimed.alive, reclaimed.folders) == (0, [folder])
    assert alive(NAPPING) == alive() == []


@linux
def test_the_next_engine_of_any_run_clears_away_what_the_dead_left(tmp_path: Path) -> None:
    """Whoever presses Ctrl-C twice and never resumes would have folders and processes for ever."""
    engine, folder = engine_with_a_trial(tmp_path)
    living = sandbox(tmp_path, trial="0002")
    asyncio.run(living.create())
    assert reclaim_all(tmp_path).folders == []
    assert len(alive(NAPPING)) == 2
    launcher = int((folder / "workspace" / "pids").read_text(encoding="utf-8"))
    engine.send_signal(signal.SIGSTOP)
    os.kill(launcher, signal.SIGKILL)
    engine.kill()
    engine.communicate()
    reclaimed = reclaim_all(tmp_path)
    assert (reclaimed.alive, reclaimed.folders, reclaimed.problems) == (0, [folder], [])
    assert reclaimed.processes >= 3
    assert living.workspace.exists()
    asyncio.run(living.destroy())
    assert list(scratch_root(tmp_path).iterdir()) == []


@linux
def test_processes_of_an_engine_with_its_folders_elsewhere_are_left_alone(tmp_path: Path) -> None:
    """A run under another TMPDIR would lose its trials to whoever starts a run here."""
    engine, _ = engine_with_a_trial(tmp_path / "there")
    (scratch_root(tmp_path) / RUN / "0009.1").mkdir(parents=True)
    assert len(reclaim_all(tmp_path).folders) == 1
    assert len(alive(NAPPING)) == 2
    engine.kill()
    engine.communicate()
    assert wait_for(lambda: not alive(NAPPING))
    reclaim(RUN, tmp_path / "there")


def test_every_enforcement_is_told_and_none_is_claimed_lightly() -> None:
    """The record says what a sandbox does not hold; the host isolates neither network nor file system."""
    for linux_too in (True, False):
        table = host_enforcement(linux=linux_too, root=False)
        assert list(table) == list(ENFORCEMENTS)
        assert {one.status for one in table.values()} <= {"enforced", "best effort", "not enforced"}
        assert all(one.by for one in table.values())
        for name in ("network", "file_system", "user_home"):
            assert table[name].status == "not enforced"
    assert host_enforcement(linux=True, root=True)["file_size"].status == "best effort"


def test_an_unknown_sandbox_gets_a_hint(tmp_path: Path) -> None:
    """A misspelt --sandbox must not fall back to a weaker one."""
    spec = SandboxSpec(run=RUN, trial="0001", try_no=1, limits=Limits(), root=tmp_path)
    assert open_sandbox("host", spec).kind == "host"
    with pytest.raises(UsageError, match="no sandbox 'hst': did you mean 'host'"):
        open_sandbox("hst", spec)
