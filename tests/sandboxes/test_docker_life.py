"""A program in a container: how it starts, what it sees, how it ends, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from eventlog.schemas.runs import Limits
from hemra.sandboxes.base import LoginFile, SandboxError
from tests.sandboxes.docker_trials import Ran, attempt, left, python, run_in, sandbox, shell, tried
from tools.engine.engine import Engine

pytestmark = pytest.mark.usefixtures("docker_engine")


def test_streams_apart_as_bytes(tmp_path: Path) -> None:
    """Broken: stdout and stderr mixed, bytes changed on the way, or our own words left in them."""
    code = "import os; os.write(1, bytes(range(256))); os.write(2, b'\\xff\\x00err'); os.write(1, b'end')"
    ran = attempt(tmp_path, python(code))
    assert (ran.stdout, ran.stderr) == (bytes(range(256)) + b"end", b"\xff\x00err")
    assert (ran.result.exit_code, ran.result.exit_signal, ran.result.leftover_processes) == (0, None, 0)
    assert (ran.result.stdout_bytes, ran.result.stderr_bytes) == (259, 5)


@pytest.mark.parametrize(
    ("code", "status"),
    [("exit 0", (0, None)), ("exit 3", (3, None)), ("kill -9 $$", (None, 9)), ("kill -TERM $$", (None, 15))],
)
def test_the_end_is_told(tmp_path: Path, code: str, status: tuple[int | None, int | None]) -> None:
    """Broken: an exit code or a signal told as something else."""
    result = attempt(tmp_path, shell(code)).result
    assert (result.exit_code, result.exit_signal) == status


def test_stdin_goes_in_whole(tmp_path: Path) -> None:
    """Broken: part of a large prompt lost, or stdin never closed."""
    prompt = os.urandom(1_000_000)
    code = "import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    ran = attempt(tmp_path, python(code), stdin=prompt)
    import hashlib

    assert ran.stdout.decode().strip() == hashlib.sha256(prompt).hexdigest()


def test_stdin_nobody_reads_is_flagged(tmp_path: Path) -> None:
    """Broken: a prompt that was never read looks as if it had been."""
    assert "stdin_unread" in attempt(tmp_path, ["true"], stdin=b"x" * 20_000_000).result.flags


def test_no_stdin_is_an_empty_one(tmp_path: Path) -> None:
    """Broken: a program that reads stdin waits for ever."""
    assert attempt(tmp_path, ["cat"], wall_seconds=20).result.exit_code == 0


def test_words_and_variables_arrive_as_they_are(tmp_path: Path) -> None:
    """Broken: a quote, newline, blank or byte that is no text changes between the plan and the program."""
    odd = ["", "a b", "'\"$(id)`", "line\nline", "\udcff\udcfe", "*", "-n", "\\"]
    code = "import os, sys; os.write(1, b'\\0'.join(map(os.fsencode, [*sys.argv[1:], os.environ['ODD']])))"
    ran = attempt(tmp_path, python(code, *odd), env={"ODD": "x\n'y\udcff"})
    assert ran.stdout.split(b"\0") == [os.fsencode(word) for word in [*odd, "x\n'y\udcff"]]


def test_the_environment_is_the_trials_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: a variable of the user's gets into the container."""
    monkeypatch.setenv("SECRET_OF_THE_USER", "s3cr3t")
    ran = attempt(tmp_path, ["env"], env={"GIVEN": "1"})
    names = {line.partition("=")[0] for line in ran.stdout.decode().splitlines()}
    assert "SECRET_OF_THE_USER" not in names
    assert {"GIVEN", "HOME", "PATH", "TMPDIR", "HEMRA_TRIAL_TOKEN"} <= names


def test_a_missing_program_is_told_with_the_image(tmp_path: Path) -> None:
    """Broken: a program that is not in the image is taken for one that ran and failed."""
    result = attempt(tmp_path, ["no-such-program"]).result
    assert not result.started
    assert result.error is not None
    assert "no-such-program" in result.error
    assert "hemra-test" in result.error


