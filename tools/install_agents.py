"""Installs the real agents, and the agent libraries of examples, that tests are to run, and says of each how that went.

It does what `hemra harness install` does.

    python -m tools.install_agents [NAME ...]

An agent that cannot be had here is named with the reason and is no failure: tests that need it are skipped by name.
"""

from __future__ import annotations

import sys

from hemra.errors import HemraError
from hemra.installing.catalog import recipe_of
from hemra.installing.errors import InstallError
from hemra.installing.install import Outcome, install
from hemra.installing.options import Options
from tools.agent_sdks import SDKS

#: Agents that tests run against the scripted model server; the long tests run what else is installed, too.
FOR_TESTS = ("hermes", "pi", "codex", "claude-code", "mini-swe-agent", "claude-agent-acp", "codex-acp", *SDKS)


def say(text: str) -> None:
    """A line on stderr, at once."""
    print(f"agents: {text}", file=sys.stderr, flush=True)


def installed(name: str) -> Outcome:
    """Install one agent with its pinned packages. Raises InstallError."""
    recipe = SDKS.get(name) or recipe_of(name)
    options = Options(tell=lambda text: say(f"{recipe.name}: {text}"))
    return install(recipe, options)


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
            say(f"{name} {done.manifest.version} in {done.place}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
