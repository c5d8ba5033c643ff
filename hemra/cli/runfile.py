"""A run file: YAML with the same keys as the flags of `hemra run`. A flag given beside it wins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hemra.cli.given import EMPTY
from hemra.cli.lazy import nearest
from hemra.errors import NotFound, UsageError

#: Keys whose values may be paths: they are meant from the run file's own folder.
_PATHS = ("dataset", "harness", "prices")


def read_run_file(path: Path, options: Mapping[str, click.Option]) -> dict[str, Any]:
    """The file's values by parameter name, converted as click converts the flags.

    `options` are the flags by key (the long name without dashes). Raises NotFound and UsageError.
    """
    content = _parsed(path)
    values: dict[str, Any] = {}
    for key, value in content.items():
        name = str(key).replace("_", "-")
        if name not in options:
            known = ", ".join(options)
            raise UsageError(f"{path}: unknown key {key!r}.{nearest(name, list(options))} Keys: {known}")
        option = options[name]
        assert option.name is not None
        if option.name in values:
            raise UsageError(f"{path}: the key {name!r} is given twice")
        values[option.name] = _converted(path, name, option, value)
    return values


def _parsed(path: Path) -> dict[Any, Any]:
    import yaml

    from hemra.datasets.yamlfile import StrictLoader

    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=StrictLoader)
    except FileNotFoundError:
        raise NotFound(f"no run file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise UsageError(f"{path}: a run file is a mapping of flags to values, such as `dataset: hermes`")
    return content


def _converted(path: Path, key: str, option: click.Option, value: Any) -> Any:
    """`value` through the flag's own type, so that file and flags accept the same."""
    several = value if isinstance(value, list) else [value]
    if not option.multiple and len(several) != 1:
        raise UsageError(f"{path}: {key} takes one value, not {len(several)}")
    if any(isinstance(item, dict | list) or item is None for item in several):
        raise UsageError(f"{path}: {key}: a text or a number is wanted")
    if any(item == "" for item in several):
        raise UsageError(f"{path}: {key}: {EMPTY}")
    try:
        converted = [option.type.convert(_plain(item), option, None) for item in several]
    except click.BadParameter as error:
        raise UsageError(f"{path}: {key}: {error.message}") from error
    if key in _PATHS:
        converted = [_from_folder(path.parent, str(item)) for item in converted]
    return tuple(converted) if option.multiple else converted[0]


def _plain(item: Any) -> str:
    return str(item).lower() if isinstance(item, bool) else str(item)


def _from_folder(folder: Path, ref: str) -> str:
    """A relative path as seen from the run file's folder; names stay names."""
    looks_like_path = os.sep in ref or ref.startswith(".") or ref.endswith((".yaml", ".yml"))
    expanded = Path(ref).expanduser()
    return str(folder.absolute() / expanded) if looks_like_path and not expanded.is_absolute() else ref
