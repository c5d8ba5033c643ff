"""The kinds of agents in the registry: each is found by its name, pinned, and says what is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harnesses import recipe
from harnesses.agent import AgentHarness
from harnesses.registry import load_harness

ROOT = Path(__file__).parents[2]
#: kind -> (name to install it by, version, first dialect, limits that it keeps).
KINDS = {
    "pi": ("pi", "1.6.0", "chat", {"allowed_tools", "forbidden_tools"}),
    "codex": ("codex", "0.171.0", "responses", set[str]()),
    "claude-code": ("claude-code", "2.1.332", "messages", {"turns", "allowed_tools", "forbidden_tools"}),
    "mini-swe-agent": ("mini-swe-agent", "2.4.6", "chat", {"turns"}),
    "opencode": ("opencode", "1.18.33", "chat", set[str]()),
    "aider": ("aider", "0.86.2", "chat", set[str]()),
}


def loaded(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> AgentHarness:
    """The harness of a file that names nothing but what it has to, where nothing is installed."""
    monkeypatch.setenv(recipe.VARIABLE, str(folder / "installed"))
    file = folder / "harness.yaml"
    content = {"name": "a", "kind": kind, "model": "m", "upstream": {"base_url": "http://127.0.0.1:9/v1"}}
    file.write_text(json.dumps(content), encoding="utf-8")
    harness = load_harness(str(file))
    assert isinstance(harness, AgentHarness)
    return harness


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_found_and_says_what_is_missing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who has not installed the agent would learn it from a trial that could not be set up."""
    name, version, dialect, enforces = KINDS[kind]
    harness = loaded(kind, tmp_path, monkeypatch)
    assert harness.problems() == [
        f"{name} {version} is not installed; run: hemra harness install {name} (or name another program as 'command')"
    ]
    assert (harness.dialect, harness.enforces) == (dialect, enforces)


@pytest.mark.parametrize("kind", KINDS)
def test_an_installed_kind_is_started_from_its_own_folder(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program of that name on PATH would be measured in its place, at whatever version."""
    name, version, *_ = KINDS[kind]
    place = tmp_path / "installed" / name / version
    pinned = loaded(kind, tmp_path, monkeypatch).recipe
    program = place / pinned.program
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    (place / recipe.MANIFEST).write_text("{}", encoding="utf-8")
    harness = loaded(kind, tmp_path, monkeypatch)
    assert harness.problems() == []
    assert harness.words == [str(program)]
    assert all(re.search(rf"(?:@|==){re.escape(version)}$", package) for package in pinned.packages)
    assert place in harness.needs.read_only


def test_the_page_of_agents_tells_the_pinned_versions() -> None:
    """The documentation would speak of programs that are not the ones that are installed."""
    page = (ROOT / "docs" / "harness-agents.md").read_text(encoding="utf-8")
    rows = {row.split("`")[1]: row for row in page.splitlines() if row.startswith("| `")}
    for kind, (_, version, *_) in KINDS.items():
        assert version in page
        assert kind in rows
