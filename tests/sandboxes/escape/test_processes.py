"""No process of the machine can be touched, and none of the trial outlives it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tests.sandboxes import machine
from tests.sandboxes.escape.prison import Prison, victim

#: Seconds that nobody else sleeps.
NAP = f"8{os.getpid():07}"


def test_processes_of_the_machine_cannot_be_ended_or_traced(prison: Prison) -> None:
    """A harness could end the engine, or read the user's keys out of any process's memory."""
    code = """
pid = {pid}
libc = ctypes.CDLL(None, use_errno=True)
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
    for whom in (pid, -pid, {engine}):
        with quiet(): os.kill(whom, number); found((whom, number))
if libc.ptrace(16, pid, 0, 0) == 0: found("traced")
with quiet(): found(os.pidfd_open(pid))
with quiet(): found(open(f"/proc/{{pid}}/mem", "rb"))
with quiet(): found(os.sched_setaffinity(pid, [0]))
with quiet(): found(os.setpriority(os.PRIO_PROCESS, pid, 10))
"""
    with victim(prison.secret) as process:
        out = prison.attempt(code.format(pid=process.pid, engine=os.getpid()))
        assert process.poll() is None
        assert process.stdin is not None
        process.stdin.write(b"alive")
        process.stdin.close()
        assert process.stdout is not None
        assert process.stdout.read() == b"alive"
    assert out.lines == []


def test_whoever_kills_all_that_can_be_killed_hurts_only_itself(prison: Prison) -> None:
    """kill -9 -1 by root would end the session, and on the host it does."""
    with victim(prison.secret) as process:
        out = prison.attempt("os.kill(-1, signal.SIGKILL); found('lived')")
        assert process.poll() is None
    assert out.result.limit is None


OUTLIVE = """
nap = {nap!r}
def daemon(*wrap):
    with quiet(): subprocess.Popen([*wrap, "sleep", nap], start_new_session=not wrap,
                                   stdin=-3, stdout=-3, stderr=-3)
daemon(); daemon("setsid"); daemon("nohup"); daemon("setsid", "nohup"); daemon("env", "-i", "/bin/setsid")
daemon("unshare", "-Urpf"); daemon("sh", "-c", "trap '' TERM HUP INT; exec sleep $0 $@")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(64):
            with quiet(): os.close(fd)
        os.environ.clear()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execv("/bin/sleep", ["sleep", nap])
    os._exit(0)
os.wait()
table = ("* * * * * sleep " + nap + "\\n").encode()
for command in (["at", "now", "+", "1", "minute"], ["batch"], ["crontab", "-"], ["systemd-run", "sleep", nap],
                ["systemd-run", "--user", "sleep", nap], ["screen", "-dm", "sleep", nap],
                ["tmux", "new", "-d", "sleep " + nap]):
    with quiet(): subprocess.run(command, input=table, capture_output=True, timeout=5)
time.sleep(0.2)
found("done")
"""


def test_nothing_outlives_the_trial(prison: Prison) -> None:
    """Whatever goes on after a trial takes from the next one, holds its files, and may still cheat."""
    spools = [Path(name) for name in ("/var/spool/cron/crontabs", "/var/spool/cron/atjobs")]
    before = {spool: sorted(spool.iterdir()) for spool in spools if spool.is_dir()}

    async def go() -> None:
        async with prison.trial() as sandbox:
            out = await prison.run(sandbox, OUTLIVE.format(nap=NAP))
            assert "done" in out.lines
            await sandbox.stop()
            assert machine.processes(NAP) == []

    asyncio.run(go())
    assert {spool: sorted(spool.iterdir()) for spool in before} == before


def test_a_cancelled_trial_leaves_nothing(prison: Prison) -> None:
    """Ctrl-C in the middle of a trial that starts processes all the time."""
    code = f"""
while True:
    subprocess.Popen(["setsid", "sleep", {NAP!r}]); time.sleep(0.01); found("x")
"""

    async def go() -> None:
        async with prison.trial() as sandbox:
            task = asyncio.ensure_future(prison.run(sandbox, code))
            for _ in range(1000):
                if len(machine.processes(NAP)) > 5:
                    break
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await sandbox.stop()
            assert machine.processes(NAP) == []

    asyncio.run(go())


def test_a_stopped_trial_leaves_nothing_though_its_watcher_was_killed(prison: Prison) -> None:
    """A harness that ends whatever watches over it must not be free then."""
    code = f"""
subprocess.Popen(["setsid", "sleep", {NAP!r}])
os.kill(os.getppid(), signal.SIGKILL)
time.sleep(0.5)
"""

    async def go() -> None:
        async with prison.trial() as sandbox:
            await prison.run(sandbox, code)
            await sandbox.stop()
            assert machine.processes(NAP) == []

    asyncio.run(go())
