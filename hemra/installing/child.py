"""Runs an installer: its output goes into a file, it reads nothing, and it is ended with all that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from hemra.installing.errors import InstallError

_GRACE_SECONDS = 3.0
#: So much of the end of a log is looked at for the cause of a failure. Bytes.
_TAIL_BYTES = 256 * 1024
#: Settings of the user's that would install into another place, or change what Python does.
_UNWANTED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON",
             "VIRTUAL_ENV", "NODE_OPTIONS", "npm_config_prefix", "NPM_CONFIG_PREFIX")  # fmt: skip


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The user's environment, which knows the way to the user's index, without what would mislead an installer."""
    kept = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
    return kept | {"PIP_USER": "0", "PYTHONNOUSERSITE": "1", "NO_COLOR": "1"} | dict(more or {})


class Child:
    """Programs of one installation. `log` takes what they print; `lock` is held by them too, so that nobody removes
    what they write to, even when this process is killed."""

    def __init__(self, log: Path, lock: int) -> None:
        self.log = log
        self._lock = lock

    def run(self, argv: Sequence[str], *, cwd: Path, more: Mapping[str, str] | None = None) -> int:
        """Run a program to its end; its exit code. Raises InstallError when it cannot be started."""
        with self.log.open("ab") as log:
            log.write(f"\n$ {' '.join(argv)}\n".encode())
            log.flush()
            try:
                child = subprocess.Popen(
                    list(argv), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=cwd,
                    env=environment(more), start_new_session=True, pass_fds=(self._lock,),
                )  # fmt: skip
            except OSError as error:
                raise InstallError(f"`{argv[0]}` cannot be started: {error.strerror}") from error
            try:
                return child.wait()
            finally:
                _end(child)

    def output(self, argv: Sequence[str], *, cwd: Path) -> str:
        """What a short program prints on stdout; empty when it fails."""
        done = subprocess.run(
            list(argv), stdin=subprocess.DEVNULL, capture_output=True, cwd=cwd, env=environment(), check=False
        )
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""

    def position(self) -> int:
        """Where the log ends now."""
        return self.log.stat().st_size if self.log.exists() else 0

    def said(self, since: int = 0) -> str:
        """The end of what was printed, from `since` on."""
        with self.log.open("rb") as file:
            file.seek(max(since, self.position() - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace")


def _end(child: subprocess.Popen[bytes]) -> None:
    """End whatever is left of a program's session: in order while it runs, at once what it left behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_GRACE_SECONDS)
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
