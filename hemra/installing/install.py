"""Installs an agent by its recipe: into a folder of its own, tried out, listed, and only then seen.

Whatever happens on the way, there is either the whole installation or none. Two that install the same agent take
turns, and the second finds it done.
"""

from __future__ import annotations

import dataclasses
import errno
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eventlog import clock
from harnesses.recipe import InstallRecipe, place_of
from hemra.errors import UsageError
from hemra.installing import content, npm, record, venv
from hemra.installing.child import Child
from hemra.installing.errors import InstallError
from hemra.installing.options import Contents, Options
from hemra.installing.place import checked, remove_build, shelf
from hemra.installing.record import Installed
from hemra.installing.versions import version_of

_INSTALLERS: dict[str, Callable[[InstallRecipe, Path, Options, Child], Contents]] = {
    "pip": venv.install,
    "npm": npm.install,
}
#: Seconds for the first start of a program, which may compile or unpack itself.
_VERSION_SECONDS = 120.0


@dataclass(frozen=True)
class Outcome:
    """`fresh`: it was installed now; else it was there already."""

    place: Path
    manifest: Installed
    fresh: bool


def at_version(recipe: InstallRecipe, version: str) -> InstallRecipe:
    """The recipe for another version of the agent: the pin of its own package is changed, those beside it stay.

    Raises UsageError for what cannot be a version.
    """
    if version == recipe.version:
        return recipe
    if not re.fullmatch(r"[0-9][A-Za-z0-9.+-]*", version):
        raise UsageError(f"{version!r} is no version: write it as the package does, say {recipe.version}")
    pin = ("==" if recipe.kind == "pip" else "@") + recipe.version
    packages = tuple(
        package.removesuffix(pin) + pin.replace(recipe.version, version) if package.endswith(pin) else package
        for package in recipe.packages
    )
    return dataclasses.replace(recipe, version=version, packages=packages)


def install(recipe: InstallRecipe, options: Options, *, tested: bool = True) -> Outcome:
    """Install an agent, or find it installed. Raises InstallError or UsageError; then nothing was changed."""
    _check(options)
    checked(recipe.version)
    with shelf(recipe.name, lambda: options.tell("waiting for another installation of it")) as held:
        held.clear()
        there = None if options.again else _there(recipe, options)
        if there is not None:
            return there
        build = held.new_build()
        log = build.parent.parent / f"{recipe.version}.log"
        try:
            log.write_bytes(b"")
            manifest = _fill(recipe, build, options, Child(log, held.lock), tested=tested)
            place = held.publish(build, recipe.version)
        except OSError as error:
            remove_build(build)
            raise InstallError(_system(error, recipe)) from error
        except BaseException as error:
            remove_build(build)
            if isinstance(error, InstallError):
                raise InstallError(
                    f"{recipe.name} {recipe.version} was not installed: {error} (all of it: {log})"
                ) from error
            raise
        log.unlink(missing_ok=True)
        held.clear()
        return Outcome(place, manifest, True)


def uninstall(name: str, version: str | None = None) -> list[str]:
    """Remove one version of an agent, or all of them; those that were removed. Running trials lose it."""
    found = [each for agent, each in record.all_installed() if agent == name and version in (None, each)]
    if not found:
        return []
    with shelf(name) as held:
        removed = [each for each in found if held.withdraw(each)]
        for each in removed:
            (held.folder / f"{each}.log").unlink(missing_ok=True)
    return removed


def _check(options: Options) -> None:
    if options.folder is not None and not options.folder.is_dir():
        raise UsageError(f"--from {options.folder}: there is no such folder")
    if options.requirements is not None and not options.requirements.is_file():
        raise UsageError(f"--requirements {options.requirements}: there is no such file")


def _there(recipe: InstallRecipe, options: Options) -> Outcome | None:
    """What is installed already, unless it was changed or cannot be read: then it is made anew."""
    try:
        found = record.state(recipe.name, recipe.version)
    except InstallError as error:
        options.tell(str(error).partition(":")[0])
        return None
    if found is None:
        return None
    if found.changed:
        options.tell(f"{found.changed[0]} is not as it was installed: all of it is made anew")
        return None
    return Outcome(place_of(recipe.name, recipe.version), found.manifest, False)


def _fill(recipe: InstallRecipe, build: Path, options: Options, child: Child, *, tested: bool) -> Installed:
    contents = _INSTALLERS[recipe.kind](recipe, build, options, child)
    options.tell("asking it for its version")
    told = _tried(recipe, build)
    options.tell("recording what was installed")
    lines = content.listing(build)
    files, size = content.size_of(build)
    manifest = Installed(
        name=recipe.name, version=recipe.version, kind=recipe.kind, told=told, digest=content.digest_of(lines),
        recipe=_asked(recipe, options), tested=tested, packages=contents.packages,
        conflicts=contents.conflicts, versions=contents.versions, files=files, bytes=size,
        installed=clock.rfc3339(clock.wall_ns()),
    )  # fmt: skip
    record.write(build, manifest, lines)
    return manifest


def _asked(recipe: InstallRecipe, options: Options) -> dict[str, Any]:
    requirements = options.requirements
    return {
        "packages": list(recipe.packages), "python": recipe.python, "node": recipe.node,
        "requirements": requirements.read_text("utf-8") if requirements is not None else None,
    }  # fmt: skip


def _tried(recipe: InstallRecipe, build: Path) -> str:
    """What the program answers when it is asked for its version. Raises InstallError when that is another one."""
    from hemra.installing.version import ask_version

    answer = ask_version(recipe.asks_version(build), seconds=_VERSION_SECONDS)
    if answer.version is None:
        raise InstallError(f"what was installed does not start: {answer.problem}")
    told, wanted = version_of(answer.version.replace(recipe.name, "")), version_of(recipe.version)
    if wanted is not None and (told is None or told[: len(wanted)] != wanted):
        raise InstallError(f"what was installed says that it is {answer.version!r}, not {recipe.version}")
    return answer.version


def _system(error: OSError, recipe: InstallRecipe) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        why = "the disk is full: make room, or name another place with HEMRA_HARNESSES"
    else:
        why = f"{error.filename or 'a file'}: {error.strerror}"
    return f"{recipe.name} {recipe.version} was not installed: {why}"
