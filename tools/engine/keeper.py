"""Process 1 of the test engine's own pid namespace: starts dockerd, kills it and starts it again when told.

    python -I -S -B keeper.py FOLDER DOCKERD [OPTION …]

It reads one letter at a time from stdin: `k` kills the daemon without warning, `s` starts it (again). The end
of stdin, or of this process, ends everything in the namespace: the kernel kills whatever is left, so neither a
container nor a shim outlives the tests. After each letter it prints a line, `killed` or `started`.

The network namespace is the engine's own as well: its bridge and its packet filter never touch the machine's.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable

SIOCSIFFLAGS = 0x8914
IFF_UP = 1
PR_SET_PDEATHSIG = 1


def loopback_up() -> None:
    """A new network namespace begins with its loopback down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


class Keeper:
    """One daemon, started and killed as asked."""

    def __init__(self, folder: str, argv: list[str]) -> None:
        self.folder = folder
        self.argv = argv
        self.pid = 0

    def start(self) -> None:
        """Start the daemon; its words go to the log in the folder."""
        log = os.open(os.path.join(self.folder, "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        actions = [
            (os.POSIX_SPAWN_DUP2, null, 0),
            (os.POSIX_SPAWN_DUP2, log, 1),
            (os.POSIX_SPAWN_DUP2, log, 2),
        ]
        self.pid = os.posix_spawn(self.argv[0], self.argv, os.environ, file_actions=actions, setsid=True)
        os.close(log)
        os.close(null)

    def kill(self) -> None:
        """SIGKILL to the daemon alone: containers and their shims go on."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):  # the reaper was faster
                os.waitpid(self.pid, 0)
            self.pid = 0
            # It would refuse to start beside its own pid file; what it names may be another process by then.
            pidfile = os.path.join(self.folder, "pid")
            if os.path.exists(pidfile):
                os.unlink(pidfile)

    def reap(self, *_: object) -> None:
        """Orphans of the namespace become children of this process."""
        while True:
            try:
                pid, _status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.pid = 0


def main() -> None:
    """Until stdin ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    loopback_up()
    keeper = Keeper(sys.argv[1], sys.argv[2:])
    signal.signal(signal.SIGCHLD, keeper.reap)
    orders: dict[bytes, tuple[Callable[[], None], str]] = {
        b"k": (keeper.kill, "killed"),
        b"s": (keeper.start, "started"),
    }
    while letter := os.read(0, 1):
        carry_out, word = orders[letter]
        carry_out()
        print(word, flush=True)


if __name__ == "__main__":
    main()
