"""Installs the real agents that tests are to run, as `hemra harness install` does, and says of each how that went.

    python -m tools.install_agents [NAME ...]

An agent that cannot be had here is named with the reason and is no failure: tests that need it are skipped by name.
Where the pinned packages of an agent cannot be had and `tools/agents/NAME.txt` lists others that do, these are used,
and the installation's manifest says so.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from hemra.errors import HemraError
from hemra.installing.catalog import recipe_of
from hemra.installing.errors import InstallError
from hemra.installing.install import Outcome, install
from hemra.installing.options import Options

#: Agents that tests run against the scripted model server.
FOR_TESTS = ("hermes", "pi", "codex", "claude-code", "mini-swe-agent")
OTHER_PACKAGES = Path(__file__).with_name("agents")


def say(text: str) -> None:
    """A line on stderr, at once."""
    print(f"agents: {text}", file=sys.stderr, flush=True)


def installed(name: str) -> Outcome:
    """Install one agent, with its pinned packages or else with those of its list. Raises InstallError."""
    recipe = recipe_of(name)
    options = Options(tell=lambda text: say(f"{recipe.name}: {text}"))
    try:
        return install(recipe, options)
    except InstallError as error:
        other = OTHER_PACKAGES / f"{recipe.name}.txt"
        if not other.is_file():
            raise
        say(f"{error}; trying {other.name}")
        return install(recipe, dataclasses.replace(options, requirements=other))


def main() -> int:
    """Install them all. 2 for a name that is none."""
    for name in sys.argv[1:] or FOR_TESTS:
        try:
            done = installed(name)
        except InstallError as error:
            say(f"skipped {name}: {error}")
        except HemraError as error:
            say(str(error))
            return error.exit_code
        else:
            unpinned = ", not as released" if done.manifest.conflicts else ""
            say(f"{name} {done.manifest.version} in {done.place}{unpinned}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
