"""What is recorded of a harness, its digest, and what of its command is a file of its own.

The digest covers everything that makes a harness another harness: its file (environment by name only) and
the content of the local files that its command names, so that an edited script is another harness.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harnesses.base import HarnessFile

#: Programs of the system are told apart by version, not by content.
SYSTEM_FOLDERS = ("/bin", "/lib", "/nix", "/opt", "/sbin", "/usr", "/System", "/Library")
#: Often passed through, and no secret: removing their values would only spoil the record.
PLAIN_NAMES = frozenset(
    ("PATH", "HOME", "LANG", "LANGUAGE", "TERM", "COLORTERM", "SHELL", "USER", "LOGNAME", "PWD", "TMPDIR",
     "TZ", "DISPLAY", "HOSTNAME")
)  # fmt: skip
_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
_SECRET = re.compile(
    r"sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|AKIA[0-9A-Z]{16}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{30,}|hf_[A-Za-z0-9]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----|[Bb]earer +[A-Za-z0-9._~+/-]{16,}"
)


def local_files(words: list[str], folder: Path) -> dict[str, Path]:
    """Words of a command that name files of the harness's own, with their absolute paths.

    A relative name counts when it is there beside the harness file. The first word counts only with a
    slash in it: without, it is looked up on PATH, as a shell does.
    """
    found = {}
    for position, word in enumerate(words):
        if not word or "{" in word or "\0" in word or (position == 0 and "/" not in word):
            continue
        path = Path(os.path.normpath(folder / word))
        if str(path).startswith(tuple(f"{system}/" for system in SYSTEM_FOLDERS)) and os.path.isabs(word):
            continue
        try:
            if path.is_file():
                found[word] = path
        except OSError:
            continue  # a word too long to be a name
    return found


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe(
    file: HarnessFile, words: list[str] | None, version: list[str] | None, folder: Path
) -> dict[str, Any]:
    """The definition of a harness as it is recorded: no value of its environment is in it."""
    files = {**local_files(words or [], folder), **local_files(version or [], folder)}
    return {
        "name": file.name,
        "kind": file.kind,
        "command": words,
        "version_command": version,
        "model": file.model,
        "env": {name: _source(value) for name, value in sorted(file.env.items())},
        "settings": file.settings,
        "prompt": file.prompt,
        "terminal": file.terminal,
        "files": {word: file_digest(path) for word, path in sorted(files.items())},
    }


def definition_digest(definition: dict[str, Any]) -> str:
    """`sha256:<hex>` over the canonical JSON of a definition: sorted keys, no blanks, ASCII."""
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def passes_through(value: str) -> str | None:
    """The name of the user's variable that an `env` value passes through, or None for a value of its own."""
    named = re.fullmatch(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", value, re.ASCII)
    return None if named is None else named[1] or named[2]


def _source(value: str) -> str:
    name = passes_through(value)
    return "set" if name is None else f"${name}"


def own_value(value: str) -> str:
    """A value of its own: `$$` at its start stands for one dollar sign."""
    return value[1:] if value.startswith("$$") else value


def secret_values(env: Mapping[str, str], user: Mapping[str, str]) -> dict[str, str]:
    """Values of a harness file's `env` that must not be recorded, by variable.

    What is passed through counts unless its name is one of those that hold no secret; a value that stands
    in the file counts when its name says that it is one.
    """
    found = {}
    for name, value in env.items():
        source = passes_through(value)
        if source is None and _SECRET_NAME.search(name):
            found[name] = own_value(value)
        elif source is not None and source not in PLAIN_NAMES and not source.startswith("LC_"):
            found[source] = user.get(source, "")
    return {name: value for name, value in found.items() if value}


def secrets_in(value: Any, where: str) -> list[str]:
    """Where in a definition something stands that looks like a credential. It would be recorded."""
    if isinstance(value, str):
        return [where] if _SECRET.search(value) else []
    if isinstance(value, dict):
        return [found for key, below in value.items() for found in secrets_in(below, f"{where}.{key}")]
    if isinstance(value, list):
        return [
            found for index, below in enumerate(value) for found in secrets_in(below, f"{where}[{index}]")
        ]
    return []
