"""What of this machine a program needs to see: its file, its interpreter, the folder that it was installed in.

Programs of the system are seen anyway. For any other the rule is to show as little as it can run with, and never
a folder that holds more than the program: nobody's home, no `~/.local`, nothing that something hidden is in.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

#: Folders of the system; what is in them is the same for every program.
SYSTEM = tuple(
    Path(name) for name in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix")
)
_MOST_LINKS = 16
_SHEBANG_BYTES = 512


def in_system(path: Path) -> bool:
    """Whether a path is seen by every program of a trial anyway."""
    return any(path.is_relative_to(folder) for folder in SYSTEM)


def of_interpreter() -> tuple[Path, ...]:
    """What this very Python needs, as far as it is not the system's: its environment and its installation."""
    search_path = os.environ.get("PATH", "")
    both = (of_program(program, search_path) for program in (sys.executable, interpreter()))
    return tuple(dict.fromkeys(path for paths in both for path in paths))


def interpreter() -> str:
    """The program that this process is, links resolved; its libraries are found from there."""
    try:
        return os.readlink("/proc/self/exe")
    except OSError:
        return os.path.realpath(sys.executable)


@cache
def of_program(program: str, search_path: str) -> tuple[Path, ...]:
    """Files and folders that a program needs, outside the system's. Empty for one that is not found. Looked for
    once a process."""
    found: dict[Path, None] = {}
    waiting, seen = [program], {program}
    while waiting:
        where = shutil.which(waiting.pop(), path=search_path)
        if where is None:
            continue
        path = Path(os.path.abspath(where))
        more = _shebang(path)
        for step in _links(path):
            if in_system(step):
                continue
            found.setdefault(step)
            for folder in _installation(step):
                for each in _links(folder):
                    found.setdefault(each)
                more += _made_of(folder)
        waiting += [word for word in more if word not in seen]
        seen.update(more)
    return tuple(path for path in found if not in_system(path))


def _links(path: Path) -> list[Path]:
    """A path and what it links to, link by link, folders on the way resolved."""
    steps = [path]
    for _ in range(_MOST_LINKS):
        here = steps[-1]
        try:
            target = os.readlink(here)
        except OSError:
            break
        steps.append(Path(os.path.abspath(here.parent / target)))
    real = Path(os.path.realpath(path))
    return steps if real in steps else [*steps, real]


def _installation(path: Path) -> list[Path]:
    """The folder that a program was installed in, where it is known to hold nothing else."""
    parts = path.parts
    if "node_modules" in parts:
        return [Path(*parts[: parts.index("node_modules") + 1])]
    prefix = path.parent.parent
    # In `shims` stands what starts a program of one of the versions beside it (pyenv, rbenv, asdf).
    if path.parent.name not in ("bin", "Scripts", "shims"):
        return []
    home = Path.home()
    if home.is_relative_to(prefix) or prefix == home / ".local":
        # Much else may be there; of a Python, its library is enough.
        return [] if prefix == Path("/") else sorted(prefix.glob("lib/python3*"))
    if (prefix / "pyvenv.cfg").is_file() or path.parent.name == "shims":
        return [prefix]
    if any(prefix.glob("lib/python3*/os.py")) or (prefix / "include" / "node").is_dir():
        return [prefix]
    return []


def _made_of(folder: Path) -> list[str]:
    """The Python that a virtual environment was made of."""
    return [str(folder / "bin" / "python")] if (folder / "pyvenv.cfg").is_file() else []


def _shebang(path: Path) -> list[str]:
    """The interpreter that a script names, and the one that `env` is to find."""
    try:
        with path.open("rb") as file:
            line = file.read(_SHEBANG_BYTES).partition(b"\n")[0]
    except OSError:
        return []
    if not line.startswith(b"#!"):
        return []
    words = line[2:].decode("utf-8", "replace").split()
    if words and os.path.basename(words[0]) == "env":
        return [word for word in words[1:] if not word.startswith("-") and "=" not in word][:1]
    return words[:1]


def own_folder(script: Path, closed: Iterable[Path]) -> Path:
    """What to show for a harness's own file: its folder, so that what lies beside it can be used, unless something
    of `closed` is in that folder (the user's home, a store, …): then the file alone."""
    folder = script.parent
    if folder == Path("/") or any(place.is_relative_to(folder) for place in closed):
        return script
    return folder


def unseen(wanted: Sequence[Path], hidden: Sequence[Path]) -> list[Path]:
    """Those of `wanted` that lie in something hidden, or are it."""
    return [path for path in wanted if any(path.is_relative_to(place) for place in hidden)]
