"""`hemra harness install` and `uninstall`: pinned agents in HEMRA's own folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hemra.cli.context import common_options, json_option
from hemra.cli.given import Place
from hemra.cli.lazy import Command
from hemra.cli.output import note, print_json, say

if TYPE_CHECKING:
    from hemra.installing.install import Outcome


@click.command(
    cls=Command,
    examples=[
        ("hemra harness install hermes", "the version that this HEMRA was made for; nothing if it is there"),
        (
            "hemra harness install hermes --from ./wheels",
            "with packages of your own: wheels, or npm's archives",
        ),
    ],
)
@click.argument("name", metavar="NAME")
@click.option("--version", metavar="V", help="Another version than the one that HEMRA was made for.")
@click.option("--offline", is_flag=True, help="Fetch nothing: use what was fetched before.")
@click.option("--from", "folder", metavar="FOLDER", type=Place(), help=(
    "Take packages from here (wheels; npm archives) before any other place."))  # fmt: skip
@click.option("--requirements", metavar="FILE", type=Place(), help=(
    "Install exactly what this pip requirements file lists, whatever the agent asks for."))  # fmt: skip
@click.option("--again", is_flag=True, help="Install it anew even if it is there.")
@json_option
@common_options
def install(
    name: str, version: str | None, offline: bool, folder: Path | None, requirements: Path | None, again: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Install an agent at its pinned version, in a folder of its own.

    It is seen only when it is whole and has told its version. What was fetched is kept (wheels, npm's cache), so
    that an interrupted installation goes on from there and the next one needs no network.
    """
    from hemra.installing.catalog import recipe_of
    from hemra.installing.install import at_version
    from hemra.installing.install import install as carry_out
    from hemra.installing.options import Options

    pinned = recipe_of(name)
    recipe = at_version(pinned, version) if version else pinned
    options = Options(offline=offline, folder=folder, requirements=requirements, again=again,
                      tell=lambda text: note(f"{recipe.name}: {text}"))  # fmt: skip
    done = carry_out(recipe, options, tested=recipe.version == pinned.version)
    if as_json:
        print_json(_document(done))
        return
    _tell(done)
    if not done.manifest.tested:
        words = ", ".join(recipe.argv(done.place))
        note(
            f"the kind {name} starts {recipe.name} {pinned.version}; a harness file names this one as "
            f"`command: [{words}]`, and `hemra harness check FILE` shows whether it fits"
        )


def _document(done: Outcome) -> dict[str, Any]:
    import msgspec

    told: dict[str, Any] = msgspec.to_builtins(done.manifest)
    return told | {"schema": "hemra.harness-install/1", "place": str(done.place), "fresh": done.fresh}


def _tell(done: Outcome) -> None:
    manifest = done.manifest
    say(f"{manifest.name} {manifest.version} {'installed' if done.fresh else 'is installed'} in {done.place}")
    say(
        f"it says {manifest.told!r}; {manifest.files} files, {manifest.bytes / 1e6:.0f} MB, {manifest.digest}"
    )
    for line in manifest.conflicts:
        say(f"does not go together: {line}")


@click.command(cls=Command, examples=[("hemra harness uninstall hermes", "every version of it")])
@click.argument("name", metavar="NAME")
@click.option("--version", metavar="V", help="This version only.")
@common_options
def uninstall(name: str, version: str | None) -> None:
    """Remove an installed agent. What was fetched for it stays; a run that uses it breaks."""
    from hemra.errors import NotFound
    from hemra.installing.install import uninstall as carry_out

    removed = carry_out(name, version)
    if not removed:
        what = f"{name} {version}" if version else name
        raise NotFound(f"{what} is not installed; `hemra harness list` shows what is")
    for each in removed:
        say(f"{name} {each} removed")
