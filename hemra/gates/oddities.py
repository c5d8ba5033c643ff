"""Workspaces that nobody expects: links out, pipes, devices' worth of zeros, folders for files, code that lies in wait.

Each is made from a copy of a workspace as the solution left it. A verifier must answer about it within its limit,
must not be talked into a PASS by what a link points to, and must not run what lies there as its own code.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

HUGE = 1 << 30
DEEP = 90
MANY = 2000
#: Says where it was run: its limit on memory is that of a limited process, or it is not.
CANARY = (
    "import resource as _r, os as _o; _f = _o.open({log!r}, _o.O_WRONLY | _o.O_CREAT | _o.O_APPEND, 0o600); "
    "_o.write(_f, str(_r.getrlimit(_r.RLIMIT_AS)[0]).encode() + b'\\n'); _o.close(_f)\n"
)
#: Modules that a verifier, or the interpreter by itself, would import if the workspace were on its path.
AMBUSHES = ("json.py", "re.py", "pathlib.py", "hashlib.py", "sitecustomize.py", "usercustomize.py",
            "hemra_verifier/__init__.py", "hemra_verifier.py")  # fmt: skip

#: A folder that is made unreadable. New names are such that no task has them: nothing made here may go through a
#: link that the solution left.
CLOSED = "hemra-odd-closed"

Maker = Callable[[Path, Path], None]


def files_in(workspace: Path) -> list[Path]:
    """Every plain file below, no link followed; those in folders that cannot be read are left out."""
    found = []
    for folder, _, names in os.walk(workspace):
        found += [path for name in names if stat.S_ISREG((path := Path(folder, name)).lstat().st_mode)]
    return sorted(found)


def copy_of(workspace: Path, target: Path) -> None:
    """A copy to be spoilt: links stay links, what is neither file nor folder nor link is left out."""
    target.mkdir(parents=True)
    for folder, folders, names in os.walk(workspace):
        here = target / Path(folder).relative_to(workspace)
        for name in [*folders, *names]:
            source, copy = Path(folder, name), here / name
            mode = source.lstat().st_mode
            if stat.S_ISLNK(mode):
                copy.symlink_to(os.readlink(source))
            elif stat.S_ISDIR(mode):
                copy.mkdir()
            elif stat.S_ISREG(mode) and os.access(source, os.R_OK):
                shutil.copyfile(source, copy)


def _each(change: Callable[[Path, Path], None]) -> Maker:
    def make(workspace: Path, outside: Path) -> None:
        outside.mkdir(exist_ok=True)
        for number, path in enumerate(files_in(workspace)):
            change(path, outside / f"{number}-{path.name}")

    return make


def _link(path: Path, outside: Path) -> None:
    path.rename(outside)
    path.symlink_to(outside)


def _fifo(path: Path, outside: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link_to_fifo(path: Path, outside: Path) -> None:
    path.unlink()
    os.mkfifo(outside)
    path.symlink_to(outside)


def _folder(path: Path, outside: Path) -> None:
    path.unlink()
    (path / "inside").mkdir(parents=True)


def _sparse(path: Path, outside: Path) -> None:
    os.truncate(path, HUGE)


def _binary(path: Path, outside: Path) -> None:
    path.write_bytes(bytes(range(256)) * 40)


def _unreadable(workspace: Path, outside: Path) -> None:
    for path in files_in(workspace):
        path.chmod(0)
    (workspace / CLOSED).mkdir()
    (workspace / CLOSED).chmod(0)


def _linked_folders(workspace: Path, outside: Path) -> None:
    """Every folder at the top, and the content of the workspace, is elsewhere."""
    outside.mkdir()
    for entry in list(workspace.iterdir()):
        entry.rename(outside / entry.name)
        entry.symlink_to(outside / entry.name)


def _crowded(workspace: Path, outside: Path) -> None:
    for number in range(MANY):
        (workspace / f"hemra-odd-{number}.txt").touch()
    deep = workspace
    for _ in range(DEEP):
        deep = deep / "hemra-odd-deep"
    deep.mkdir(parents=True)
    (workspace / "hemra-odd-loop").symlink_to(".")
    (workspace / "hemra-odd-up").symlink_to("../..")
    with open(os.fsencode(workspace) + b"/odd-\xff\n-name", "wb"):
        return


def _ambushed(workspace: Path, outside: Path) -> None:
    """Code that tells, when run, whether it was run in a limited process; see `escaped`."""
    canary = CANARY.format(log=str(canary_log(outside)))
    for path in files_in(workspace):
        if path.suffix == ".py":
            path.write_text(canary + path.read_text("utf-8", "replace"), "utf-8", "replace")
    for name in AMBUSHES:
        place = workspace / name
        fresh = place.parent == workspace or not os.path.lexists(place.parent)
        if fresh and not os.path.lexists(place):
            place.parent.mkdir(exist_ok=True)
            place.write_text(canary, "utf-8")


def canary_log(outside: Path) -> Path:
    """Where the code of an ambushed workspace writes."""
    return outside.with_name(f"{outside.name}-canary")


def escaped(outside: Path, limit: int) -> bool:
    """Whether code of an ambushed workspace was run with more memory than `limit` bytes."""
    log = canary_log(outside)
    told = log.read_text("ascii").split() if log.exists() else []
    return any(int(value) < 0 or int(value) > limit for value in told)


def _emptied(workspace: Path, outside: Path) -> None:
    for entry in list(workspace.iterdir()):
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


#: name -> makes the copied workspace odd, with a place outside that it may use.
ODD: dict[str, Maker] = {
    "emptied": _emptied,
    "links out": _each(_link),
    "folders are links out": _linked_folders,
    "fifos": _each(_fifo),
    "links to fifos": _each(_link_to_fifo),
    "folders for files": _each(_folder),
    "1 GB sparse files": _each(_sparse),
    "binary": _each(_binary),
    "unreadable": _unreadable,
    "crowded": _crowded,
    "ambushed": _ambushed,
}
#: Where what the solution made is not inside the workspace any more: no verifier may pass it for its files.
OUTSIDE = ("links out", "folders are links out")
