"""Looks into the terminals of a trial that is under way: finds its tmux session, and shows it to a person.

The session's server runs in the trial, so nothing that comes from it is trusted. A tmux of our own stands between it
and the person's terminal: that draws what it is sent, and passes no sequence on that does more than draw.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from harnesses.base import TERMINALS
from hemra.errors import HemraError, NotFound, UsageError
from hemra.recording.tmux import SOCKET
from hemra.sandboxes.scratch import PARTS, private_folder

if TYPE_CHECKING:
    from eventlog.store import Store

PROGRAM = "tmux"
#: Keys of the person: Ctrl-b and d leaves; the panes' own keys are passed on.
_SETTINGS = """
set -g status off
set -g destroy-unattached on
set -g set-clipboard off
set -g escape-time 10
set -g assume-paste-time 0
set -g default-terminal screen-256color
set -g prefix C-b
unbind-key -a
unbind-key -a -T root
bind-key d detach-client
bind-key n { send-prefix; send-keys n }
bind-key p { send-prefix; send-keys p }
bind-key [ { send-prefix; send-keys [ }
"""
_HARNESS = PARTS[3]


def open_trials(store: Store, run: str) -> dict[str, str]:
    """Trials of a run whose sandbox is there now, with the workspace that their programs see."""
    from eventlog.reader import read

    found: dict[str, str] = {}
    types = ("sandbox.created", "sandbox.destroyed")
    for event in read(store, run, types=types, on_damage=lambda _: None):
        if event.trial is None:
            continue
        if event.type == "sandbox.created":
            found[event.trial] = str(event.data["workspace"])
        else:
            found.pop(event.trial, None)
    return found


def terminals_of(workspace: str) -> Path | None:
    """The folder of a trial's terminals by its workspace; None where this machine has no such session.

    The name comes from the log, which may have been carried here: only a folder of this user's own counts.
    """
    place = Path(workspace).parent / _HARNESS / TERMINALS
    try:
        folder, socket = place.parent.parent.lstat(), (place / SOCKET).lstat()
    except (OSError, ValueError):
        return None
    own = folder.st_uid == os.getuid() and stat.S_ISDIR(folder.st_mode) and not folder.st_mode & 0o077
    return place if own and stat.S_ISSOCK(socket.st_mode) and socket.st_uid == os.getuid() else None


def choose(store: Store, run: str, trial: str | None) -> tuple[str, Path]:
    """The trial to be looked into, and the folder of its terminals. Raises NotFound, UsageError."""
    running = open_trials(store, run)
    sessions = {
        name: place for name, inside in running.items() if (place := terminals_of(inside)) is not None
    }
    if trial is not None:
        if trial in sessions:
            return trial, sessions[trial]
        why = "has no tmux session on this machine" if trial in running else "is not under way"
        raise NotFound(
            f"trial {trial} of {run} {why}; a harness of kind hermes has one with `terminal: tmux`"
        )
    if not sessions:
        raise NotFound(f"no trial of {run} that is under way has a tmux session on this machine")
    if len(sessions) > 1:
        raise UsageError(
            f"several trials of {run} can be looked into: name one of {', '.join(sorted(sessions))}"
        )
    return next(iter(sessions.items()))


def show(place: Path, *, keyboard: bool) -> None:
    """Show the session to the person at this process's terminal until it ends or they leave. With `keyboard` their
    keys reach it. Raises HemraError."""
    if shutil.which(PROGRAM) is None:
        raise HemraError("tmux is not installed: install it (Debian: tmux) to look into a trial")
    inner = [PROGRAM, "-u", "-S", f"./{SOCKET}", "attach-session", *([] if keyboard else ["-r"])]
    environment = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
    with private_folder("attach") as own:
        (own / "settings").write_text(_SETTINGS, "utf-8")
        errors = shlex.quote(str(own / "errors"))
        command = f"unset TMUX TMUX_PANE; cd {shlex.quote(str(place))} && exec {shlex.join(inner)} 2>{errors}"
        ran = subprocess.run(
            [PROGRAM, "-u", "-S", "./view.sock", "-f", "settings", "new-session", command],
            cwd=own, env=environment, check=False,
        )  # fmt: skip
        told = (own / "errors").read_text("utf-8", "replace").strip() if (own / "errors").exists() else ""
    if ran.returncode:
        raise HemraError(f"tmux could not show it: exit code {ran.returncode}")
    if told:
        raise HemraError(f"the trial's tmux session cannot be joined: {told.splitlines()[-1]}")