@pytest.mark.parametrize("how", ["folder", "not executable", "missing interpreter", "missing folder"])
def test_what_cannot_be_started_says_why(tmp_path: Path, how: str) -> None:
    """Broken: no reason, or a wrong one, for a program that is there and cannot be started."""

    async def run() -> str:
        box = sandbox(tmp_path)
        await box.create()
        try:
            script = box.workspace / "script"
            script.write_text("#!/opt/none/interpreter\n", encoding="utf-8")
            script.chmod(0o755 if how == "missing interpreter" else 0o644)
            words = ["/workspace"] if how == "folder" else ["./script"]
            cwd = "/workspace/none" if how == "missing folder" else "/workspace"
            ran = await run_in(box, words, cwd=cwd)
            assert not ran.result.started
            return ran.result.error or ""
        finally:
            await box.destroy()

    expected = {"missing folder": "working folder", "missing interpreter": "first line names"}
    assert expected.get(how, "executable") in asyncio.run(run())


def test_what_the_engine_put_there_can_be_changed_and_read_back(tmp_path: Path) -> None:
    """Broken: files of this user cannot be changed by the trial, or files of the trial not read or removed here."""

    async def run() -> None:
        box = sandbox(tmp_path)
        await box.create()
        (box.workspace / "deep").mkdir()
        (box.workspace / "deep" / "given.txt").write_text("given", encoding="utf-8")
        await box.put("more.txt", b"more", executable=True)
        before = await box.snapshot()
        code = (
            "echo changed > deep/given.txt && echo own > deep/own.txt && mkdir -m 000 closed && "
            "echo x > secret && chmod 000 secret && ln -s /etc/passwd link && mkfifo pipe && echo t > /tmp/t && "
            "echo h > $HOME/h && test ! -w /harness && ./more.txt; stat -c %u deep/given.txt; id -u"
        )
        ran = await run_in(box, shell(code))
        owner, user = ran.stdout.split()
        assert owner == user != b"0"
        assert await box.get("deep/own.txt", 100) == b"own\n"
        assert await box.get("link", 100) is None
        after = await box.snapshot()
        changed = {path for path in after if after[path] != before.get(path)}
        assert changed == {"deep/given.txt", "deep/own.txt", "closed", "secret", "link", "pipe"}
        await box.destroy()
        assert not box.workspace.parent.exists()

    asyncio.run(run())


def test_handing_over_is_no_change(tmp_path: Path) -> None:
    """Broken: every file of a task counts as changed because it was given to the trial's user."""

    async def run() -> None:
        box = sandbox(tmp_path)
        await box.create()
        try:
            (box.workspace / "a").write_text("a", encoding="utf-8")
            before = await box.snapshot()
            await run_in(box, ["true"])
            assert await box.snapshot() == before
        finally:
            await box.destroy()

    asyncio.run(run())


def test_only_workspace_home_and_tmp_can_be_written(tmp_path: Path) -> None:
    """Broken: a trial writes into its image or into the harness's folder."""
    code = "for d in / /usr /etc /var /run /harness /.hemra /dev; do touch $d/x 2>/dev/null && echo $d; done; true"
    assert attempt(tmp_path, shell(code)).stdout == b""


def test_no_privilege(tmp_path: Path) -> None:
    """Broken: a capability, a way to gain one, or root inside."""
    ran = attempt(tmp_path, shell("id -u; grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status"))
    words = ran.stdout.split()
    assert words[0] != b"0"
    assert words[1:] == [
        *(b"CapEff:", b"0000000000000000"), *(b"CapBnd:", b"0000000000000000"), b"NoNewPrivs:", b"1", b"Seccomp:", b"2",
    ]  # fmt: skip


def test_signals_have_their_default_meaning(tmp_path: Path) -> None:
    """Broken: a program begins with signals ignored or blocked because its shell had them so."""
    ran = attempt(tmp_path, ["grep", "-E", "Sig(Ign|Blk)", "/proc/self/status"])
    ordinary = (1 << 31) - 1  # above are those of the C library and real-time ones
    assert [int(word, 16) & ordinary for word in ran.stdout.split()[1::2]] == [0, 0]


