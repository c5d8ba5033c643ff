"""Finds the key of a model's endpoint. It is read when a run begins, and is in no file, event or process of a trial."""

from __future__ import annotations

import importlib
import os
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from harnesses.base import KeySource, Upstream
from hemra.errors import HemraError, UsageError, combined
from hemra.gateway.channel import ResolvedUpstream

#: No key of any provider is as long; whatever is longer is another file.
_LONGEST = 16 << 10


class KeyUnusable(UsageError):
    """The key of an endpoint cannot be had; the message names its source and the remedy."""


def resolved(upstream: Upstream, environment: Mapping[str, str] | None = None) -> ResolvedUpstream:
    """The endpoint with its key. `environment`: the user's (null: of this process). Raises HemraError."""
    wrong = _address_problems(upstream)
    if wrong:
        raise combined([UsageError(line) for line in wrong])
    key = None if upstream.key is None else key_of(upstream.key, environment)
    return ResolvedUpstream(
        base_url=upstream.base_url, dialect=upstream.dialect, key=key, headers=dict(upstream.headers)
    )


def problems(upstream: Upstream, environment: Mapping[str, str] | None = None) -> list[str]:
    """What keeps the endpoint from being used, one line each; for checks before a run."""
    found = _address_problems(upstream)
    if upstream.key is not None:
        try:
            key_of(upstream.key, environment)
        except HemraError as error:
            found.append(str(error))
    return found


def _address_problems(upstream: Upstream) -> list[str]:
    try:
        parts = urlsplit(upstream.base_url)
        bad = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        return [f"upstream: base_url {upstream.base_url!r} is no URL"]
    if bad:
        return [f"upstream: base_url {upstream.base_url!r} must begin with http:// or https:// and a host"]
    if parts.username is not None or parts.password is not None:
        return ["upstream: base_url holds a user or password; name its source under `key` instead"]
    if parts.fragment:
        return [f"upstream: base_url {upstream.base_url!r} has a fragment (#…), which no server sees"]
    named = [name for name in upstream.headers if name.lower() in ("authorization", "x-api-key", "api-key")]
    return [f"upstream: header {name} holds a key; name its source under `key` instead" for name in named]


def key_of(source: KeySource, environment: Mapping[str, str] | None = None) -> str:
    """The key itself. Raises KeyUnusable, whose message never holds it."""
    given = {
        name: value
        for name, value in (("env", source.env), ("file", source.file), ("keyring", source.keyring))
        if value is not None
    }
    if len(given) != 1:
        raise KeyUnusable(
            f"upstream: key has {len(given)} sources; name exactly one of env, file and keyring"
        )
    if source.env is not None:
        return _of_environment(source.env, os.environ if environment is None else environment)
    if source.file is not None:
        return _of_file(source.file)
    assert source.keyring is not None
    return _of_keyring(source.keyring)


def _of_environment(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name)
    if value is None:
        raise KeyUnusable(f"upstream: key: the variable {name} is not set; export it before `hemra run`")
    return _checked(value, f"the variable {name}")


def _of_file(name: str) -> str:
    path = Path(name).expanduser()
    where = f"the file {path}"
    try:
        # Opened first and looked at through the descriptor, so that what is checked is what is read.
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            _check_file(os.fstat(file.fileno()), where, path)
            content = file.read(_LONGEST + 1)
    except OSError as error:
        raise KeyUnusable(f"upstream: key: {where} cannot be read: {error.strerror or error}") from error
    try:
        return _checked(content.decode(), where)
    except UnicodeDecodeError as error:
        raise KeyUnusable(f"upstream: key: {where} is not text") from error


def _check_file(found: os.stat_result, where: str, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise KeyUnusable(f"upstream: key: {where} is no regular file")
    if found.st_uid != os.geteuid():
        raise KeyUnusable(f"upstream: key: {where} belongs to another user; make it your own")
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise KeyUnusable(
            f"upstream: key: {where} has mode {mode:04o}, so that others may read it; "
            f"chmod 600 {shlex.quote(str(path))}"
        )


def _of_keyring(name: str) -> str:
    service, slash, user = name.rpartition("/")
    if not slash or not service or not user:
        raise KeyUnusable(f"upstream: key: keyring {name!r} is not SERVICE/USER")
    try:
        keyring = importlib.import_module("keyring")
        errors = importlib.import_module("keyring.errors")
    except ImportError as error:
        raise KeyUnusable(
            "upstream: key: the package `keyring` is not installed; install it beside hemra, or use env or file"
        ) from error
    try:
        value = keyring.get_password(service, user)
    except errors.KeyringError as error:
        raise KeyUnusable(
            f"upstream: key: the keyring cannot be read ({error}); unlock it, or use env or file"
        ) from error
    if value is None:
        raise KeyUnusable(
            f"upstream: key: the keyring has nothing for {name}; "
            f"`keyring set {shlex.quote(service)} {shlex.quote(user)}`"
        )
    return _checked(value, f"the keyring's {name}")


def _checked(value: str, where: str) -> str:
    """The key without the line's end. Raises KeyUnusable for what no header can hold."""
    key = value.strip()
    if not key:
        raise KeyUnusable(f"upstream: key: {where} is empty")
    if len(key) > _LONGEST:
        raise KeyUnusable(f"upstream: key: {where} is too long to be a key")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise KeyUnusable(f"upstream: key: {where} must hold a key and nothing else")
    return key
