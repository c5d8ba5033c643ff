"""A run that goes on without its terminal.

The run is planned and written down in the foreground, so that errors are told at once. Then an engine
process of its own, in a session of its own, carries it out; it says through a pipe that it has begun.

    python -m hemra.engine.detach STORE RUN JOBS READY_FD
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hemra
from hemra.engine.progress import Quiet
from hemra.errors import HemraError

if TYPE_CHECKING:
    from eventlog.store import Store
    from hemra.engine.plan import Plan

_READY = b"ok\n"


def create_detached(store: Store, plan: Plan) -> str:
    """Begin a run and leave it to an engine of its own; returns the run's id.

    On return the plan is on disk and the engine has taken the run over. HemraError when it did not; what
    it said is in its log file (see `engine_log`).
    """
    from hemra.engine.begin import begin

    run = begin(store, plan)
    resume_detached(store, run, plan.request.jobs)
    return run


def resume_detached(store: Store, run: str, jobs: int) -> None:
    """Leave an existing run to an engine of its own. HemraError when that does not begin."""
    log = engine_log(store, run)
    log.parent.mkdir(parents=True, exist_ok=True)
    reader, writer = os.pipe()
    try:
        with log.open("ab") as output:
            engine = subprocess.Popen(
                [sys.executable, "-P", "-m", "hemra.engine.detach", str(store.path), run, str(jobs),
                 str(writer)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                pass_fds=(writer,), cwd="/", env=_environment(),
            )  # fmt: skip
        # Whoever outlives it here has to take its exit status; nobody waits for it.
        threading.Thread(target=engine.wait, name="engine-reaper", daemon=True).start()
    finally:
        os.close(writer)
    with os.fdopen(reader, "rb") as ready:
        answer = ready.read()  # until the engine has begun, or has ended without
    if answer != _READY:
        why = answer.decode("utf-8", "replace").strip() or f"see {log}"
        raise HemraError(
            f"run {run} is planned, but its engine did not begin: {why}; try `hemra resume {run}`"
        )


def _environment() -> dict[str, str]:
    """The caller's environment, in which the engine finds the same `hemra`."""
    home = str(Path(hemra.__file__).parent.parent)
    paths = [home, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def engine_log(store: Store, run: str) -> Path:
    """Where a detached engine's own output goes."""
    return store.cache / "engines" / f"{run}.log"


class _Ready(Quiet):
    """Tells the foreground that the engine has begun; leaves one line a trial in the log file."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    def tell(self, answer: bytes) -> None:
        """Give the foreground its answer; only the first one counts."""
        if self._fd is not None:
            fd, self._fd = self._fd, None
            with contextlib.suppress(OSError):  # the foreground may be gone; the run goes on
                os.write(fd, answer)
            os.close(fd)

    def run_planned(self, run: str, trials: int) -> None:
        """The engine holds the run from here on."""
        self.tell(_READY)

    def trial_finished(self, info: dict[str, Any]) -> None:
        """One line for whoever looks into the file."""
        print(f"{info['trial']} {info['task']} {info['harness']}: {info['outcome']}", flush=True)

    def note(self, text: str) -> None:
        """As it is."""
        print(text, flush=True)


def main(arguments: list[str]) -> int:
    """The engine process. Returns its exit code."""
    from eventlog.errors import LogError
    from eventlog.store import Store
    from hemra.engine.run import resume

    path, run, jobs, fd = arguments
    # Harnesses and recorders must not hold the pipe open.
    os.set_inheritable(int(fd), False)
    ready = _Ready(int(fd))
    try:
        return resume(Store.open(path), run, ready, int(jobs)).exit_code
    except (HemraError, LogError) as error:
        ready.tell(str(error).encode())
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, HemraError) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