def test_a_terminal_has_its_size_and_stdin_apart(tmp_path: Path) -> None:
    """Broken: no terminal, another size, or a prompt that is echoed into the output."""
    code = "test -t 1 && test -t 2 && ! test -t 0 && stty size </dev/tty; tty >/dev/null || cat; echo err >&2"
    ran = attempt(tmp_path, shell(code), pty=(101, 37), stdin=b"prompt")
    assert ran.stdout == b"37 101\r\nprompterr\r\n"
    assert (ran.result.exit_code, ran.stderr) == (0, b"")


def test_a_terminal_ends_with_its_program(tmp_path: Path) -> None:
    """Broken: what a program on a terminal leaves behind keeps it open, or goes uncounted."""
    ran = attempt(tmp_path, shell("setsid sleep 600 & sleep 0.3; exit 4"), pty=(80, 24), wall_seconds=30)
    assert (ran.result.exit_code, ran.result.limit, ran.result.leftover_processes) == (4, None, 1)


def test_several_programs_one_after_the_other(tmp_path: Path) -> None:
    """Broken: a second program does not run, or does not see what the first left in its folders."""

    async def run() -> None:
        box = sandbox(tmp_path)
        await box.create()
        try:
            await run_in(box, shell("echo one > /tmp/t; echo one > w"))
            ran = await run_in(box, shell("cat /tmp/t w"))
            assert ran.stdout == b"one\none\n"
            assert (await run_in(box, shell("echo pty"), pty=(80, 24))).stdout == b"pty\r\n"
            assert (await run_in(box, ["false"])).result.exit_code == 1
            assert not (await run_in(box, ["none"])).result.started
            assert (await run_in(box, ["true"])).result.exit_code == 0
        finally:
            await box.destroy()

    asyncio.run(run())


@pytest.mark.parametrize("pty", [None, (80, 24)])
def test_a_program_beside_another_sees_it_and_survives_its_end(
    tmp_path: Path, pty: tuple[int, int] | None
) -> None:
    """Broken: a task's world and the harness are in different containers, or the end of one is that of the other."""

    async def run() -> None:
        box = sandbox(tmp_path)
        await box.create()
        try:
            world = Ran()
            code = "echo $$ > pid; sleep 987 & while ! test -e end; do sleep 0.05; done; exit 5"
            first = asyncio.ensure_future(run_in(box, shell(code), world))
            await world.started.wait()
            beside = await run_in(box, shell("setsid sleep 988 & sleep 0.3; ps -eo args"), pty=pty)
            assert b"sleep 987" in beside.stdout
            assert beside.result.leftover_processes == 1
            assert not first.done()
            second = asyncio.ensure_future(
                run_in(box, shell("touch end; sleep 1.5; ps -eo args; exit 6"), pty=pty)
            )
            assert (await first).result.exit_code == 5
            assert world.result.leftover_processes == 1
            ended = await second
            assert ended.result.exit_code == 6
            assert b"sleep 98" not in ended.stdout
        finally:
            await box.destroy()

    asyncio.run(run())


def test_stop_ends_everything_and_destroy_twice_is_no_error(tmp_path: Path) -> None:
    """Broken: a stopped trial goes on, or a second stop or destroy fails."""

    async def run() -> None:
        box = sandbox(tmp_path)
        await box.create()
        ran = Ran()
        work = asyncio.ensure_future(run_in(box, shell("trap '' TERM; sleep 600 & sleep 600"), ran))
        await ran.started.wait()
        assert await box.stop() >= 1
        assert "stopped" in (await work).result.flags
        assert await box.stop() == 0
        await box.destroy()
        await box.destroy()
        with pytest.raises(SandboxError, match="gone"):
            await run_in(box, ["true"])

    asyncio.run(run())
    assert left() == []


def test_cancelling_ends_the_program_first(tmp_path: Path) -> None:
    """Broken: a cancelled call returns while its program still runs."""

    async def run() -> None:
        box = sandbox(tmp_path)
        await box.create()
        try:
            ran = Ran()
            work = asyncio.ensure_future(
                run_in(box, shell("trap 'echo bye > bye; exit' TERM; echo set; sleep 600 & wait"), ran)
            )
            while not ran.stdout:  # until then it has not even set its trap
                await asyncio.sleep(0.01)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            assert (box.workspace / "bye").exists()
        finally:
            await box.destroy()

    asyncio.run(run())


