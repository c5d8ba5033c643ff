"""Hermes' terminal in tmux: one session a trial, a pane for every command that runs at the same time.

Commands of the terminal tool run in a pane, and their output goes to Hermes as it would have gone without. Hermes'
own work in the shell (files, snapshots of the environment) is not shown. Everything that a pane shows is recorded
beside the session's socket. Standard library only; what is used of Hermes is named in `SEAMS`.
"""

from __future__ import annotations

import atexit
import contextlib
import inspect
import json
import os
import select
import shlex
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: What this uses of Hermes' local environment.
SEAMS = (
    "LocalEnvironment",
    "_find_bash",
    "_make_run_env",
    "_prepend_shell_init",
    "_resolve_safe_cwd",
    "_resolve_shell_init_files",
)
#: Parameters that Hermes' functions must have.
PARAMETERS = {
    "_create_environment": ("env_type", "cwd", "timeout"),
    "execute": ("command", "bounded_capture"),
    "_run_bash": ("cmd_string", "login", "timeout", "stdin_data"),
}
COLUMNS, ROWS = 120, 40
SOCKET, SETTINGS = "tmux.sock", "tmux.conf"
START_SECONDS = 30.0
#: So long a session that was ended under the trial is tried to be started again.
AGAIN_SECONDS = 10.0
#: No key but those to look.
CONFIGURATION = f"""
set -g default-size {COLUMNS}x{ROWS}
set -g history-limit 20000
set -g status off
set -g destroy-unattached off
set -g default-terminal screen-256color
unbind-key -a
bind-key d detach-client
bind-key [ copy-mode
bind-key n next-window
bind-key p previous-window
"""


def misfits(create: Callable[..., Any], local: Any) -> list[str]:
    """What of Hermes does not have the form that is needed, one phrase each."""
    environment = local.LocalEnvironment
    found = []
    for name, function in (
        ("_create_environment", create),
        ("execute", getattr(environment, "execute", None)),
        ("_run_bash", getattr(environment, "_run_bash", None)),
    ):
        known = inspect.signature(function).parameters if function is not None else {}
        missing = [parameter for parameter in PARAMETERS[name] if parameter not in known]
        if missing:
            found.append(f"{name} takes no {', '.join(missing)} any more")
    return found


class Session:
    """The tmux session of the trial in `folder`. `hand` is the program of its panes."""

    def __init__(self, folder: Path, hand: Path) -> None:
        self.folder = folder
        self._hand = hand
        self._lock = threading.Lock()
        self._hands: list[Hand] = []
        self._number = 0

    def open(self) -> None:
        """Start it with its first pane. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / SETTINGS).write_text(CONFIGURATION, "utf-8")
        atexit.register(self.close)
        with self._lock:
            self._more()

    def close(self) -> None:
        """End it and whatever runs in it."""
        atexit.unregister(self.close)
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            self._tmux("kill-server")
        with self._lock:
            for hand in self._hands:
                hand.leave()
            self._hands = []

    def start(self, order: dict[str, Any]) -> Command:
        """Carry out a command in a free pane, a new one where none is free. Raises OSError."""
        with self._lock:
            self._hands = [hand for hand in self._hands if hand.there()]
            free = next((hand for hand in self._hands if hand.free), None)
            hand = free or self._more()
            try:
                return hand.start(order)
            except OSError:
                if hand.there():
                    raise
            # It went away before the command was started.
            self._hands.remove(hand)
            return self._more().start(order)

    def _more(self) -> Hand:
        name = str(self._number)
        self._number += 1
        place = f"hand-{name}.sock"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.settimeout(START_SECONDS)
            # By the folder's descriptor: its own name may be longer than that of a socket can be.
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                listener.bind(f"/proc/self/fd/{folder}/{place}")
            finally:
                os.close(folder)
            listener.listen(1)
            program = shlex.join([sys.executable, "-I", "-S", str(self._hand), place])
            self._start_pane("-n", name, "-c", str(self.folder), f"exec {program}")
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                raise OSError("the program of a new pane did not answer") from None
        record = shlex.quote(str(self.folder / f"{name}.{COLUMNS}x{ROWS}.tty"))
        pane = f"hemra:{name}"
        # A pane keeps the size that it is given here whoever looks at it: the recording has but one.
        self._tmux("resize-window", "-t", pane, "-x", str(COLUMNS), "-y", str(ROWS))
        self._tmux("pipe-pane", "-o", "-t", pane, f"exec cat >> {record}")
        hand = Hand(connection)
        self._hands.append(hand)
        return hand

    def _start_pane(self, *words: str) -> None:
        if self._hands:
            self._tmux("new-window", "-d", "-t", "hemra:", *words)
            return
        until = time.monotonic() + AGAIN_SECONDS
        while True:
            try:
                self._tmux("new-session", "-d", "-s", "hemra", *words)
                return
            except OSError:
                # A server that somebody ended is there until it has ended everything in it.
                if self._number == 1 or time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def _tmux(self, *words: str) -> None:
        # In its folder, by a short name: that of a socket can have 107 bytes.
        ran = subprocess.run(
            ["tmux", "-u", "-S", SOCKET, "-f", SETTINGS, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=START_SECONDS, check=False, env=_own_environment(),
        )  # fmt: skip
        if ran.returncode:
            told = ran.stderr.decode("utf-8", "replace").strip() or f"exit code {ran.returncode}"
            raise OSError(f"tmux {words[0]}: {told}")


def _own_environment() -> dict[str, str]:
    """The session's environment: commands get theirs with their order, and nobody Hermes' own by way of tmux.

    By the trial's mark the sandbox finds what is left of it: tmux leaves the family of processes that it came from.
    """
    names = ("HEMRA_TRIAL_TOKEN", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "SHELL", "TMPDIR", "USER")
    return {name: os.environ[name] for name in names if name in os.environ} | {"TERM": "xterm-256color"}


class Hand:
    """A pane's program, as seen from Hermes."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._said = bytearray()
        self._current: Command | None = None
        self.alive = True

    @property
    def free(self) -> bool:
        """Whether its last command is over."""
        return self._current is None or self._current.poll() is not None

    def there(self) -> bool:
        """Whether it is still there; somebody may have ended the session since its last command."""
        if self.alive and select.select([self._connection], [], [], 0)[0]:
            with contextlib.suppress(OSError):
                if self._connection.recv(1, socket.MSG_PEEK):
                    return True
            self.leave()
        return self.alive

    def start(self, order: dict[str, Any]) -> Command:
        """Carry out a command. Raises OSError where it cannot be started."""
        body = json.dumps(order).encode("ascii")
        read_end, write_end = os.pipe()
        try:
            socket.send_fds(self._connection, [struct.pack("!I", len(body))], [write_end])
            self._connection.sendall(body)
            said = self.next(START_SECONDS)
            if said is None or "error" in said:
                raise OSError(said["error"] if said else "the pane is gone")
        except OSError:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        self._current = Command(self, said["pid"], read_end)
        return self._current

    def leave(self) -> None:
        """Nothing is said to it any more, and nothing heard of it."""
        self.alive = False
        self._connection.close()

    def next(self, seconds: float) -> dict[str, Any] | None:
        """What it says next; None where it says nothing in that time, or nothing any more (`alive` tells)."""
        while b"\n" not in self._said:
            if not self.alive or not select.select([self._connection], [], [], seconds)[0]:
                return None
            try:
                piece = self._connection.recv(65536)
            except OSError:
                piece = b""
            if not piece:
                self.leave()
                return None
            self._said += piece
        line, _, rest = self._said.partition(b"\n")
        self._said = bytearray(rest)
        told: dict[str, Any] = json.loads(line)
        return told


