"""`hemra harness install`, `uninstall` and `list` as a user types them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harnesses.agent import Capabilities
from harnesses.recipe import place_of
from harnesses.registry import KINDS
from hemra.cli import main as program
from hemra.installing.catalog import recipes
from hemra.installing.versions import fits
from tests.installing.made_packages import make_wheel, toy_recipe, toy_wheels

Run = Callable[..., tuple[int, str, str]]


class ToyHarness:
    """A kind whose agent is the toy."""

    recipe = toy_recipe()
    capabilities = Capabilities(turn_limit=True, tools="each", mcp=("stdio",))
    dialects = ("chat",)


@pytest.fixture
def hemra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line where the kind `toy` is known; exit code, stdout, stderr."""
    monkeypatch.setitem(KINDS, "toy", ToyHarness)  # type: ignore[arg-type]
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*words: str) -> tuple[int, str, str]:
        code = program.main(["harness", *words])
        return code, *capsys.readouterr()

    return run


def _kind(hemra: Run, name: str = "toy") -> dict[str, object]:
    code, out, _ = hemra("list", "--json")
    assert code == 0
    found = [kind for kind in json.loads(out)["kinds"] if kind["kind"] == name]
    return found[0] if found else {}


def test_install_list_and_uninstall(hemra: Run, tmp_path: Path) -> None:
    """The commands would not agree on what is installed and whether it is as it was."""
    assert _kind(hemra)["installed"] == []
    wheels = toy_wheels(tmp_path / "wheels")
    code, out, err = hemra("install", "toy", "--from", str(wheels), "--offline")
    assert (code, out.splitlines()[0]) == (0, f"toy 1.2.3 installed in {place_of('toy', '1.2.3')}")
    assert "asking it for its version" in err
    code, out, _ = hemra("install", "toy", "--offline", "-q")
    assert (code, "is installed in" in out) == (0, True)
    (installed,) = _kind(hemra)["installed"]  # type: ignore[misc]
    assert (installed["version"], installed["changed"], installed["problem"]) == ("1.2.3", [], None)
    module = next(place_of("toy", "1.2.3").glob("lib/python3*/site-packages/toy_agent.py"))
    module.write_text(module.read_text("utf-8") + "\n", "utf-8")
    code, out, _ = hemra("list")
    assert "1.2.3 (changed)" in out
    assert "toy_agent.py" in out
    assert hemra("uninstall", "toy")[:2] == (0, "toy 1.2.3 removed\n")
    assert hemra("uninstall", "toy")[0] == 5
    assert _kind(hemra)["installed"] == []


def test_the_list_shows_what_a_kind_can_be_held_to(hemra: Run) -> None:
    """A user would find out in the middle of a run that a limit cannot be held."""
    held = _kind(hemra)["capabilities"]
    assert held == {
        "dialects": ["chat"], "turn_limit": True, "tools": "each", "system_prompt": False, "resume": False,
        "mcp": ["stdio"], "events": False, "session": False, "tools_known": [],
    }  # fmt: skip
    assert _kind(hemra, "command")["capabilities"] is None
    assert _kind(hemra, "oracle") == {}


def test_another_version_is_installed_beside_and_how_to_use_it_is_told(hemra: Run, tmp_path: Path) -> None:
    """A user would believe that runs use the version that was asked for, where they use the one of the recipe."""
    code = "def main():\n    print('toy-agent 2.0')\n"
    make_wheel(tmp_path / "wheels", "toy-agent", "2.0", code=code, script="toy")
    exit_code, _, err = hemra(
        "install", "toy", "--version", "2.0", "--from", str(tmp_path / "wheels"), "--offline"
    )
    assert exit_code == 0
    assert f"`command: [{place_of('toy', '2.0')}/bin/toy]`" in err
    (installed,) = _kind(hemra)["installed"]  # type: ignore[misc]
    assert (installed["version"], installed["tested"]) == ("2.0", False)


def test_the_list_says_what_an_agent_cannot_be_installed_for(
    hemra: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user would find out by a failed installation."""
    monkeypatch.setattr(ToyHarness, "recipe", replace(toy_recipe(), python=">=99"))
    code, out, _ = hemra("list")
    assert code == 0
    assert "toy cannot be installed here: it needs Python >=99" in out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["install", "tpy"], 5, "did you mean 'toy'?"),
        (["install", "toy", "--offline"], 1, "toy-agent==1.2.3 is in no local folder"),
        (["install", "toy", "--from", "/no/such/folder"], 2, "there is no such folder"),
        (["install", "toy", "--version", "../x"], 2, "is no version"),
        (["uninstall", "../x"], 5, "is not installed"),
    ],
)
def test_what_cannot_be_done_is_one_line(hemra: Run, words: list[str], code: int, said: str) -> None:
    """A user would see a traceback, or a script would take it for done."""
    got, out, err = hemra(*words)
    assert (got, out) == (code, "")
    assert said in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize("name", sorted(recipes()))
def test_every_recipe_can_be_followed(name: str) -> None:
    """A pin that is no pin installs another version tomorrow; a range that cannot be read stops every install."""
    recipe = recipes()[name]
    pin = "==" if recipe.kind == "pip" else "@"
    for package in recipe.packages:
        assert package.rpartition(pin)[2][:1].isdigit(), package
    assert recipe.packages[0].endswith(pin + recipe.version)
    assert isinstance(fits("3.11", recipe.python) and fits("22.0", recipe.node), bool)
