"""The program that brings the real agents to where tests find them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harnesses.recipe import installed
from harnesses.registry import KINDS
from hemra.installing.catalog import recipe_of, recipes
from tests.installing.made_packages import make_wheel, toy_recipe, toy_wheels
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
    monkeypatch.setattr(install_agents, "OTHER_PACKAGES", tmp_path / "agents")


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


def test_other_packages_are_used_where_the_pinned_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine with a partial index could not run the agent, or its tests would count as those of the release."""
    toy_wheels(tmp_path / "wheels")
    (tmp_path / "wheels" / "toy_library-2.0-py3-none-any.whl").unlink()
    make_wheel(tmp_path / "wheels", "toy-library", "1.0")
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "toy.txt").write_text("toy-agent==1.2.3\ntoy-library==1.0\n", "utf-8")
    assert _main(monkeypatch, "toy") == 0
    assert "not as released" in capsys.readouterr().err
    assert installed("toy", "1.2.3") is not None


def test_the_lists_are_of_agents_and_name_the_pinned_version() -> None:
    """A new version of an agent would be tested with the packages of an old one."""
    for path in sorted((Path(install_agents.__file__).parent / "agents").iterdir()):
        recipe = recipes()[path.stem]
        lines = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
        name = recipe.packages[0].partition("==")[0].partition("[")[0]
        assert lines[0] == f"{name}=={recipe.version}"
        assert all("==" in line for line in lines)
    assert [recipe_of(name).name for name in install_agents.FOR_TESTS] == list(install_agents.FOR_TESTS)