class Command:
    """A command in a pane, as Hermes wants a process: `pid`, `stdout`, `returncode`, `poll`, `wait`, `kill`."""

    def __init__(self, hand: Hand, pid: int, output: int) -> None:
        self._hand = hand
        self.pid = pid
        #: Hermes ends a process by its group, and looks for it here when the process is gone.
        self._hermes_pgid = pid
        self.returncode: int | None = None
        self.stdout = os.fdopen(output, "r", encoding="utf-8", errors="replace")
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has one. Raises subprocess.TimeoutExpired."""
        code = self._look(timeout if timeout is not None else threading.TIMEOUT_MAX)
        if code is None:
            raise subprocess.TimeoutExpired(["command", str(self.pid)], timeout or 0)
        return code

    def kill(self) -> None:
        """End it and its group at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, 9)

    def _look(self, seconds: float) -> int | None:
        with self._lock:
            if self.returncode is None:
                said = self._hand.next(seconds)
                if said is not None:
                    self.returncode = said["exit"]
                elif not self._hand.alive:
                    self.returncode = -9  # the pane was closed under it
            return self.returncode


def environment_maker(original: Callable[..., Any], local: Any, session: Session) -> Callable[..., Any]:
    """In place of Hermes' `_create_environment`: its local environment with the terminal tool's commands in panes."""
    form = inspect.signature(original)

    class PaneEnvironment(local.LocalEnvironment):  # type: ignore[misc]
        """Hermes' local environment, in panes."""

        cwd: str
        _showing = threading.local()

        def execute(self, command: str, *args: Any, **how: Any) -> Any:
            """Only the terminal tool bounds what it captures: that is how its commands are known."""
            self._showing.command = command if how.get("bounded_capture") else None
            try:
                return super().execute(command, *args, **how)
            finally:
                self._showing.command = None

        def _run_bash(self, cmd_string: str, **how: Any) -> Any:
            shown = getattr(self._showing, "command", None)
            if shown is None:
                return super()._run_bash(cmd_string, **how)
            login = how.get("login", False)
            if login and (files := local._resolve_shell_init_files()):
                cmd_string = local._prepend_shell_init(cmd_string, files)
            self.cwd = local._resolve_safe_cwd(self.cwd)
            return session.start({
                "argv": [local._find_bash(), *(["-l"] if login else []), "-c", cmd_string],
                "cwd": self.cwd, "env": local._make_run_env(self.env), "stdin": how.get("stdin_data"),
                "shown": shown, "hide": getattr(self, "_cwd_marker", ""),
            })  # fmt: skip

    def make(*args: Any, **kwargs: Any) -> Any:
        given = form.bind(*args, **kwargs).arguments
        if given["env_type"] != "local":
            return original(*args, **kwargs)
        return PaneEnvironment(cwd=given["cwd"], timeout=given["timeout"])

    return make
