"""What of this machine a container sees, and where: the trial's folders, what its harness needs, nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hemra.sandboxes.base import SandboxError, SandboxSpec
from hemra.sandboxes.docker_container import Mount
from hemra.sandboxes.docker_owner import copy_visible, hand_over, is_open, own_alone
from hemra.sandboxes.needs import in_system, unseen
from hemra.sandboxes.scratch import Scratch

WORKSPACE = "/workspace"
HOME = "/home/trial"
HARNESS = "/harness"
TMP = "/tmp"
SOLUTION = "/solution"
#: What this process and the container have to say to each other; nothing of the trial's is in it.
CONTROL = "/.hemra"


class Folders:
    """The folders of one try, outside and inside."""

    def __init__(self, scratch: Scratch, spec: SandboxSpec) -> None:
        self._scratch = scratch
        self._spec = spec
        self.control = scratch.path / "control"
        self._inside = [
            (scratch.workspace, WORKSPACE), (scratch.home, HOME), (scratch.harness, HARNESS), (scratch.tmp, TMP),
        ]  # fmt: skip
        self._copies: dict[Path, Path] = {}
        if spec.solution is not None:
            self._inside.append((spec.solution, SOLUTION))

    @property
    def writable(self) -> tuple[Path, ...]:
        """Folders that programs of the trial may write in."""
        return (self._scratch.workspace, self._scratch.home, self._scratch.tmp)

    @property
    def all(self) -> tuple[Path, ...]:
        """Folders whose files are the trial's user's."""
        return (*self.writable, self._scratch.harness)

    def inside(self, path: Path) -> str:
        """Where the container has it; what is in no folder of the trial is where it is here."""
        for folder, place in self._inside:
            if path.is_relative_to(folder):
                rest = path.relative_to(folder)
                return place if rest == Path() else f"{place}/{rest}"
        return str(path)

    def make(self, user: tuple[int, int]) -> int:
        """Make what is in the control folder and what is mounted over (blocking). Gives the lifeline: while it is
        open the trial may live. Raises SandboxError."""
        try:
            self.control.mkdir(mode=0o755)
            (self.control / "empty").mkdir(mode=0o755)
            (self.control / "nothing").touch(mode=0o644)
            os.mkfifo(self.control / "lifeline")
            (self.control / "lifeline").chmod(0o644)
            own_alone(self.control / "lifeline", user)
            for login in self._spec.login_files:
                content = login.source.read_bytes()
                self.put_control(self._login_name(login.target), content, user)
            self._copy_closed(user)
            for mount in self.mounts():
                self._make_point(mount)
            return os.open(self.control / "lifeline", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise SandboxError(f"{error.filename} cannot be read or made: {error.strerror}") from error

    def put_control(self, name: str, content: bytes, user: tuple[int, int]) -> None:
        """A file of the control folder that only the trial's user reads (blocking)."""
        path = self.control / name
        path.touch(mode=0o600)
        path.write_bytes(content)
        path.chmod(0o400)
        own_alone(path, user)

    def _login_name(self, target: str) -> str:
        return f"login-{target.replace('/', '-')}"

    def mounts(self) -> list[Mount]:
        """Everything that is mounted. SandboxError when a harness needs what no trial may see."""
        spec = self._spec
        refused = unseen(self._of_harness(), spec.hidden)
        if refused:
            raise SandboxError(
                f"{refused[0]} is asked to be visible to the harness, and lies in a folder that no trial may see"
            )
        found = [
            Mount(folder, place, read_only=place in (HARNESS, SOLUTION)) for folder, place in self._inside
        ]
        found.append(Mount(self.control, CONTROL))
        found += [
            Mount(self.control / self._login_name(login.target), f"{HOME}/{login.target}")
            for login in spec.login_files
        ]
        shown = self._of_harness()
        found += [Mount(self._copies.get(path, path), str(path)) for path in shown]
        for path in self._masked():
            if path.exists() and any(path.is_relative_to(each) for each in shown if each not in self._copies):
                found.append(Mount(self.control / ("empty" if path.is_dir() else "nothing"), str(path)))
        return found

    def _masked(self) -> tuple[Path, ...]:
        """What must not be seen even where a harness needs the folder around it."""
        return (*self._spec.hidden, self._scratch.root, Path.home())

    def _copy_closed(self, user: tuple[int, int]) -> None:
        """Root's files may be closed to the trial's user: then it gets a copy of them. SandboxError when that is
        too much."""
        if user[0] == os.getuid() or os.getuid() != 0 or user[0] == 0:
            return
        for number, path in enumerate(self._of_harness()):
            if not is_open(path, self._masked()):
                copy = self.control / f"shown-{number}"
                copy_visible(path, copy, self._masked())
                if copy.is_dir():
                    hand_over([copy], user)
                else:
                    own_alone(copy, user)
                self._copies[path] = copy

    def _of_harness(self) -> list[Path]:
        """What the harness needs and an image cannot have: not the system's, nor this Python's."""
        pythons = (Path(sys.prefix), Path(sys.base_prefix))
        found = dict.fromkeys(Path(os.path.abspath(path)) for path in self._spec.read_only)
        return [
            path
            for path in found
            if not in_system(path)
            and path != Path("/")
            and not any(path.is_relative_to(prefix) or prefix.is_relative_to(path) for prefix in pythons)
        ]

    def _make_point(self, mount: Mount) -> None:
        """What is mounted below a folder of the trial needs a place there, made by this user and not the engine."""
        for folder, place in self._inside:
            if mount.target.startswith(f"{place}/"):
                point = folder / mount.target.removeprefix(f"{place}/")
                point.parent.mkdir(parents=True, exist_ok=True)
                if mount.source.is_dir():
                    point.mkdir(exist_ok=True)
                else:
                    point.touch()
                return
