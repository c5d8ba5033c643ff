"""Installing by npm: a private prefix, from local packages, with the right Node."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from harnesses.recipe import InstallRecipe, installed
from hemra.installing import npm
from hemra.installing.errors import InstallError
from hemra.installing.install import install
from hemra.installing.options import Options
from tests.installing.made_packages import make_npm_package

RECIPE = InstallRecipe(
    name="toy", version="1.2.3", kind="npm", packages=("@toys/agent@1.2.3",), program="node_modules/.bin/agent",
    version_argv=("node_modules/.bin/agent", "--version"), node=">=18",
)  # fmt: skip
needs_npm = pytest.mark.needs("npm", "node")


@needs_npm
def test_an_agent_is_installed_from_a_folder(tmp_path: Path) -> None:
    """A user without a network could not install an agent of npm's, or it would land in the user's own packages."""
    make_npm_package(tmp_path / "from" / "agent", "@toys/agent", "1.2.3", script="console.log('1.2.3')")
    done = install(RECIPE, Options(folder=tmp_path / "from", offline=True))
    assert done.manifest.packages == ["@toys/agent@1.2.3"]
    assert done.manifest.versions["node"] == npm.node_version()
    place = installed("toy", "1.2.3")
    assert place is not None
    said = subprocess.run(RECIPE.asks_version(place), capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "1.2.3"
    again = install(RECIPE, Options(folder=tmp_path / "from", offline=True, again=True))
    assert again.manifest.digest == done.manifest.digest


@needs_npm
def test_a_node_of_its_own_starts_the_agent(tmp_path: Path) -> None:
    """An agent that this machine's Node is too old for would be started by that one all the same."""
    make_npm_package(
        tmp_path / "from" / "agent", "@toys/agent", "1.2.3", script="console.log('1.2.3', process.env.BY)"
    )
    node = make_npm_package(tmp_path / "from" / "node", "node", "999.1.0", script="")
    (node / "cli.js").write_text('#!/bin/sh\nBY=own exec node "$@"\n', "utf-8")
    done = install(replace(RECIPE, node=">=999"), Options(folder=tmp_path / "from", offline=True))
    assert done.manifest.told == "1.2.3 own"
    assert done.manifest.packages == ["@toys/agent@1.2.3", "node@999.1.0"]


@needs_npm
def test_a_package_that_is_not_in_the_folder_is_named(tmp_path: Path) -> None:
    """npm would look for it on the network although a folder was named."""
    make_npm_package(tmp_path / "from" / "agent", "@toys/agent", "1.2.4", script="")
    with pytest.raises(InstallError, match=r"has no toys-agent-1\.2\.3\.tgz"):
        install(RECIPE, Options(folder=tmp_path / "from", offline=True))


@needs_npm
def test_no_network_is_told_in_one_line() -> None:
    """The user would see npm's stack of errors instead of the remedy."""
    with pytest.raises(InstallError, match=r"npm's cache: connect to the network, or .*--from"):
        install(RECIPE, Options(offline=True))


def test_a_missing_npm_is_told_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user would see that some program cannot be started, and not which package has it."""
    monkeypatch.setattr(npm.shutil, "which", lambda name: None)
    with pytest.raises(InstallError, match="not on PATH: install Node with npm"):
        install(RECIPE, Options(offline=True))


@pytest.mark.parametrize(
    ("here", "wanted", "package"),
    [
        ("22.20.0", ">=22.19", None),
        ("20.20.2", ">=22.19", "node@22"),
        (None, ">=18", "node@22"),
        ("16.1.0", "^18.2", "node@18"),
        ("20.1.0", "^20.6 || >=22", "node@22"),
        ("1.0.0", None, None),
    ],
)
def test_a_node_of_its_own_comes_only_where_this_machines_does_not_fit(
    here: str | None, wanted: str | None, package: str | None
) -> None:
    """An agent would be started by a Node that is too old for it, or another 100 MB installed for nothing."""
    assert npm.own_node(replace(RECIPE, node=wanted), here) == package
