"""Process 1 of a trial's own namespaces: starts launchers there when asked, and inherits orphans. Run by path.

    python -I -S -B FILE warden.py SOCKET LAUNCHER CODE [PORT@ADDRESS …]

SOCKET is an inherited descriptor of a socket that keeps messages apart, LAUNCHER one of the compiled launcher, CODE
one of this program, which is FILE; the name behind it is for who looks at processes. At first this process makes a
listening TCP socket for each address and says `ready`, with these sockets attached: whoever holds them can accept
what connects to them in here, from outside. Then it is told, one message each:

    run <id> <name>,<name>,…    attached: payload, stdin, stdout, stderr, and a descriptor for each name
    kill                        end every other process in here
    terminal <id>               make a terminal in here, so that it has a name in here

The payload is what NULs separate: working folder, number of arguments, settings for the launcher, the program's
arguments, its environment. The settings are completed by `<name>=<descriptor>`. It answers:

    started <id> <pid>          of the launcher, as it is numbered in here
    failed <id> <errno>@<folder> <text>
                                the launcher could not be started; the folder, in hex, if that was the cause
    ended <id> <status>         the launcher has ended
    killed <count>
    terminal <id>               attached: the controlling side, the programs' side; nothing where there is none

A launcher is this process's own fork: another start of Python would take it longer than most programs of a trial
run. When the socket is closed at the other end, this process ends, and with it the kernel ends everything in here.
It imports only what is built into Python: two trials a second are started for each core.
"""

import _signal as signal  # type: ignore[import-not-found] # `signal` is the same with enums, for 5 ms more
import _socket
import marshal
import os
import select
import sys

Socket = _socket.socket
#: (level, kind, data)
Ancillary = tuple[int, int, bytes]

MOST_FDS = 64
MESSAGE_BYTES = 65536
FD_BYTES = 4
HEAD_BYTES = 16  # of a compiled program, before its code
PR_SET_DUMPABLE = 4


def descriptors(ancillary: list[Ancillary]) -> list[int]:
    """The descriptors that came with a message."""
    found = []
    for level, kind, data in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            for at in range(0, len(data) - FD_BYTES + 1, FD_BYTES):
                found.append(int.from_bytes(data[at : at + FD_BYTES], sys.byteorder))
    return found


def listeners(places: list[str]) -> list[Socket]:
    """A listening socket for each `port@address`."""
    made = []
    for place in places:
        port, _, address = place.partition("@")
        family = _socket.AF_INET6 if ":" in address else _socket.AF_INET
        listener = _socket.socket(family, _socket.SOCK_STREAM, 0)
        listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        listener.bind((address, int(port)))
        listener.listen(128)
        made.append(listener)
    return made


def out_of_reach() -> None:
    """Keep programs of the trial, which are the same user, out of this process: without this they could stop it,
    take its socket and read its memory. `ctypes` would take longer to import than all the rest."""
    import _ctypes

    prctl = _ctypes.dlsym(_ctypes.dlopen(None, os.RTLD_NOW), "prctl")  # type: ignore[arg-type]
    if _ctypes.call_function(prctl, (PR_SET_DUMPABLE, 0, 0, 0, 0)) != 0:
        raise OSError("process 1 cannot be kept out of reach")


class Launching:
    """The program `launcher.py`, carried out in forks of this process."""

    def __init__(self, fd: int) -> None:
        compiled = os.pread(fd, os.fstat(fd).st_size, 0)
        os.close(fd)
        self.names: dict[str, object] = {"__name__": "launcher"}
        exec(marshal.loads(compiled[HEAD_BYTES:]), self.names)

    def fork(self, words: list[bytes], given: str, streams: list[int], closing: list[int]) -> int:
        """Start a launcher in this folder. `words` are what a payload holds after the folder; `given` completes the
        settings, and `closing` are descriptors that are none of its business. Returns its pid. OSError."""
        count, settings, *rest = words
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.setsid()
                for at, fd in enumerate(streams):
                    os.dup2(fd, at)
                for fd in closing:
                    os.close(fd)
                environment = dict(pair.split(b"=", 1) for pair in rest[int(count) :])
                text = f"{settings.decode('ascii')},{given}"
                self.names["carry_out"](text, rest[: int(count)], environment)  # type: ignore[operator]
                status = 0
            finally:
                os._exit(status)  # whatever happens, this is no second warden
        return pid


