"""The kinds of harnesses there are: what each can be held to, how its agent is installed, what is missing for that."""

from __future__ import annotations

import difflib
import shutil
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from harnesses.recipe import InstallRecipe
from harnesses.registry import BUILTIN, KINDS
from hemra.errors import NotFound
from hemra.installing import record
from hemra.installing.errors import InstallError
from hemra.installing.venv import find_python


@dataclass(frozen=True)
class Kind:
    """`recipe` and `capabilities` are null where its program is the user's own."""

    name: str
    recipe: InstallRecipe | None = None
    capabilities: dict[str, Any] | None = None


def kinds() -> list[Kind]:
    """Every kind that a harness file can have, in the registry's order; the built-in harnesses need none."""
    return [_kind(name, maker) for name, maker in KINDS.items() if name not in BUILTIN]


def _kind(name: str, maker: Any) -> Kind:
    recipe = getattr(maker, "recipe", None)
    told = getattr(maker, "capabilities", None)
    capabilities = None
    if is_dataclass(told) and not isinstance(told, type):
        capabilities = {"dialects": list(getattr(maker, "dialects", ())), **asdict(told)}
        capabilities["tools_known"] = sorted(getattr(maker, "tool_names", {}))
    return Kind(name, recipe if isinstance(recipe, InstallRecipe) else None, capabilities)


def recipes() -> dict[str, InstallRecipe]:
    """Every agent that can be installed, by the name of its recipe."""
    return {kind.recipe.name: kind.recipe for kind in kinds() if kind.recipe is not None}


def recipe_of(name: str) -> InstallRecipe:
    """The recipe of an agent, by its name or by its kind. Raises NotFound."""
    found = recipes()
    by_kind = {kind.name: kind.recipe for kind in kinds() if kind.recipe is not None}
    if name in found or name in by_kind:
        return found.get(name) or by_kind[name]
    near = difflib.get_close_matches(name, [*found, *by_kind], n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(found)}"
    raise NotFound(f"no agent {name!r} that hemra can install: {hint}")


def missing(recipe: InstallRecipe) -> list[str]:
    """What this machine lacks to install an agent, a line each."""
    if recipe.kind == "npm":
        return [] if shutil.which("npm") else ["it needs npm, which comes with Node"]
    try:
        find_python(recipe.python)
    except InstallError as error:
        return [str(error)]
    return []


def document(kind: Kind) -> dict[str, Any]:
    """A kind as JSON: capabilities, recipe, what of it is installed, what is missing for it."""
    recipe = kind.recipe
    if recipe is None:
        return {
            "kind": kind.name,
            "capabilities": kind.capabilities,
            "recipe": None,
            "installed": [],
            "missing": [],
        }
    return {
        "kind": kind.name,
        "capabilities": kind.capabilities,
        "recipe": {"name": recipe.name, "version": recipe.version, "installer": recipe.kind,
                   "packages": list(recipe.packages), "python": recipe.python, "node": recipe.node},
        "installed": [_installed(*each) for each in record.all_installed() if each[0] == recipe.name],
        "missing": missing(recipe),
    }  # fmt: skip


def _installed(name: str, version: str) -> dict[str, Any]:
    try:
        found = record.state(name, version)
    except (InstallError, OSError) as error:
        return {"version": version, "problem": str(error)}
    assert found is not None
    manifest = found.manifest
    return {
        "version": version, "told": manifest.told, "digest": manifest.digest, "changed": list(found.changed[:20]),
        "tested": manifest.tested, "conflicts": manifest.conflicts, "place": str(found.place),
        "installed": manifest.installed, "bytes": manifest.bytes, "problem": None,
    }  # fmt: skip
