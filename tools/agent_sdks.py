"""The vendors' agent libraries that examples/harnesses use, installed as agents are: pinned, each in an environment of
its own, whose Python is the program."""

from __future__ import annotations

from harnesses.recipe import InstallRecipe


def _library(package: str, version: str) -> InstallRecipe:
    asks = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    return InstallRecipe(
        name=package, version=version, kind="pip", packages=(f"{package}=={version}",), program="bin/python",
        version_argv=("bin/python", "-c", asks), python=">=3.10",
    )  # fmt: skip


#: By the name of the package.
SDKS = {
    recipe.name: recipe
    for recipe in (_library("claude-agent-sdk", "0.2.189"), _library("openai-agents", "0.24.0"))
}
