"""Starts one program, waits for it, and ends everything that it started. Never imported: it is run by path, or
carried out in a process that the warden of a trial's namespaces has forked.

    python -I -S -B launcher.py key=value,… PROGRAM [ARGUMENT …]

Working folder, environment, stdin, stdout and stderr are those of the program. Settings (all numbers):
`report` and `control` are inherited pipe ends, `grace` the milliseconds between SIGTERM and SIGKILL, `code` a
descriptor that is not needed any more; `tty=1` makes stdout the program's controlling terminal. Limits (0 = none):
`file_bytes`, `processes`, `cpu_seconds` of one process, `data_bytes` of one process, `tasks` of the whole user.
`enter…` and `leave…` are open files of control groups: the program is started in the former, and this process goes
to the latter then.

On `report` it writes one line a fact:

    started <pid> <monotonic ns>
    failed <errno> <text>                       the program could not be started; nothing else follows
    exited <wait status> <monotonic ns>         of the program itself
    done <leftover> <killed> <alive> <oversized> <peak bytes> <own peak bytes> <cpu ns>

`leftover` counts processes still alive a moment after the program had ended, `killed` those that needed
SIGKILL, `alive` those that even that did not end; `oversized` those of its children that the kernel ended
for writing a file past the limit, the program not counted. On `control` it reads `T` (end all, with grace) and `K`
(end all at once); the end of `control` means that the engine is gone and counts as `K`.

On Linux it is a child subreaper: whatever the program starts, by whatever double fork or new session, ends
up as a descendant of this process and cannot outlive it. Elsewhere only the process group is ended.
It starts 200 trials a minute, so it imports nothing that it does not need: `_ctypes` without `ctypes`, `_signal`
without the enums of `signal`.
"""

import _signal as signal  # type: ignore[import-not-found]
import os
import resource
import select
import sys
import time

SETTLE_SECONDS = 0.1  # how long processes may take to end by themselves after the program
LEFTOVER_GRACE_SECONDS = 0.5
KILL_PAUSE_SECONDS = 0.05
GIVE_UP_SECONDS = 10.0
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
KEYCTL = {"x86_64": 250, "aarch64": 219}  # the number of this system call, which no C library names
KEYCTL_JOIN_SESSION_KEYRING = 1
LINUX = sys.platform == "linux"


