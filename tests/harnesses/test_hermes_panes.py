"""The terminal session that Hermes is given, without Hermes: real tmux, real commands."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harnesses.hermes.inside import hand, panes
from hemra.sandboxes.base import MARKER

pytestmark = pytest.mark.needs("tmux", "bash", "ps")
HAND = Path(hand.__file__)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[panes.Session]:
    """A session that is gone at the end, in a folder whose name is too long for a socket."""
    folder = tmp_path / ("x" * 100) / "terminals"
    made = panes.Session(folder, HAND)
    made.open()
    yield made
    made.close()


def order(command: str, folder: Path, **more: Any) -> dict[str, Any]:
    """A command as Hermes gives it."""
    usual = {
        "argv": ["bash", "-c", command], "cwd": str(folder), "env": {"PATH": os.environ["PATH"], "MINE": "ü"},
        "stdin": None, "shown": command, "hide": "",
    }  # fmt: skip
    return usual | more


def carried_out(session: panes.Session, command: str, folder: Path, **more: Any) -> tuple[int, str]:
    """(exit code, output) of a command."""
    started = session.start(order(command, folder, **more))
    with started.stdout as output:
        text = output.read()
    return started.wait(20), text


def shown(session: panes.Session, pane: str, wanted: bytes) -> bytes:
    """What a pane showed, once `wanted` is in it: tmux writes it down in its own time."""
    file = session.folder / f"{pane}.120x40.tty"
    until = time.monotonic() + 20
    while time.monotonic() < until:
        content = file.read_bytes() if file.exists() else b""
        if wanted in content:
            return content
        time.sleep(0.02)
    raise AssertionError(f"{wanted!r} was not shown, but {content!r}")


def test_a_command_is_shown_and_answered(session: panes.Session, tmp_path: Path) -> None:
    """The terminal tool would answer with something else than the command's output, or nobody would see it."""
    code, output = carried_out(session, 'echo "$MINE"; echo oh >&2; pwd; exit 3', tmp_path)
    assert (code, output) == (3, f"ü\noh\n{tmp_path}\n")
    content = shown(session, "0", b"[exit code 3]")
    assert content.startswith(b'\x1b[1m$\x1b[0m echo "$MINE"')
    assert "ü\r\noh\r\n".encode() in content


def test_a_command_runs_in_the_pane(session: panes.Session, tmp_path: Path) -> None:
    """A prompt on the terminal would reach nobody, and Hermes' keys and secrets would be tmux's."""
    code, output = carried_out(session, "echo for-the-person >/dev/tty; env", tmp_path)
    assert code == 0
    assert "for-the-person" not in output
    names = {line.split("=")[0] for line in output.splitlines()}
    assert names <= {"PATH", "MINE", "PWD", "SHLVL", "_"}
    assert b"for-the-person" in shown(session, "0", b"for-the-person")


def test_the_session_bears_the_mark_of_its_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox that ends what it finds by the mark would leave the session running after the trial."""
    monkeypatch.setenv(MARKER, "run/0001.1/mark")
    session = panes.Session(tmp_path / "terminals", HAND)
    session.open()
    try:
        command = "for pid in $PPID $(ps -o ppid= -p $PPID); do tr '\\0' '\\n' < /proc/$pid/environ; done"
        _, output = carried_out(session, command, tmp_path)
    finally:
        session.close()
    assert output.splitlines().count(f"{MARKER}=run/0001.1/mark") == 2


def test_input_is_given_and_else_there_is_none(session: panes.Session, tmp_path: Path) -> None:
    """A command that reads would hang until its time is over."""
    assert carried_out(session, "cat; echo done", tmp_path) == (0, "done\n")
    assert carried_out(session, "cat; echo done", tmp_path, stdin="hé\n") == (0, "hé\ndone\n")


def test_what_hermes_adds_is_not_shown(session: panes.Session, tmp_path: Path) -> None:
    """A watcher would see Hermes' marker after every command; Hermes itself must get it."""
    command = "printf 'half\\n__MARK'; sleep 0.1; printf 'ER__x'; printf '\\n__MARKER__/w__MARKER__\\n'"
    code, output = carried_out(session, command, tmp_path, shown="go", hide="__MARKER__/w")
    assert output == "half\n__MARKER__x\n__MARKER__/w__MARKER__\n"
    carried_out(session, "echo next", tmp_path)
    content = shown(session, "0", b"next\r\n")
    assert b"half\r\n__MARKER__x\r\n\x1b[1m$" in content
    assert code == 0