class Warden:
    """Carries out what comes through the socket."""

    def __init__(self, fd: int) -> None:
        self.socket = _socket.socket(fileno=fd)
        self.launching: Launching | None = None
        self.runs: dict[int, str] = {}
        self.wake_fd, self.waking_fd = os.pipe()
        for end in (self.wake_fd, self.waking_fd):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self.waking_fd, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def say(self, text: str, fds: tuple[int, ...] = ()) -> None:
        """Send one message."""
        packed = b"".join(fd.to_bytes(FD_BYTES, sys.byteorder) for fd in fds)
        ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)] if fds else []
        self.socket.sendmsg([text.encode("utf-8", "replace")], ancillary)

    def reap(self) -> int:
        """Collect every child that has ended; how many."""
        count = 0
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return count
            if pid == 0:
                return count
            count += 1
            if pid in self.runs:
                self.say(f"ended {self.runs.pop(pid)} {status}")

    def serve(self) -> None:
        """Until the other end is closed."""
        poll = select.poll()
        poll.register(self.wake_fd, select.POLLIN)
        poll.register(self.socket.fileno(), select.POLLIN | select.POLLHUP)
        while True:
            ready = [fd for fd, _ in poll.poll()]
            if self.wake_fd in ready:
                os.read(self.wake_fd, 4096)
                self.reap()
            if self.socket.fileno() in ready and not self.receive():
                return

    def receive(self) -> bool:
        """Take one message; False when there are no more."""
        space = _socket.CMSG_SPACE(MOST_FDS * FD_BYTES)
        data, ancillary, _, _ = self.socket.recvmsg(MESSAGE_BYTES, space, _socket.MSG_CMSG_CLOEXEC)
        fds = descriptors(ancillary)
        if not data:
            return False
        word, *rest = data.decode("ascii").split(" ")
        try:
            if word == "run":
                self.run(rest[0], rest[1].split(","), fds)
            elif word == "kill":
                self.kill()
            elif word == "terminal":
                self.terminal(rest[0])
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def run(self, number: str, names: list[str], fds: list[int]) -> None:
        """Start a launcher."""
        assert self.launching is not None
        payload, streams, kept = fds[0], fds[1:4], fds[4:]
        folder, *words = os.pread(payload, os.fstat(payload).st_size, 0).split(b"\0")
        try:
            os.chdir(folder)
        except OSError as error:
            self.say(f"failed {number} {error.errno}@{folder.hex()} {error.strerror}")
            return
        given = ",".join(f"{name}={fd}" for name, fd in zip(names, kept, strict=True))
        own = [self.socket.fileno(), self.wake_fd, self.waking_fd]
        try:
            pid = self.launching.fork(words, given, streams, [*own, payload, *streams])
        except OSError as error:
            self.say(f"failed {number} {error.errno}@ {error.strerror}")
            return
        self.runs[pid] = number
        self.say(f"started {number} {pid}")

    def terminal(self, number: str) -> None:
        """Make a terminal."""
        try:
            pair = os.openpty()
        except OSError:
            self.say(f"terminal {number}")
            return
        self.say(f"terminal {number}", pair)
        for fd in pair:
            os.close(fd)

    def kill(self) -> None:
        """End every other process in here, and what they start meanwhile."""
        self.reap()
        count = 0
        while True:
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                count += self.reap()
                break
            try:
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            except ChildProcessError:
                continue  # somebody is being started; the next round finds them
            count += self.reap()
        self.say(f"killed {count}")


def main() -> None:
    """Be process 1."""
    fd, launcher, own, *_ = map(int, sys.argv[2:5])
    os.close(own)
    for inherited in (fd, launcher):
        os.set_inheritable(inherited, False)
    out_of_reach()
    warden = Warden(fd)
    try:
        listening = listeners(sys.argv[5:])
    except OSError as error:
        warden.say(f"failed 0 {error.errno}@ {error.strerror}")
        return
    warden.say("ready", tuple(each.fileno() for each in listening))
    for each in listening:
        each.close()
    # Not before: whoever asked for this process is busy with its answer meanwhile.
    warden.launching = Launching(launcher)
    warden.serve()


def be_process_1() -> None:
    """The same, until whoever asked is gone: then so is everything in here."""
    try:
        main()
    except OSError:
        return


if __name__ == "__main__":
    be_process_1()
    os._exit(0)