def become_reaper() -> None:
    """Adopt orphans of the tree, and keep the program out of this process's descriptors and memory."""
    if not LINUX:
        return
    import _ctypes

    libc = _ctypes.dlopen(None, os.RTLD_NOW)  # type: ignore[arg-type] # None: what this process is linked with
    prctl, syscall = _ctypes.dlsym(libc, "prctl"), _ctypes.dlsym(libc, "syscall")
    _ctypes.call_function(prctl, (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    _ctypes.call_function(prctl, (PR_SET_DUMPABLE, 0, 0, 0, 0))
    if os.uname().machine in KEYCTL:
        # A keyring of its own: the one of the user's session is handed down from process to process.
        _ctypes.call_function(syscall, (KEYCTL[os.uname().machine], KEYCTL_JOIN_SESSION_KEYRING, None))


def tasks_of_user() -> int:
    """How many threads this user has now: RLIMIT_NPROC counts those, not the processes of a trial."""
    count = 0
    for name in os.listdir("/proc") if LINUX else ():
        if name.isdigit():
            try:
                if os.stat("/proc/" + name).st_uid == os.getuid():
                    count += len(os.listdir("/proc/" + name + "/task"))
            except OSError:
                continue  # it ended meanwhile
    return count


def lower(what: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, never above what this process may have."""
    ceiling = resource.getrlimit(what)[1]
    hard = soft if hard is None else hard
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(what, (soft, hard))


def set_limits(settings: dict[str, int]) -> None:
    """Limits that the kernel holds; the program inherits them."""
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_NOFILE, 4096, 65536)
    if settings["file_bytes"]:
        lower(resource.RLIMIT_FSIZE, settings["file_bytes"])
    if settings["cpu_seconds"]:
        lower(resource.RLIMIT_CPU, settings["cpu_seconds"], settings["cpu_seconds"] + 5)
    if settings["data_bytes"]:
        lower(resource.RLIMIT_DATA, settings["data_bytes"])
    if settings["processes"] and LINUX and os.getuid() != 0:
        # A backstop against a fork bomb; the exact count is watched from outside.
        tasks = settings["tasks"] or tasks_of_user()
        lower(resource.RLIMIT_NPROC, tasks + 16 * settings["processes"] + 256)


def go_to(groups: list[int]) -> None:
    """Let this process, and what it starts from now on, belong to these control groups."""
    for fd in groups:
        os.write(fd, b"0")


def terminal_name() -> str:
    """What to open for the terminal that is stdout; it may have been made where its name means another one."""
    try:
        return os.ttyname(1)
    except OSError:
        return "/proc/self/fd/2"  # stdout is closed before it is opened anew


def start(argv: list[str] | list[bytes], terminal: str | None) -> int:
    """Start the program in a session of its own with default signal handling. Returns its pid."""
    actions: list[tuple[int, int] | tuple[int, int, int] | tuple[int, int, str, int, int]] = []
    if terminal:
        # The first terminal that a session leader opens becomes its controlling terminal.
        actions = [(os.POSIX_SPAWN_OPEN, 1, terminal, os.O_RDWR, 0), (os.POSIX_SPAWN_DUP2, 1, 2)]
    program, environment = argv[0], os.environ
    usual = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    try:
        return os.posix_spawnp(
            program, argv, environment, file_actions=actions, setsid=True, setsigmask=(), setsigdef=usual
        )
    except NotImplementedError:  # a libc without it: a group of its own is what there is
        return os.posix_spawnp(
            program, argv, environment, file_actions=actions, setpgroup=0, setsigmask=(), setsigdef=usual
        )


def stat_of(pid: int) -> tuple[bool, int, int] | None:
    """(whether it lives, parent, process group) of a process, or None when it is gone.

    One whose first thread has ended has the state of a dead one, and lives as long as another of its threads.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return fields[0] not in (b"Z", b"X") or int(fields[17]) > 1, int(fields[1]), int(fields[2])


def children_of(pid: int) -> list[int]:
    """Pids of the direct children, from the kernel's own lists."""
    found: list[int] = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
            found += [int(word) for word in file.read().split()]
    return found


def descendants() -> list[int]:
    """Every pid below this process, zombies included."""
    try:
        children_of(os.getpid())
    except OSError:
        return descendants_by_parent()
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        try:
            below = children_of(queue.pop())
        except OSError:
            continue  # it ended meanwhile; its children are this process's now
        found += below
        queue += below
    return found


def descendants_by_parent() -> list[int]:
    """The same from every process's parent, for a kernel without lists of children."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        stat = stat_of(int(name)) if name.isdigit() else None
        if stat:
            parents[int(name)] = stat[1]
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        parent = queue.pop()
        below = [pid for pid, above in parents.items() if above == parent]
        found += below
        queue += below
    return found


class Launcher:
    """One program and what it leaves behind."""

    def __init__(self, settings: dict[str, int]) -> None:
        self.report_fd = settings["report"]
        self.control_fd = settings["control"]
        self.grace = settings["grace"] / 1000
        self.pid = 0
        self.status: int | None = None
        self.control_open = True
        self.order = ""  # "", "T" or "K"
        self.wake_fd = -1
        self.oversized = 0

    def report(self, *words: object) -> None:
        """Write one line to the engine."""
        line = " ".join(str(word) for word in words) + "\n"
        try:
            os.write(self.report_fd, line.encode("utf-8", "replace"))
        except OSError:
            self.order = "K"  # nobody is there to read it

    def listen(self) -> None:
        """Wake from waiting when a child ends; survive a polite signal from the program."""
        self.wake_fd, writing = os.pipe()
        os.set_blocking(self.wake_fd, False)
        os.set_blocking(writing, False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def wait(self, seconds: float | None) -> None:
        """Until a child ended, an order came, or the time is over (None = no end)."""
        poll = select.poll()
        poll.register(self.wake_fd, select.POLLIN)
        if self.control_open:
            poll.register(self.control_fd, select.POLLIN | select.POLLHUP)
        ready = poll.poll(None if seconds is None else max(0, int(seconds * 1000)))
        for fd, _ in ready:
            data = os.read(fd, 4096)
            if fd == self.control_fd:
                if b"K" in data or not data:
                    self.order = "K"
                elif not self.order:
                    self.order = "T"
                self.control_open = bool(data)
        self.reap()

    def reap(self) -> None:
        """Collect every child that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid and self.status is None:
                self.status = status
                self.report("exited", status, time.monotonic_ns())
            elif os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXFSZ:
                self.oversized += 1

    def living(self) -> list[tuple[int, int]]:
        """Descendants that have not ended, as (pid, process group)."""
        if not LINUX:
            try:
                os.killpg(self.pid, 0)
            except OSError:
                return []
            return [(self.pid, self.pid)]
        found = ((pid, stat_of(pid)) for pid in descendants())
        return [(pid, stat[2]) for pid, stat in found if stat and stat[0]]

    def send(self, number: int, living: list[tuple[int, int]]) -> None:
        """Signal by process group: the kernel does that in one step, so forking does not outrun it."""
        own = os.getpgrp()
        for group in {group for _, group in living} - {0, 1, own}:
            for each in (number, signal.SIGCONT) if number == signal.SIGTERM else (number,):
                try:
                    os.killpg(group, each)
                except OSError:
                    continue  # it ended meanwhile
        for pid, group in living:
            if group == own:
                os.kill(pid, number)

    def until_none(self, seconds: float) -> list[tuple[int, int]]:
        """Wait until nothing lives, all is to end at once, or the time is over. Returns who lives."""
        deadline = time.monotonic() + seconds
        while True:
            self.reap()
            living = self.living()
            left = deadline - time.monotonic()
            if not living or left <= 0 or (self.order == "K" and seconds > KILL_PAUSE_SECONDS):
                return living
            self.wait(min(left, 0.02))

    def watch(self) -> None:
        """Wait for the program; carry out an order to end it."""
        while self.status is None and not self.order:
            self.wait(None)
        if self.status is None and self.order == "T":
            self.send(signal.SIGTERM, self.living())
            deadline = time.monotonic() + self.grace
            while self.status is None and self.order != "K" and time.monotonic() < deadline:
                self.wait(deadline - time.monotonic())

    def clean(self) -> tuple[int, int, int]:
        """End what is left. Returns (leftover, killed, alive)."""
        stopped = self.order != ""
        leftover: list[tuple[int, int]] = []
        if self.status is not None:
            leftover = self.until_none(SETTLE_SECONDS)
        if leftover and self.order != "K":
            if not stopped:
                self.send(signal.SIGTERM, leftover)
            self.until_none(min(self.grace, LEFTOVER_GRACE_SECONDS))
        killed: set[int] = set()
        deadline = time.monotonic() + GIVE_UP_SECONDS
        living = self.living()
        while living and time.monotonic() < deadline:
            killed |= {pid for pid, _ in living}
            self.send(signal.SIGKILL, living)
            living = self.until_none(KILL_PAUSE_SECONDS)
        self.reap()
        return len(leftover), len(killed), len(living)


def usage(own_peak: int) -> tuple[int, int, int]:
    """(peak bytes of the largest process, own peak bytes, cpu ns) of all that was waited for."""
    unit = 1024 if LINUX else 1
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    return below.ru_maxrss * unit, own_peak * unit, int((below.ru_utime + below.ru_stime) * 1e9)


def carry_out(
    words: str, argv: list[str] | list[bytes], environment: dict[bytes, bytes] | None = None
) -> None:
    """One program, with settings `key=value,…`; its environment, where it is not the one of this process."""
    settings = {key: int(value) for key, _, value in (word.partition("=") for word in words.split(","))}
    launcher = Launcher(settings)
    enter, leave = (
        [fd for key, fd in settings.items() if key.startswith(word)] for word in ("enter", "leave")
    )
    for fd in (launcher.report_fd, launcher.control_fd, *enter, *leave):
        os.set_inheritable(fd, False)
    if "code" in settings:
        os.close(settings["code"])
    try:
        if environment is not None:  # the program is looked for in this process's PATH
            os.environ.clear()
            os.environb.update(environment)
        terminal = terminal_name() if settings["tty"] else None
        become_reaper()
        own_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        set_limits(settings)
        launcher.listen()
        go_to(enter)
        began = time.monotonic_ns()  # what follows may wait for the kernel, and the program runs by then
        launcher.pid = start(argv, terminal)
        go_to(leave)
    except (OSError, ValueError) as error:
        launcher.report("failed", getattr(error, "errno", 0) or 0, getattr(error, "strerror", None) or error)
        return
    launcher.report("started", launcher.pid, began)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)  # only the program and what it starts hold its output open
    launcher.watch()
    counts = launcher.clean()
    launcher.report("done", *counts, launcher.oversized, *usage(own_peak))


if __name__ == "__main__":
    carry_out(sys.argv[1], sys.argv[2:])
    os._exit(0)
