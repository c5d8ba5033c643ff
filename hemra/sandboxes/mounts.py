"""bubblewrap's arguments for what the programs of a trial see of this machine.

Everything is hidden but what is named here: the system read-only, the trial's own folders, and what the spec asks
for. Later arguments win over earlier ones, so folders stand before what is in them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hemra.sandboxes.needs import SYSTEM

#: Memory that a trial may fill by /dev/shm. Bytes.
SHARED_MEMORY = 64 << 20
#: Besides the system: what libraries look at to count processors.
_MORE = ("/sys/devices/system/cpu", "/sys/devices/system/node")
_KERNEL_SETTINGS = tuple(f"/proc/{name}" for name in ("bus", "fs", "irq", "sys", "sysrq-trigger"))
_KERNEL_SECRETS = tuple(
    f"/proc/{name}"
    for name in ("acpi", "kcore", "keys", "key-users", "kmsg", "sched_debug", "scsi", "timer_list")
)
#: Numbers that a trial's programs see for the user root, who would be refused much that root expects.
PLAIN_USER = 1000


@dataclass
class View:
    """What is seen, put together step by step; `arguments` are bubblewrap's."""

    arguments: list[str] = field(default_factory=list)
    _empty: list[str] = field(default_factory=list)

    def _add(self, *words: str | Path) -> None:
        self.arguments += map(str, words)

    def system(self) -> None:
        """The system read-only; /etc without what not everybody may read; fresh /proc, /dev, /run and /var."""
        for folder in SYSTEM:
            if folder.is_symlink():
                self._add("--symlink", os.readlink(folder), folder)
            elif folder.is_dir():
                self._add("--ro-bind", folder, folder)
        self._add("--ro-bind-try", "/etc", "/etc")
        for path, is_folder in _closed_of_etc():
            self.mask(path, is_folder=is_folder)
        for name in _MORE:
            self._add("--ro-bind-try", name, name)
        self._add("--proc", "/proc", "--dev", "/dev")
        # The kernel's settings ask for root's number, not for a privilege.
        for name in _KERNEL_SETTINGS:
            self._add("--ro-bind-try", name, name)
        for name in _KERNEL_SECRETS:
            if os.path.exists(name):
                self.mask(Path(name), is_folder=os.path.isdir(name))
        self.temporary("/dev/shm", SHARED_MEMORY)
        self._add("--dir", "/run", "--dir", "/var", "--symlink", "/tmp", "/var/tmp")
        self._resolver()

    def _resolver(self) -> None:
        """The file behind /etc/resolv.conf, where that is a link to one outside /etc."""
        real = os.path.realpath("/etc/resolv.conf")
        if os.path.isfile(real) and not real.startswith("/etc/"):
            self._add("--ro-bind-try", real, real)

    def temporary(self, place: str, size: int) -> None:
        """An empty folder for everybody, in memory, of `size` bytes."""
        self._add("--perms", "1777", "--size", str(size), "--tmpfs", place)

    def mask(self, path: Path, *, is_folder: bool) -> None:
        """An empty thing in place of what is there; nothing can be written to it when all is done."""
        if is_folder:
            self._add("--perms", "0555", "--tmpfs", path)
            self._empty.append(str(path))
        else:
            self._add("--ro-bind", "/dev/null", path)

    def show(self, read_only: Iterable[Path], hidden: Iterable[Path], opened: Sequence[Path] = ()) -> None:
        """`read_only` at their own places, without what of `hidden` lies in them or in the system; `opened` are
        shown although they lie in something hidden."""
        chosen = {path: "show" for path in read_only if os.path.lexists(path)}
        for path in hidden:
            for form in {path, Path(os.path.realpath(path))}:
                if any(form.is_relative_to(folder) for folder in (*SYSTEM, *chosen)) and form.exists():
                    chosen[form] = "mask"
        chosen |= dict.fromkeys(opened, "show")
        for path, what in sorted(chosen.items(), key=lambda item: (len(item[0].parts), item[0])):
            around = next((chosen[above] for above in path.parents if above in chosen), None)
            if around == what:
                continue  # it is there, or not there, as a part of what is around it
            if what == "mask":
                self.mask(path, is_folder=path.is_dir())
            elif path.is_symlink():
                # Binding it would show what it leads to under its name, which a Python that looks for its
                # environment beside its own name does not survive.
                self._add("--symlink", os.readlink(path), path)
            else:
                self._add("--ro-bind", path, path)

    def open(self, folder: Path, place: str) -> None:
        """A folder that can be written to, seen at `place`."""
        self._add("--bind", folder, place)

    def file(self, source: Path, place: Path | str) -> None:
        """A file, read-only, seen at `place`."""
        self._add("--ro-bind", source, place)

    def plain_user(self, folder: Path) -> None:
        """For root: the trial's programs are nobody special. `folder` takes the two files that name them."""
        if os.getuid() != 0:
            return
        self._add("--uid", str(PLAIN_USER), "--gid", str(PLAIN_USER))
        lines = {
            "passwd": f"trial:x:{PLAIN_USER}:{PLAIN_USER}:trial:/tmp:/bin/sh\n",
            "group": f"trial:x:{PLAIN_USER}:\n",
        }
        for name, line in lines.items():
            known = Path("/etc", name)
            text = known.read_text("utf-8", "replace") if known.is_file() else ""
            if any(entry.split(":")[2:3] == [str(PLAIN_USER)] for entry in text.splitlines()):
                continue
            (folder / name).write_text(text + line, "utf-8")
            self.file(folder / name, known)

    def close(self) -> None:
        """Nothing can be written any more to what only holds the mounts."""
        for place in (*self._empty, "/dev", "/"):
            self._add("--remount-ro", place)


@cache
def _closed_of_etc() -> tuple[tuple[Path, bool], ...]:
    """What of /etc not everybody may read, as (path, is a folder): for root it would be there to be read."""
    found = []
    waiting = ["/etc"]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue  # closed to this user, so to the trial
        for entry in entries:
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
            except OSError:
                continue
            if stat.S_ISDIR(mode):
                if mode & 0o005 == 0o005:
                    waiting.append(entry.path)
                else:
                    found.append((Path(entry.path), True))
            elif stat.S_ISREG(mode) and not mode & 0o004:
                found.append((Path(entry.path), False))
    return tuple(sorted(found))
