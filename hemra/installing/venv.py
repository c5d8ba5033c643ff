"""Installs pip recipes: a virtual environment, and wheels from the user's cache of wheels.

What is not in the cache is brought there first, by whatever way pip reaches its packages on this machine; the
environment is then made from the cache alone. So a second installation needs no network.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import platformdirs

from eventlog.disk import make_dir, replacing
from harnesses.recipe import InstallRecipe
from hemra.installing.causes import cause
from hemra.installing.child import Child
from hemra.installing.errors import InstallError
from hemra.installing.options import Contents, Options
from hemra.installing.versions import fits, version_of

_QUIET = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off")
#: An index that does not answer is asked so often, and so long. Seconds.
_PATIENCE = ("--retries", "1", "--timeout", "20")
#: The first pip that can install into another environment.
_FIRST_PIP = ">=22.3"


def wheel_cache() -> Path:
    """The folder of wheels that all of a user's installations and checkouts share."""
    return Path(platformdirs.user_cache_path("hemra", appauthor=False)) / "wheels"


def find_python(wanted: str | None) -> str:
    """A Python that fits and can make virtual environments, the one that runs this first. Raises InstallError."""
    own = _own_python()
    if fits(_numbers(sys.version_info[:3]), wanted):
        if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
            raise InstallError(f"{own} cannot make virtual environments: install python3-venv (Debian)")
        return own
    for minor in range(20, 8, -1):
        found = shutil.which(f"python3.{minor}")
        if found is not None and fits(f"3.{minor}", wanted) and _makes_environments(found):
            return found
    raise InstallError(
        f"it needs Python {wanted}, and this is {_numbers(sys.version_info[:3])}: put one that fits on PATH"
    )


def _own_python() -> str:
    """The installation that this process's environment, if it is in one, was made of."""
    return getattr(sys, "_base_executable", None) or sys.executable


def _makes_environments(python: str) -> bool:
    """Whether it starts at all (one of pyenv's names may not) and has what it takes."""
    done = subprocess.run(
        [python, "-c", "import ensurepip, venv"], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    return done.returncode == 0


def _numbers(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


def install(recipe: InstallRecipe, build: Path, options: Options, child: Child) -> Contents:
    """Fill `build`. Raises InstallError."""
    python = find_python(recipe.python)
    options.tell(f"making a virtual environment with {python}")
    since = child.position()
    if child.run([python, "-m", "venv", "--without-pip", str(build)], cwd=build) != 0:
        raise InstallError(f"no virtual environment could be made: {cause(child.said(since), offline=True)}")
    with _pip(python, build, child) as pip:
        _install(recipe, build, options, child, pip)
        installed = _distributions(build)
        conflicts = _conflicts(child, pip, build) if options.requirements is not None else []
        told = child.output([*pip, "--version"], cwd=build)
    if options.folder is not None:
        _keep(_used(options.folder, installed), wheel_cache())
    runs_on = child.output([str(build / "bin" / "python"), "-V"], cwd=build)
    versions = {"python": _version(runs_on), "pip": _version(told)}
    return Contents(packages=installed, conflicts=conflicts, versions=versions)


def _version(text: str) -> str:
    return _numbers(version_of(text) or ()) or "unknown"


@contextlib.contextmanager
def _pip(python: str, build: Path, child: Child) -> Iterator[list[str]]:
    """The words that run a pip for the environment in `build`: the agent's own environment has none, so that it
    cannot change itself. Raises InstallError."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        # Ours, where it surely knows that Python.
        known = python == _own_python() and importlib.util.find_spec("pip") is not None
        if known and fits(importlib.metadata.version("pip"), _FIRST_PIP):
            yield [sys.executable, "-m", "pip", "--python", str(build / "bin" / "python")]
            return
    with tempfile.TemporaryDirectory(prefix=".pip-", dir=build) as folder:
        since = child.position()
        if child.run([python, "-m", "venv", folder], cwd=build) != 0:
            raise InstallError(f"there is no pip: {cause(child.said(since), offline=True)}")
        own = str(Path(folder, "bin", "python"))
        yield [own, "-m", "pip", "--python", str(build / "bin" / "python")]


def _install(recipe: InstallRecipe, build: Path, options: Options, child: Child, pip: list[str]) -> None:
    cache = wheel_cache()
    wanted = list(recipe.packages)
    if options.requirements is not None:
        wanted = ["--no-deps", "--requirement", str(options.requirements.absolute())]
    places = [
        folder.absolute() for folder in (options.folder, cache) if folder is not None and folder.is_dir()
    ]
    local = [word for place in places for word in ("--find-links", str(place))]
    options.tell(f"installing {', '.join(recipe.packages)} from local wheels")
    install = [*pip, "install", *_QUIET, "--no-warn-script-location", "--no-index"]
    since = child.position()
    if child.run([*install, *local, *wanted], cwd=build) == 0:
        return
    if options.offline:
        raise InstallError(cause(child.said(since), offline=True))
    options.tell(f"fetching what is not in {cache}")
    _fetch([*local, *wanted], cache, child, pip, build)
    options.tell("installing")
    since = child.position()
    if child.run([*install, "--find-links", str(cache), *wanted], cwd=build) != 0:
        raise InstallError(cause(child.said(since), offline=False))


def _fetch(wanted: list[str], cache: Path, child: Child, pip: list[str], build: Path) -> None:
    """Bring wheels into the cache: into a folder of this installation first. Raises InstallError."""
    folder = build / ".wheels"
    folder.mkdir()
    since = child.position()
    command = [*pip, "wheel", *_QUIET, *_PATIENCE, "--prefer-binary", "--wheel-dir", str(folder)]
    if child.run([*command, *wanted], cwd=build) != 0:
        raise InstallError(cause(child.said(since), offline=False))
    _keep(folder.glob("*.whl"), cache)
    shutil.rmtree(folder, ignore_errors=True)


def _keep(wheels: Iterable[Path], cache: Path) -> None:
    """Copy wheels into the cache, each whole or not at all. Raises InstallError."""
    try:
        make_dir(cache)
        for wheel in wheels:
            if not (cache / wheel.name).exists():
                with replacing(cache / wheel.name) as file, wheel.open("rb") as source:
                    shutil.copyfileobj(source, file)
    except PermissionError as error:
        raise InstallError(f"cannot write to {cache}: {error.strerror}") from error


def _used(folder: Path, installed: list[str]) -> list[Path]:
    """The wheels of a folder that were installed; others may lie there that have nothing to do with it."""
    names = {re.sub(r"[-_.]+", "_", each).lower() for each in installed}
    return [
        wheel
        for wheel in sorted(folder.glob("*.whl"))
        if re.sub(r"[-_.]+", "_", "==".join(wheel.name.split("-")[:2])).lower() in names
    ]


def _distributions(build: Path) -> list[str]:
    """`name==version` of what is installed, sorted."""
    places = [str(path) for path in build.glob("lib/python3*/site-packages")]
    found = importlib.metadata.distributions(path=places)
    return sorted({f"{item.metadata['Name']}=={item.version}" for item in found}, key=str.lower)


def _conflicts(child: Child, pip: list[str], build: Path) -> list[str]:
    """What the installed packages ask for and do not get, a line each."""
    since = child.position()
    if child.run([*pip, "check", "--disable-pip-version-check"], cwd=build) == 0:
        return []
    return [line for line in child.said(since).splitlines()[1:] if line.strip() and not line.startswith("$ ")]