def test_commands_at_the_same_time_have_panes_of_their_own(session: panes.Session, tmp_path: Path) -> None:
    """Their outputs would be mixed, or one would wait for the other for ever."""
    os.mkfifo(tmp_path / "there")
    first = session.start(order("read -r word < there; echo $word", tmp_path, shown="first"))
    assert carried_out(session, "echo from-second > there; echo second", tmp_path) == (0, "second\n")
    with first.stdout as output:
        assert (first.wait(20), output.read()) == (0, "from-second\n")
    assert b"second" in shown(session, "1", b"second\r\n")
    carried_out(session, "echo third", tmp_path)
    assert b"third" in shown(session, "0", b"third\r\n")
    assert not (session.folder / "2.120x40.tty").exists()


def test_a_command_is_ended_with_its_group(session: panes.Session, tmp_path: Path) -> None:
    """A command past its time would go on, and its pane with it."""
    started = session.start(order("trap '' TERM; sleep 60 & echo $!; wait", tmp_path))
    child = int(started.stdout.readline())
    assert started.poll() is None
    assert os.getpgid(child) == os.getpgid(started.pid) == started.pid
    with pytest.raises(subprocess.TimeoutExpired):
        started.wait(0.01)
    started.kill()
    assert started.wait(20) == -9
    started.stdout.close()
    assert carried_out(session, "echo on", tmp_path) == (0, "on\n")


def test_what_a_command_leaves_running_holds_nobody_up(session: panes.Session, tmp_path: Path) -> None:
    """`server &` would block the terminal tool for as long as the server runs."""
    os.mkfifo(tmp_path / "go")
    started = session.start(order("(read -r _ < go; echo late) & echo early", tmp_path))
    assert started.stdout.readline() == "early\n"
    assert started.wait(20) == 0
    started.stdout.close()
    assert carried_out(session, "echo > go; echo next", tmp_path) == (0, "next\n")
    assert b"late" in shown(session, "0", b"late\r\n")


def test_a_flood_is_answered_whole_and_shown_in_part(session: panes.Session, tmp_path: Path) -> None:
    """The output would be cut for Hermes, or a runaway command would fill the disk with its recording."""
    size = hand.SHOWN_BYTES * 3
    code, output = carried_out(session, f"head -c {size} /dev/zero | tr '\\0' x", tmp_path)
    assert (code, len(output)) == (0, size)
    content = shown(session, "0", b"bytes more")
    assert f"[… {size - hand.SHOWN_BYTES} bytes more …]".encode() in content
    assert content.count(b"x") <= hand.SHOWN_BYTES + 8


def test_a_command_that_cannot_start_is_told(session: panes.Session, tmp_path: Path) -> None:
    """The session would be broken for all commands after it."""
    with pytest.raises(OSError, match="No such file"):
        session.start(order("true", tmp_path / "gone"))
    assert carried_out(session, "echo on", tmp_path) == (0, "on\n")


def test_a_pane_that_was_closed_is_replaced(session: panes.Session, tmp_path: Path) -> None:
    """A command that ends the session, by accident or not, would be the trial's last."""
    started = session.start(order(f"tmux -S {panes.SOCKET} kill-server; sleep 60", session.folder))
    assert started.wait(20) == -9
    started.stdout.close()
    assert carried_out(session, "echo on", tmp_path) == (0, "on\n")
    (idle,) = session._hands
    session._tmux("kill-server")
    while idle.there():
        time.sleep(0.01)
    assert carried_out(session, "echo on", tmp_path) == (0, "on\n")


