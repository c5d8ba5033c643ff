"""The program that brings the real agents to where tests find them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harnesses.recipe import installed
from harnesses.registry import KINDS
from hemra.installing.catalog import recipe_of
from tests.installing.made_packages import toy_recipe, toy_wheels
from tools import install_agents


class ToyHarness:
    """A kind whose agent is the toy."""

    recipe = toy_recipe()


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy is the one agent, its packages are local, and nothing of the user's is touched."""
    monkeypatch.setenv("HEMRA_HARNESSES", str(tmp_path / "installed"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "index").as_uri())
    monkeypatch.setitem(KINDS, "toy", ToyHarness)  # type: ignore[arg-type]


def _main(monkeypatch: pytest.MonkeyPatch, *names: str) -> int:
    monkeypatch.setattr("sys.argv", ["install_agents", *names])
    return install_agents.main()


def test_an_agent_that_cannot_be_had_is_named_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests would stop wherever an index refuses, or be skipped without anybody knowing why."""
    assert _main(monkeypatch, "toy") == 0
    assert (
        "skipped toy: toy 1.2.3 was not installed: the index has no toy-agent==1.2.3"
        in capsys.readouterr().err
    )
    assert _main(monkeypatch, "tpy") == 5


def test_an_agent_that_is_there_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests would look for it elsewhere, and be skipped."""
    toy_wheels(tmp_path / "wheels")
    assert _main(monkeypatch, "toy") == 0
    assert "toy 1.2.3 in " in capsys.readouterr().err
    assert installed("toy", "1.2.3") is not None


def test_every_agent_of_the_tests_is_known() -> None:
    """A name that is none ends the whole, and with it the agents behind it."""
    for name in install_agents.FOR_TESTS:
        assert name in install_agents.SDKS or recipe_of(name).name == name
