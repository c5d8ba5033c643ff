"""`hemra attach`: finding the session of a trial, and a person in front of it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pytest

from eventlog.client import Client
from eventlog.reader import read
from eventlog.schemas.trials import SandboxCreated, SandboxDestroyed
from eventlog.store import Store
from harnesses.base import TERMINALS
from harnesses.hermes.inside import hand, panes
from hemra.errors import NotFound, UsageError
from hemra.recording import viewing

RUN = "20261201-010203-abcdef"
ROWS, COLUMNS = 30, 100


class Trials:
    """A run whose engine is this test: its trials come and go by their events."""

    def __init__(self, root: Path) -> None:
        self.store = Store.open(root / "store", create=True)
        self.root = root / "hemra-0" / RUN
        self.root.mkdir(parents=True)
        self.client = Client.connect(self.store, RUN, source="test", create=True)

    def begin(self, trial: str) -> Path:
        """A trial with its folders. Returns the folder of its terminals, which is not there yet."""
        workspace = self.root / f"{trial}.1" / "workspace"
        workspace.mkdir(parents=True)
        workspace.parent.chmod(0o700)
        (workspace.parent / "harness").mkdir()
        created = SandboxCreated(
            try_no=1, kind="host", workspace=str(workspace), home="/", enforcement={}, environment=[]
        )
        self.client.append(created, trial=trial)
        return workspace.parent / "harness" / TERMINALS

    def end(self, trial: str) -> None:
        """Its sandbox is gone."""
        self.client.append(SandboxDestroyed(try_no=1, leftover_processes=0), trial=trial)


@pytest.fixture
def trials(tmp_path: Path) -> Iterator[Trials]:
    """A live run."""
    made = Trials(tmp_path)
    yield made
    made.client.close()


def put_socket(place: Path) -> None:
    """A socket where that of a session would be."""
    place.mkdir()
    before = os.getcwd()
    os.chdir(place)  # its whole name is longer than a socket's can be
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(viewing.SOCKET)
    finally:
        os.chdir(before)


def test_the_session_of_a_trial_is_found(trials: Trials) -> None:
    """A person would look into another trial, or into none."""
    first, second = trials.begin("0001"), trials.begin("0002")
    trials.begin("0003")
    with pytest.raises(NotFound, match="no trial of"):
        viewing.choose(trials.store, RUN, None)
    put_socket(second)
    assert viewing.choose(trials.store, RUN, None) == ("0002", second)
    assert viewing.choose(trials.store, RUN, "0002") == ("0002", second)
    with pytest.raises(NotFound, match=r"0003 of .* has no tmux session"):
        viewing.choose(trials.store, RUN, "0003")
    put_socket(first)
    with pytest.raises(UsageError, match="name one of 0001, 0002"):
        viewing.choose(trials.store, RUN, None)
    trials.end("0002")
    with pytest.raises(NotFound, match=r"0002 of .* is not under way"):
        viewing.choose(trials.store, RUN, "0002")
    assert viewing.choose(trials.store, RUN, None) == ("0001", first)


def test_only_a_folder_of_ones_own_counts(trials: Trials, tmp_path: Path) -> None:
    """The name comes from the log: one that was carried here could lead to somebody else's session."""
    place = trials.begin("0001")
    workspace = str(place.parent.parent / "workspace")
    assert viewing.terminals_of(workspace) is None
    put_socket(place)
    assert viewing.terminals_of(workspace) == place
    place.parent.parent.chmod(0o755)
    assert viewing.terminals_of(workspace) is None
    place.parent.parent.chmod(0o700)
    (place / viewing.SOCKET).unlink()
    (place / viewing.SOCKET).symlink_to(tmp_path)
    assert viewing.terminals_of(workspace) is None
    assert viewing.terminals_of("/no\0name/x") is None


class Person:
    """Somebody at a terminal who has typed `hemra attach`."""

    def __init__(self, store: Path, *words: str) -> None:
        self._keys, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "TMUX": "/nested,1,0"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hemra.cli.main", "attach", "--store", str(store), *words],
            stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, start_new_session=True, env=environment,
        )  # fmt: skip
        os.close(terminal)
        self._seen = b""

    def __enter__(self) -> Person:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        os.close(self._keys)

    def sees(self, wanted: bytes) -> None:
        """Wait until it stands on the screen."""
        until = time.monotonic() + 30
        while wanted not in self._seen and time.monotonic() < until:
            if select.select([self._keys], [], [], 0.1)[0]:
                try:
                    self._seen += os.read(self._keys, 65536)
                except OSError:
                    break
        assert wanted in self._seen, (self._seen, self.process.poll())

    def types(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._keys, keys)

    def leaves(self) -> tuple[int, str]:
        """Exit code and stderr once the command has ended; what still comes on the screen is looked at."""
        until = time.monotonic() + 30
        while self.process.poll() is None and time.monotonic() < until:
            if select.select([self._keys], [], [], 0.05)[0]:
                try:
                    self._seen += os.read(self._keys, 65536)
                except OSError:
                    break
        return self.process.wait(10), (self.process.stderr.read() if self.process.stderr else b"").decode()


@pytest.fixture
def session(trials: Trials) -> Iterator[panes.Session]:
    """A trial with a session in which something was done."""
    made = panes.Session(trials.begin("0001"), Path(hand.__file__))
    made.open()
    yield made
    made.close()


def run(session: panes.Session, command: str) -> panes.Command:
    """Start a command in the session."""
    return session.start(
        {
            "argv": ["bash", "-c", command],
            "cwd": "/",
            "env": {"PATH": os.environ["PATH"]},
            "stdin": None,
            "shown": command,
            "hide": "",
        }
    )


@pytest.mark.needs("tmux", "bash")
def test_a_person_watches_and_leaves(trials: Trials, session: panes.Session) -> None:
    """The trial could not be looked into, or looking at it would change it."""
    command = run(session, "printf 'a \\033]0;title\\007 quark\\n'; read -r word </dev/tty; echo got $word")
    with Person(trials.store.path) as person:
        person.sees(b"quark")
        person.types(b"typed\r")
        person.types(b"\x02d")
        code, told = person.leaves()
    assert (code, told) == (0, f"left trial 0001 of {RUN}\n")
    assert b"\x1b]0;title" not in person._seen
    assert command.poll() is None
    command.kill()
    command.wait(20)
    command.stdout.close()
    assert not [e for e in read(trials.store, RUN) if e.type == "note.recorded"]


@pytest.mark.needs("tmux", "bash")
def test_a_person_with_the_keyboard_is_recorded(trials: Trials, session: panes.Session) -> None:
    """A trial that a person had a hand in would look like any other."""
    command = run(session, "echo ready; read -r word </dev/tty; echo got $word")
    with Person(trials.store.path, "0001", "--run", RUN, "--keyboard") as person:
        person.sees(b"ready")
        (note,) = (event for event in read(trials.store, RUN) if event.type == "note.recorded")
        assert (note.trial, note.data["code"]) == ("0001", "person_attached")
        person.types(b"quark\r")
        with command.stdout as output:
            assert output.read() == "ready\ngot quark\n"
        assert command.wait(20) == 0
        session.close()
        code, _ = person.leaves()
    assert code == 0


def test_without_a_terminal_there_is_nothing_to_see(trials: Trials) -> None:
    """A script that calls it would hang, or fill its output with the screen's bytes."""
    done = subprocess.run(
        [sys.executable, "-m", "hemra.cli.main", "attach", "--store", str(trials.store.path)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "attach needs a terminal" in done.stderr
