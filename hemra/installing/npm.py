"""Installs npm recipes: a private prefix, with a Node of its own where this machine's does not fit."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from harnesses.recipe import InstallRecipe
from hemra.errors import UsageError
from hemra.installing.causes import cause
from hemra.installing.child import Child, environment
from hemra.installing.errors import InstallError
from hemra.installing.options import Contents, Options
from hemra.installing.versions import fits, version_of

#: The line of Node that is taken where any of several would do.
_NODE = 22
_FLAGS = (
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--omit=dev",
    "--install-links",
    "--loglevel=warn",
    # Without these, npm waits for more than a minute where there is no network.
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=2000",
)


def node_version(program: str = "node") -> str | None:
    """The version of a Node, `20.20.2`; None where there is none."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = version_of(done.stdout) if done.returncode == 0 else None
    return ".".join(map(str, found)) if found else None


def own_node(recipe: InstallRecipe, here: str | None) -> str | None:
    """The npm package of a Node that fits, `node@22`; None where the one on this machine does, or none is needed."""
    if recipe.node is None or any(package.startswith("node@") for package in recipe.packages):
        return None
    if here is not None and fits(here, recipe.node):
        return None
    named = [int(number) for number in re.findall(r"(\d+)(?:\.\d+)*", recipe.node)]
    return f"node@{_NODE if fits(f'{_NODE}.99.99', recipe.node) else max(named)}"


def install(recipe: InstallRecipe, build: Path, options: Options, child: Child) -> Contents:
    """Fill `build`. Raises InstallError."""
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(f"{recipe.name} is installed by npm, which is not on PATH: install Node with npm")
    if options.requirements is not None:
        raise UsageError(f"--requirements is for agents of pip; {recipe.name} is installed by npm")
    node = own_node(recipe, node_version())
    wanted = [*recipe.packages, *([node] if node else [])]
    if options.folder is not None:
        wanted = _in_folder(wanted, options.folder)
    (build / "package.json").write_text('{"private": true}\n', "utf-8")
    options.tell(f"installing {', '.join([*recipe.packages, *([node] if node else [])])} with npm")
    since = child.position()
    ways = ["--offline"] if options.offline else ["--prefer-offline"]
    if child.run([npm, "install", *_FLAGS, *ways, "--prefix", str(build), *wanted], cwd=build) != 0:
        raise InstallError(cause(child.said(since), offline=options.offline))
    return Contents(packages=_packages(build), versions=_versions(build, npm))


def _in_folder(wanted: list[str], folder: Path) -> list[str]:
    """The packages as they lie in a folder: archives as `npm pack` names them, or folders with a package.json. What
    else lies there may be needed by them, so all of it is named. Raises InstallError when one of `wanted` is not."""
    found: dict[str, Path] = {}
    for path in sorted(folder.absolute().iterdir()):
        if path.suffix == ".tgz":
            found[path.name.removesuffix(".tgz")] = path
        elif (path / "package.json").is_file():
            about = _json(path / "package.json")
            found[_packed(f"{about.get('name')}@{about.get('version')}")] = path
    missing = [package for package in wanted if not _lies_in(_packed(package), found)]
    if missing:
        raise InstallError(f"{folder} has no {_packed(missing[0])}.tgz, which is {missing[0]}")
    return [str(path) for path in found.values()]


def _lies_in(packed: str, found: dict[str, Path]) -> bool:
    return packed in found or any(name.startswith(f"{packed}.") for name in found)


def _packed(package: str) -> str:
    """`@scope/name@1.2.3` -> `scope-name-1.2.3`."""
    return package.removeprefix("@").replace("/", "-").replace("@", "-")


def _json(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _packages(build: Path) -> list[str]:
    """`name@version` of what is installed, sorted."""
    lock = _json(build / "node_modules" / ".package-lock.json").get("packages", {})
    found = {
        f"{path.rpartition('node_modules/')[2]}@{about.get('version')}"
        for path, about in lock.items()
        if "node_modules/" in path and (build / path).exists()
    }
    return sorted(found)


def _versions(build: Path, npm: str) -> dict[str, str]:
    own = build / "node_modules" / ".bin" / "node"
    done = subprocess.run(
        [npm, "--version"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env=environment(), cwd=build,
    )  # fmt: skip
    node = node_version(str(own)) if os.access(own, os.X_OK) else node_version()
    return {"node": node or "unknown", "npm": done.stdout.strip() or "unknown"}
