"""The program of a pane: carries out commands that come over a socket, and shows them as they go.

    python -I -S hand.py SOCKET

A command's output goes to the descriptor that came with its order, as it would have gone without the pane, and to
the pane's terminal, which is the command's controlling terminal. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
from typing import Any

#: So much of what one command prints is shown; all of it goes to whoever asked for the command.
SHOWN_BYTES = 256 * 1024
CHUNK = 16 * 1024
TERMINAL = 1


def receive(connection: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """The next order with the descriptors that came with it; None when there is nobody any more."""
    head, fds, _, _ = socket.recv_fds(connection, 4, 1)
    while head and len(head) < 4:
        head += connection.recv(4 - len(head))
    if not head:
        return None, fds
    (left,) = struct.unpack("!I", head)
    body = bytearray()
    while len(body) < left:
        piece = connection.recv(left - len(body))
        if not piece:
            return None, fds
        body += piece
    order: dict[str, Any] = json.loads(body)
    return order, fds


def tell(connection: socket.socket, **said: Any) -> None:
    """One line to whoever asked."""
    connection.sendall(json.dumps(said).encode("ascii") + b"\n")


class Screen:
    """What of one command's output is shown: the beginning, and nothing of the line that Hermes adds for itself."""

    def __init__(self, hide: bytes) -> None:
        self._hide = b"\n" + hide if hide else b""
        self._held = b""
        self._hiding = False
        self._shown = 0
        self._last = b"\n"
        self.left_out = 0

    def show(self, data: bytes) -> None:
        """Show more of it, but for an end that may become the hidden line."""
        if self._hiding:
            return
        data = self._held + data
        self._held = b""
        if self._hide:
            at = data.find(self._hide)
            if at >= 0:
                self._hiding = True
                data = data[:at]
            else:
                back = next(
                    (size for size in range(min(len(self._hide) - 1, len(data)), 0, -1)
                     if data.endswith(self._hide[:size])), 0,
                )  # fmt: skip
                if back:
                    data, self._held = data[:-back], data[-back:]
        self._write(data)

    def close(self, code: int) -> None:
        """Show the rest, and how it ended where that was not in order."""
        if not self._hiding:
            self._write(self._held)
        self._held = b""
        if self._last != b"\n":
            write_all(TERMINAL, b"\n")
        if self.left_out:
            write_all(TERMINAL, f"[… {self.left_out} bytes more …]\n".encode())
        if code:
            write_all(TERMINAL, f"\x1b[2m[exit code {code}]\x1b[0m\n".encode())

    def _write(self, data: bytes) -> None:
        part = data[: SHOWN_BYTES - self._shown]
        self.left_out += len(data) - len(part)
        if part:
            self._shown += len(part)
            self._last = part[-1:]
            write_all(TERMINAL, part)


def write_all(target: int, data: bytes) -> bool:
    """Write all of it; False where nobody reads any more."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except OSError:
            return False
    return True


def copy(source: int, target: int, screen: Screen, over: threading.Event) -> None:
    """Everything from `source` to `target` and to the screen; programs left running may hold `source` for long."""
    wanted = True
    try:
        while piece := os.read(source, CHUNK):
            if wanted:
                wanted = write_all(target, piece)
            screen.show(piece)
    except OSError:
        pass  # the pane is closing
    finally:
        os.close(source)
        os.close(target)
        over.set()


def foreground(group: int) -> None:
    """Let the terminal's keys go to this process group."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        os.tcsetpgrp(TERMINAL, group)
    except OSError:
        pass  # it ended already
    finally:
        signal.signal(signal.SIGTTOU, before)


def carry_out(connection: socket.socket, order: dict[str, Any], target: int) -> None:
    """One command from its start to its end."""
    write_all(TERMINAL, f"\x1b[1m$\x1b[0m {order['shown']}\n".encode("utf-8", "replace"))
    screen = Screen(order["hide"].encode())
    source, sink = os.pipe()
    given = order["stdin"]
    try:
        child = subprocess.Popen(
            order["argv"], cwd=order["cwd"], env=order["env"], stdout=sink, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE, process_group=0,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        os.close(source)
        os.close(target)
        tell(connection, error=str(error))
        screen.close(127)
        return
    finally:
        os.close(sink)
    foreground(child.pid)
    # It may have wanted keys before they were its own, and was stopped for that.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGCONT)
    tell(connection, pid=child.pid)
    over = threading.Event()
    threading.Thread(target=copy, args=(source, target, screen, over), daemon=True).start()
    if given is not None:
        threading.Thread(
            target=feed, args=(child, given.encode("utf-8", "surrogateescape")), daemon=True
        ).start()
    code = child.wait()
    foreground(os.getpgrp())
    # What it left running may go on printing; what it printed itself is there by now, or will be in a moment.
    over.wait(0.3)
    screen.close(code)
    tell(connection, exit=code)


def feed(child: subprocess.Popen[bytes], data: bytes) -> None:
    """Give a command its input."""
    assert child.stdin is not None
    with contextlib.suppress(OSError), child.stdin:
        child.stdin.write(data)


def no_suspending() -> None:
    """A command that a person suspends would stand still with nobody to wake it."""
    with contextlib.suppress(termios.error):
        modes = termios.tcgetattr(TERMINAL)
        modes[6][termios.VSUSP] = b"\0"
        termios.tcsetattr(TERMINAL, termios.TCSANOW, modes)


def main(place: str) -> None:
    """Carry out orders until there is nobody who gives them."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        # Not ignored: that would be passed on to the commands.
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGTTIN, signal.SIGTTOU):
        # tmux ignores them and passes that on: who wants keys a moment too soon would get an error in place of them.
        signal.signal(number, signal.SIG_DFL)
    no_suspending()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(place)
        while True:
            order, fds = receive(connection)
            if order is None or len(fds) != 1:
                return
            carry_out(connection, order, fds[0])


if __name__ == "__main__":
    main(sys.argv[1])
