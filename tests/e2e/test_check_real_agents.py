"""`hemra harness check` on the real agents that are installed; each is skipped by name where it is not."""

from __future__ import annotations

import pytest

from harnesses.recipe import installed
from hemra.installing.catalog import recipes
from tests.e2e.conftest import Command

#: What these look up whatever is switched off: neither delays them nor reaches anything.
KNOWN_OUTSIDE = {"opencode": 1, "aider": 1}
#: A check takes some ten seconds: the others have theirs in the long tests.
OFTEN = ("codex", "hermes", "claude-agent-acp")
pytestmark = [pytest.mark.e2e, pytest.mark.needs("bwrap"), pytest.mark.timeout(400)]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in OFTEN else pytest.mark.torture) for name in sorted(recipes())],
)
def test_an_installed_agent_does_what_its_adapter_says(name: str, hemra: Command) -> None:
    """An adapter's start line, settings or reader would be wrong for the version that is installed."""
    recipe = recipes()[name]
    if installed(recipe.name, recipe.version) is None:
        pytest.skip(f"needs {recipe.name} {recipe.version}, which is not installed")
    told = hemra.json("harness", "check", name, "--seconds", "90")
    assert (told["fine"], told["wrong"]) == (True, [])
    assert len(told["seen"]["outside"]) <= KNOWN_OUTSIDE.get(name, 0), told["seen"]["outside"]
    assert recipe.version in told["seen"]["version"]
