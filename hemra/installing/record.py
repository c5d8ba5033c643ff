"""What is recorded of an installed agent: its manifest, whether it is still what was installed, and all of them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eventlog.disk import replacing
from harnesses.recipe import MANIFEST, install_root, installed
from hemra.installing import content
from hemra.installing.errors import InstallError

_STAMP = "installed.stamp"


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of one installation.

    - `told`: what its program answered when it was asked for its version
    - `recipe`: what was asked of the installer, as it was asked; `tested`: whether this is the version that this
      HEMRA's adapter was made for
    - `digest`: over the list of its files (`installed.files`); the same packages give the same one anywhere
    - `packages`: what was installed, `name==version` or `name@version`
    - `conflicts`: what the installer says does not go together; possible only with requirements of the user's own
    - `versions`: of the installer and what the agent runs on
    - `installed`: when, UTC
    """

    name: str
    version: str
    kind: str
    told: str
    digest: str
    recipe: dict[str, Any]
    tested: bool
    packages: list[str]
    conflicts: list[str]
    versions: dict[str, str]
    files: int
    bytes: int
    installed: str
    schema: str = "hemra.installed/1"


@dataclass(frozen=True)
class State:
    """One installation now. `digest` is of what is there; `changed` are the paths that are not as installed."""

    manifest: Installed
    place: Path
    digest: str
    changed: tuple[str, ...] = ()


def read(name: str, version: str) -> Installed | None:
    """The manifest of an installed agent; None where it is not installed. Raises InstallError when it is damaged."""
    place = installed(name, version)
    if place is None:
        return None
    try:
        return msgspec.json.decode((place / MANIFEST).read_bytes(), type=Installed)
    except (OSError, msgspec.MsgspecError) as error:
        raise InstallError(
            f"{place / MANIFEST} cannot be read ({error}): `hemra harness install {name} --again` makes it anew"
        ) from error


def write(place: Path, manifest: Installed, lines: list[str]) -> None:
    """Write list, stamp and manifest into the folder of an installation, the manifest last."""
    for name, text in (
        (content.LIST, "".join(f"{line}\n" for line in lines)),
        (_STAMP, content.stamp(place)),
    ):
        with replacing(place / name) as file:
            file.write(text.encode("utf-8", "surrogateescape"))
    with replacing(place / MANIFEST) as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def state(name: str, version: str) -> State | None:
    """An installation as it is now; None where there is none. Raises InstallError when its manifest is damaged.

    Files are read again only where something was written to since the last look.
    """
    manifest = read(name, version)
    place = installed(name, version)
    if manifest is None or place is None:
        return None
    place = place.resolve()
    now = content.stamp(place)
    with contextlib.suppress(OSError):
        if (place / _STAMP).read_text("ascii") == now:
            return State(manifest, place, manifest.digest)
    lines = content.listing(place)
    digest = content.digest_of(lines)
    if digest == manifest.digest:
        with (
            contextlib.suppress(OSError),
            replacing(place / _STAMP) as file,
        ):  # only saves the next look's time
            file.write(now.encode())
        return State(manifest, place, digest)
    return State(
        manifest, place, digest, tuple(content.differences(_listed(place), lines)) or (content.LIST,)
    )


def _listed(place: Path) -> list[str]:
    try:
        return (place / content.LIST).read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []


def all_installed() -> list[tuple[str, str]]:
    """(name, version) of everything that is installed, sorted."""
    root = install_root()
    try:
        names = [folder for folder in root.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
    except OSError:
        return []
    return sorted(
        (folder.name, version.name)
        for folder in names
        for version in folder.iterdir()
        if not version.name.startswith(".") and (version / MANIFEST).is_file()
    )


def record(name: str, version: str) -> dict[str, Any] | None:
    """What a run records of an installed agent: name, version, the digest of what is there now, and whether that is
    what was installed. None where it is not installed."""
    found = state(name, version)
    if found is None:
        return None
    return {
        "name": name, "version": version, "told": found.manifest.told, "digest": found.digest,
        "changed": list(found.changed[:20]), "packages": found.manifest.packages, "conflicts": found.manifest.conflicts,
        "versions": found.manifest.versions,
    }  # fmt: skip
