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

import msgspec

from harnesses.base import HarnessFile
from harnesses.credentials import looks_like_credential

#: Programs of the system are told apart by version, not by content.
SYSTEM_FOLDERS = ("/bin", "/lib", "/nix", "/opt", "/sbin", "/usr", "/System", "/Library")
#: Often passed through, and no secret: removing their values would only spoil the record.
PLAIN_NAMES = frozenset(
    ("PATH", "HOME", "LANG", "LANGUAGE", "TERM", "COLORTERM", "SHELL", "USER", "LOGNAME", "PWD", "TMPDIR",
     "TZ", "DISPLAY", "HOSTNAME")
)  # fmt: skip
_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
#: Names of settings and flags whose value is a credential: "max_tokens" and "token_file" are none.
_NAMED = (
    r"(?<!eos.)(?<!bos.)(?<!pad.)(?<!unk.)(?<!sep.)(?<!cls.)(?<!mask.)(?<!stop.)(?<!start.)(?<!end.)"
    r"(?:pass(?:word|wd|phrase)|secret|(?:auth_?|access_?)?token|(?:api|access|private|secret)[_-]?key)"
)
_KEY = re.compile(
    rf"(?i:(?:.*[_.-])?{_NAMED})|.*[a-z0-9](?:Password|Passphrase|Secret|AuthToken|AccessToken|(?:Api|Access|Private)Key)"
)
_FLAG = re.compile(rf"--?(?:[\w.-]*[_.-])?{_NAMED}", re.IGNORECASE)
_GIVEN = re.compile(rf"(?<![\w$-])(?:--?)?(?:[\w.-]*[_.-])?{_NAMED}=(\S+)", re.IGNORECASE)
_GIVEN_APART = re.compile(rf"(?<!\S){_FLAG.pattern}[ \t]+(\S+)", re.IGNORECASE)
#: A value that only says where the credential comes from: a variable, a placeholder, the name of a variable.
_ELSEWHERE = re.compile(r"""["']?[${<-].*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|["']*|true|false|yes|no|none|null""")


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
    # Named only where they are given: a harness file that needs none of them keeps its digest.
    shown = {
        name: value
        for name in ("read_only", "login_files", "network", "upstream", "strip_tools")
        if (value := msgspec.to_builtins(getattr(file, name))) not in (None, [], False)
    }
    return shown | {
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
    """Where in a definition a credential stands, as it seems: by its looks, or by the name that it is given.

    It would be recorded. `where` names the value; the places are `settings.a.b[0]` and the like.
    """
    if isinstance(value, str):
        return [where] if looks_like_credential(value) else _by_name(_given(value), where)
    if isinstance(value, dict):
        return [found for key, below in value.items() for found in _in_entry(key, below, f"{where}.{key}")]
    if isinstance(value, list):
        found = []
        for index, below in enumerate(value):
            place = f"{where}[{index}]"
            before = value[index - 1] if index else None
            flagged = isinstance(before, str) and _FLAG.fullmatch(before) is not None
            found += secrets_in(below, place) or _by_name([below] if flagged else [], place)
        return found
    return []


def _in_entry(key: str, below: Any, where: str) -> list[str]:
    if looks_like_credential(key):
        return [where.removesuffix(key) + "(a key)"]
    if isinstance(below, str) and looks_like_credential(f"{key}: {below}"):
        return [where]
    return secrets_in(below, where) or _by_name([below] if _KEY.fullmatch(key) else [], where)


def _given(text: str) -> list[str]:
    """The values that a word or a shell script gives under a credential's name."""
    return [*_GIVEN.findall(text), *_GIVEN_APART.findall(text)]


def _by_name(values: list[Any], where: str) -> list[str]:
    """`where`, if one of the values stands there in clear."""
    for value in values:
        number = isinstance(value, int) and not isinstance(value, bool)
        if number or (isinstance(value, str) and not _ELSEWHERE.fullmatch(value)):
            return [f"{where} (by its name)"]
    return []
