"""How a pinned version of an agent is installed in a folder of its own, and where that folder is.

A recipe only says what is to be installed; `hemra harness install` does it. An adapter asks `installed` where its
program is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

#: Another folder for installed agents than the platform's.
VARIABLE = "HEMRA_HARNESSES"
#: Written last into the folder of an installed agent: without it the installation is not whole.
MANIFEST = "installed.json"


@dataclass(frozen=True, kw_only=True)
class InstallRecipe:
    """One agent at one version.

    - `name`: what `hemra harness install` calls it; `version`: of the agent itself
    - `kind`: `pip`: a virtual environment at the place; `npm`: a private prefix, packages in its `node_modules`
    - `packages`: exact pins as the installer takes them, the agent first
    - `program`: its program, relative to the place (`bin/hermes`, `node_modules/.bin/pi`)
    - `python`, `node`: the versions that it runs on, as the installers write ranges; `node` null = none is needed
    - `version_argv`: the command that prints its version, the first word relative to the place; or `node` with
      arguments, in which `{place}` stands for it, for a program that does not say its version
    - `extra`: what this installer needs beside it, as JSON
    """

    name: str
    version: str
    kind: Literal["pip", "npm"]
    packages: tuple[str, ...]
    program: str
    version_argv: tuple[str, ...]
    python: str | None = None
    node: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def argv(self, place: Path) -> list[str]:
        """The words that start the program installed at `place`: through a Node of its own where it has one."""
        program = str(place / self.program)
        own_node = self.own_node(place)
        return [str(own_node), program] if own_node is not None else [program]

    def own_node(self, place: Path) -> Path | None:
        """The Node that was installed with the program; None where it runs on the machine's, or on none."""
        found = place / "node_modules" / ".bin" / "node"
        return found if self.node and found.exists() else None

    def asks_version(self, place: Path) -> list[str]:
        """The command that prints the version of what is installed at `place`."""
        if self.version_argv[0] == self.program:
            return [*self.argv(place), *self.version_argv[1:]]
        if self.version_argv[0] == "node":
            words = [word.replace("{place}", str(place)) for word in self.version_argv[1:]]
            return [str(self.own_node(place) or "node"), *words]
        return [str(place / self.version_argv[0]), *self.version_argv[1:]]


def install_root() -> Path:
    """The folder of all installed agents: HEMRA_HARNESSES, else one of the user's data folders.

    It is not inside the default store, which no trial may see.
    """
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_path("hemra-harnesses", appauthor=False))


def place_of(name: str, version: str) -> Path:
    """The folder that this version of an agent is installed in, whether it is or not."""
    return install_root() / name / version


def installed(name: str, version: str) -> Path | None:
    """The folder of an installed agent; None where it is not, or not wholly, installed."""
    place = place_of(name, version)
    return place if (place / MANIFEST).is_file() else None