def test_a_person_can_interrupt_a_command(session: panes.Session, tmp_path: Path) -> None:
    """Whoever attaches with the keyboard could only watch a command that went wrong."""
    started = session.start(order("echo ready; sleep 60", tmp_path))
    assert started.stdout.readline() == "ready\n"
    threading.Thread(target=lambda: session._tmux("send-keys", "-t", "hemra:0", "C-c")).start()
    assert started.wait(20) == -2
    started.stdout.close()
    assert carried_out(session, "trap - INT; echo on", tmp_path) == (0, "on\n")


class Local:
    """What `panes` uses of Hermes' local environment, as small as it can be."""

    def __init__(self, cwd: str = "", timeout: int = 60, env: dict[str, str] | None = None) -> None:
        self.cwd, self.env, self._cwd_marker = cwd, env or {}, "__M__"
        self.ran: list[str] = []

    def execute(self, command: str, cwd: str = "", *, bounded_capture: bool = False) -> str:
        """Run it and give back what it printed."""
        process = self._run_bash(command, login=False, timeout=5, stdin_data=None)
        if process is None:
            return ""
        with process.stdout as output:
            return str(output.read())

    def _run_bash(self, cmd_string: str, *, login: bool, timeout: int, stdin_data: str | None) -> Any:
        self.ran.append(cmd_string)


LOCAL = SimpleNamespace(
    LocalEnvironment=Local, _find_bash=lambda: "bash", _make_run_env=lambda env: dict(os.environ),
    _prepend_shell_init=lambda text, files: text, _resolve_safe_cwd=lambda cwd: cwd,
    _resolve_shell_init_files=list,
)  # fmt: skip


def create(env_type: str, image: str, cwd: str, timeout: int, task_id: str = "") -> str:
    """Hermes' own way to an environment."""
    return f"{env_type} {image} {task_id}"


def test_only_the_terminal_tools_commands_are_shown(session: panes.Session, tmp_path: Path) -> None:
    """The pane would be full of Hermes' own shell work, or stay empty; other backends would be lost."""
    make = panes.environment_maker(create, LOCAL, session)
    assert make("docker", "image", "/", 5, task_id="t") == "docker image t"
    made = make(env_type="local", image="", cwd=str(tmp_path), timeout=5)
    assert made.execute("cat file") == ""
    assert made.ran == ["cat file"]
    assert made.execute("echo shown", bounded_capture=True) == "shown\n"
    assert made.ran == ["cat file"]


def test_another_form_of_hermes_functions_is_told() -> None:
    """A new Hermes would fail somewhere inside, with an error that nobody understands."""
    assert panes.misfits(create, LOCAL) == []
    other = SimpleNamespace(LocalEnvironment=type("Other", (), {"execute": lambda self, command: None}))
    found = panes.misfits(lambda kind, cwd, timeout: None, other)
    assert found == [
        "_create_environment takes no env_type any more",
        "execute takes no bounded_capture any more",
        "_run_bash takes no cmd_string, login, timeout, stdin_data any more",
    ]


def test_without_tmux_there_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent would work on without the terminal that was asked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match="tmux"):
        panes.Session(tmp_path / "terminals", HAND).open()


def test_the_programs_of_the_trial_need_nothing_of_hemra(tmp_path: Path) -> None:
    """They run in Hermes' Python, where HEMRA is not installed."""
    for name in ("launcher.py", "panes.py", "hand.py"):
        code = f"import runpy; runpy.run_path({str(HAND.with_name(name))!r}, run_name='loaded')"
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, timeout=60, check=False)
        assert done.returncode == 0, name
