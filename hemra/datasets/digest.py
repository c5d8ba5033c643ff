"""Digests of tasks: which files count, and SHA-256 over their paths, modes and content.

    file      SHA-256 of the content, followed by "+x" where the owner may execute it
    task      SHA-256 over "hemra.task/1\\n" and a line "<file digest>  <path>\\n" for every file, by path
    scorer    SHA-256 over the contract's name, "\\n", and the bytes of verifier.py; then, where these name the
              package `hemra_verifier`, "\\n" and the digest of that package
    dataset   SHA-256 over "hemra.dataset/1\\n" and a line "<task digest>  <task id>\\n" for every task, by id

What does not count (and is therefore never copied into a workspace):

    anywhere             `__pycache__`, `*.pyc`, `.DS_Store`, editor backups (`*~`, `.*.swp`, `.#*`, `#*#`)
    outside `fixture/`   `README.md` and `checks/` at the task's root, and every name that begins with a dot

Inside `fixture/` names with a dot count: an agent can see them.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from hemra.datasets.beside import beside, kit_digest
from hemra.errors import UsageError

#: The name and version of what a verifier is given and must give back; part of every scorer digest.
CONTRACT = "hemra.verifier/1"

#: The folder whose content is copied into a workspace, where task.yaml names no other.
FIXTURE = "fixture"
#: Programs that try the verifier; they never reach a trial, and changing them changes no verdict.
CHECKS = "checks"
_NEVER = re.compile(r"__pycache__|.*\.pyc|\.DS_Store|.*~|\..*\.sw[a-p]|\.#.*|#.*#")


def counts(path: str, fixture: str = FIXTURE) -> bool:
    """Whether the file or folder at `path` (POSIX, below the task's folder) is part of the task, whose fixture is
    the folder `fixture`."""
    parts = path.split("/")
    if any(_NEVER.fullmatch(part) for part in parts):
        return False
    if path == fixture or path.startswith(f"{fixture}/"):
        return True
    return path != "README.md" and parts[0] != CHECKS and not any(part.startswith(".") for part in parts)


def file_digest(content: bytes, executable: bool) -> str:
    """The digest of one file of a task."""
    return hashlib.sha256(content).hexdigest() + ("+x" if executable else "")


def digest_of(path: Path) -> str:
    """`file_digest` of a file on disk, read in pieces."""
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
        executable = os.fstat(file.fileno()).st_mode & stat.S_IXUSR
    return content + ("+x" if executable else "")


def task_files(folder: Path, fixture: str = FIXTURE) -> dict[str, str]:
    """Digest by path of every file of the task in `folder` that counts, in the order of the paths.

    Raises UsageError for a link, a special file, a name that is not valid NFC Unicode, and for two
    names that a file system without case could not tell apart.
    """
    found: dict[str, str] = {}
    folded: dict[str, str] = {}
    for path in sorted(_walk(folder, "", fixture)):
        other = folded.setdefault(path.casefold(), path)
        if other != path:
            raise UsageError(f"{folder}: {other} and {path} differ in case only; rename one of them")
        try:
            found[path] = digest_of(folder / path)
        except OSError as error:
            raise UsageError(f"{folder / path}: cannot be read: {error.strerror}") from error
    return found


def _walk(folder: Path, prefix: str, fixture: str) -> Iterator[str]:
    for entry in entries_of(folder / prefix):
        path = f"{prefix}/{entry.name}" if prefix else entry.name
        if not counts(path, fixture):
            continue
        check_name(entry.name, folder / path)
        if entry.is_symlink():
            raise UsageError(f"{folder / path}: is a link; a task must hold the file itself")
        if entry.is_dir():
            yield from _walk(folder, path, fixture)
        elif entry.is_file():
            yield path
        else:
            raise UsageError(f"{folder / path}: is neither a file nor a folder")


def entries_of(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, by name. Raises UsageError where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read: {error.strerror}") from error


def check_name(name: str, where: Path) -> None:
    """Refuse (UsageError) a file name that another machine would not store as it is."""
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in name) or "\\" in name:
        raise UsageError(f"{str(where)!r}: the name holds a control character, a backslash or invalid UTF-8")
    if unicodedata.normalize("NFC", name) != name:
        raise UsageError(f"{str(where)!r}: the name is not in Unicode form NFC; rename it")


def task_digest(files: dict[str, str]) -> str:
    """The digest of a task from the digests of its files."""
    return _over("hemra.task/1", files.items())


def dataset_digest(tasks: Iterable[tuple[str, str]]) -> str:
    """The digest of a dataset from (task id, task digest) pairs."""
    return _over("hemra.dataset/1", tasks)


def scorer_digest(verifier: bytes) -> str:
    """The digest of a scorer: the contract that it follows, its own bytes and those that it is given beside it."""
    total = hashlib.sha256(f"{CONTRACT}\n".encode() + verifier)
    if beside(verifier):
        total.update(f"\n{kit_digest()}".encode())
    return total.hexdigest()


def _over(name: str, pairs: Iterable[tuple[str, str]]) -> str:
    total = hashlib.sha256(f"{name}\n".encode())
    for key, digest in sorted(pairs):
        total.update(f"{digest}  {key}\n".encode())
    return total.hexdigest()