def test_what_a_receiver_raises_ends_the_program(tmp_path: Path) -> None:
    """Broken: a failing recorder leaves the program running, or its error is lost."""

    async def broken(_stream: str, _chunk: bytes) -> None:
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        attempt(tmp_path, shell("while :; do echo x; done"), on_output=broken)
    assert left() == []


def test_login_files_are_there_and_cannot_be_changed(tmp_path: Path) -> None:
    """Broken: a login file that a harness names is not there, can be changed, or is not alone."""
    source = tmp_path / "auth.json"
    source.write_text("token", encoding="utf-8")

    async def run() -> bytes:
        box = sandbox(tmp_path, login_files=(LoginFile(source, ".agent/auth.json"),))
        await box.create()
        try:
            ran = await run_in(
                box, shell("cd; find . -type f; cat .agent/auth.json; echo x > .agent/auth.json")
            )
            return ran.stdout
        finally:
            await box.destroy()

    assert asyncio.run(run()) == b"./.agent/auth.json\ntoken"
    assert source.read_text(encoding="utf-8") == "token"


def test_a_harness_sees_its_files_and_not_what_is_hidden(tmp_path: Path) -> None:
    """Broken: a harness's own folder is not mounted, or a store inside it can be read."""
    folder = tmp_path / "harness"
    (folder / "store").mkdir(parents=True)
    (folder / "store" / "events").write_text("secret", encoding="utf-8")
    (folder / "agent.sh").write_text("#!/bin/sh\necho agent; cat store/events; ls store\n", encoding="utf-8")
    (folder / "agent.sh").chmod(0o755)
    solution = tmp_path / "tasks" / "solution"
    solution.mkdir(parents=True)
    (solution / "solve.py").write_text("print('solved')", encoding="utf-8")

    async def run() -> Ran:
        box = sandbox(
            tmp_path, read_only=(folder,), hidden=(folder / "store", tmp_path / "tasks"), solution=solution
        )
        await box.create()
        try:
            words = f"cd {folder}; ./agent.sh; python3 {box.inside(solution)}/solve.py; ls {tmp_path}; ls {solution}"
            return await run_in(box, shell(words))
        finally:
            await box.destroy()

    ran = asyncio.run(run())
    assert ran.stdout == b"agent\nsolved\nharness\n"


def test_this_python_means_the_images(tmp_path: Path) -> None:
    """Broken: a harness that is started with the Python of this process cannot be started in a container."""
    ran = attempt(tmp_path, [sys.executable, "-c", "import sys; print(sys.executable)"])
    assert ran.stdout == b"/usr/bin/python3\n"


def test_figures_of_use(tmp_path: Path) -> None:
    """Broken: memory, CPU time and processes of a container are not measured."""
    code = "import time; x = b'x' * 50_000_000\nwhile time.process_time() < 0.5: pass"
    ran = attempt(tmp_path, python(code), limits=Limits(memory_bytes=200 << 20))
    assert ran.result.peak_memory_bytes is not None
    assert 50_000_000 < ran.result.peak_memory_bytes < 150_000_000
    assert ran.result.cpu_ns is not None
    assert ran.result.cpu_ns > 300_000_000
    assert any((sample.rss_bytes or 0) > 40_000_000 and sample.processes == 1 for sample in ran.samples)


@pytest.mark.needs("busybox")
def test_a_container_of_an_image_without_python_or_shell(docker_engine: Engine, tmp_path: Path) -> None:
    """Broken: an image that has little needs more than a shell, or one without says nothing of use."""
    docker_engine.import_folder({"bin/busybox": Path("/bin/busybox")}, {"bin/sh": "busybox"}, "small:1")
    docker_engine.import_folder({"bin/busybox": Path("/bin/busybox")}, {}, "bare:1")
    ran = attempt(tmp_path, ["/bin/busybox", "sh", "-c", "echo hi; exit 7"], option="small:1")
    assert (ran.stdout, ran.result.exit_code) == (b"hi\n", 7)
    with pytest.raises(SandboxError, match="no /bin/sh"):
        asyncio.run(tried(tmp_path, ["true"], option="bare:1"))
    assert left() == []
