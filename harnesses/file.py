"""Reads a harness file: YAML, checked field by field, with errors that say what to write instead."""

from __future__ import annotations

import difflib
import math
import re
import shlex
from pathlib import Path, PurePosixPath
from typing import Any, get_args

import msgspec

from harnesses.base import Dialect, HarnessFile, KeySource, Upstream
from harnesses.definition import passes_through
from harnesses.enums import with_choices
from harnesses.errors import HarnessFileError

FIELDS = HarnessFile.__struct_fields__
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_harness_file(path: Path) -> HarnessFile:
    """The checked content of a harness file. Raises HarnessFileError: file, field, remedy."""
    try:
        return check(_content(path))
    except HarnessFileError as error:
        raise HarnessFileError(f"{path}: {error}") from error


def _content(path: Path) -> Any:
    import yaml

    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_loader())
    except UnicodeDecodeError as error:
        raise HarnessFileError(f"not UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise HarnessFileError(f"cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise HarnessFileError(f"not valid YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise HarnessFileError("not valid YAML: nested too deeply") from error


def _loader() -> Any:
    """A safe YAML loader that refuses a key given twice instead of forgetting the first."""
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                name = key.value if isinstance(key, yaml.ScalarNode) else None
                if name in seen:
                    mark = key.start_mark
                    raise HarnessFileError(f"line {mark.line + 1}: {name!r} is given twice")
                seen.add(name)
            return super().construct_mapping(node, deep)

    # 2025-11-25 is a model's name or a text far more often than it is meant as a date.
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def check(content: Any) -> HarnessFile:
    """A HarnessFile from what a file holds. Raises HarnessFileError."""
    if not isinstance(content, dict):
        raise HarnessFileError("a harness file is a mapping with at least 'name' and 'kind'")
    _known(content, FIELDS, "")
    for key in ("name", "kind"):
        if key not in content:
            raise HarnessFileError(f"field {key!r} is missing")
    for key in ("env", "settings"):
        _check_json(content.get(key), key)
    if content.get("upstream") is not None:
        _check_upstream(content["upstream"])
    try:
        file = msgspec.convert(content, HarnessFile)
    except msgspec.ValidationError as error:
        raise HarnessFileError(_said_plainly(str(error))) from error
    if not NAME.fullmatch(file.name):
        raise HarnessFileError(
            f"name {file.name!r}: use at most 64 letters, digits, '.', '_', '-', the first a letter or digit"
        )
    _check_places(file)
    _check_env(file)
    return file


def _check_upstream(value: Any) -> None:
    """The mistakes that are made there most."""
    if not isinstance(value, dict):
        raise HarnessFileError(
            "upstream: write a mapping with at least base_url, as in {base_url: https://…/v1}"
        )
    _known(value, Upstream.__struct_fields__, "upstream")
    dialects = get_args(Dialect)
    if value.get("dialect") not in (None, *dialects):
        raise HarnessFileError(
            f"upstream.dialect: {value['dialect']!r} is none; there are: {', '.join(dialects)}"
        )
    path = re.fullmatch(
        r"(.*)/(?:chat/completions|completions|responses|messages)/?", str(value.get("base_url"))
    )
    if path is not None:
        raise HarnessFileError(f"upstream.base_url: leave the endpoint's path off, as in {path[1]}")
    key = value.get("key")
    if key is None:
        return
    if not isinstance(key, dict):
        raise HarnessFileError(
            "upstream.key: say where the key is, as {env: NAME}; the key itself never stands here"
        )
    _known(key, KeySource.__struct_fields__, "upstream.key")
    if str(key.get("env", "")).startswith("$"):
        raise HarnessFileError(f"upstream.key.env: the name alone, without $: {str(key['env']).strip('${}')}")


def _known(content: dict[Any, Any], fields: tuple[str, ...], where: str) -> None:
    for key in content:
        if key not in fields:
            near = difflib.get_close_matches(str(key), fields, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(fields)}"
            raise HarnessFileError(f"{f'{where}: ' if where else ''}unknown field {key!r}: {hint}")


def _check_places(file: HarnessFile) -> None:
    """What is asked of the user's files."""
    for name in file.login_files:
        below_home(name)
    for name in file.read_only:
        if not name or "\0" in name:
            raise HarnessFileError(f"read_only: {name!r} cannot be a path")


def _check_env(file: HarnessFile) -> None:
    """Names and values of variables."""
    for name, value in file.env.items():
        if not _VARIABLE.fullmatch(name):
            raise HarnessFileError(f"env: {name!r} cannot be the name of a variable")
        if "\0" in value:
            raise HarnessFileError(f"env.{name}: a value cannot hold a NUL character")
        if value.startswith("$") and not value.startswith("$$") and passes_through(value) is None:
            raise HarnessFileError(
                f"env.{name}: only a whole value is passed through, as $NAME; write $$ for a dollar sign"
            )


def below_home(name: str) -> str:
    """Where a login file, given as `~/…`, lies below HOME. Raises HarnessFileError for any other."""
    path = PurePosixPath(name)
    if path.parts[:1] != ("~",) or len(path.parts) < 2 or ".." in path.parts:
        raise HarnessFileError(f"login_files: {name!r}: name a file of your home, as ~/.tool/auth.json")
    return str(path.relative_to("~"))


def _check_json(value: Any, where: str) -> None:
    """Only what JSON can say: it is recorded and digested."""
    if isinstance(value, dict):
        for key, below in value.items():
            if not isinstance(key, str):
                raise HarnessFileError(f"{where}: key {key!r} is no text; put it in quotes")
            _check_json(below, f"{where}.{key}")
    elif isinstance(value, list):
        for index, below in enumerate(value):
            _check_json(below, f"{where}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise HarnessFileError(f"{where}: {value} is no number that can be recorded")
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise HarnessFileError(f"{where}: a number is from -2^63 to 2^64 - 1; put a longer one in quotes")
    elif not isinstance(value, str | int | float | None):
        raise HarnessFileError(f"{where}: {type(value).__name__} cannot be recorded; use text")


def _said_plainly(text: str) -> str:
    """msgspec's message with the field first: "env.PORT: expected text, found a number; put it in quotes"."""
    complaint, _, place = text.partition(" - at `")
    complaint = with_choices(complaint, HarnessFile, place.rstrip("`"))
    where = place.rstrip("`").removeprefix("$").replace("[...]", "").lstrip(".") or "the file"
    complaint = complaint[:1].lower() + complaint[1:]
    complaint = complaint.replace("`", "").replace("str | null", "text").replace("str", "text")
    quotes = "; put it in quotes" if re.search(r"expected .*text.*, got (int|float|bool)", complaint) else ""
    return f"{where}: {complaint}{quotes}"


def command_words(command: list[str] | str | None, field: str) -> list[str] | None:
    """A command as its words: text is split as a shell would. Raises HarnessFileError."""
    if command is None:
        return None
    if isinstance(command, str):
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise HarnessFileError(f"{field}: {command!r}: {str(error).lower()}") from error
    else:
        words = command
    if not words or not words[0]:
        raise HarnessFileError(f"{field} is empty: name a program")
    return words
