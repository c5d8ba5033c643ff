"""`hemra harness show` names everything for which `hemra run` would refuse the harness, in the same words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hemra.command_line import Run, runner
from tests.projections.synthetic_runs import new_store


@pytest.fixture
def hemra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs one command line; returns exit code, stdout and stderr."""
    monkeypatch.setenv("HEMRA_STORE", str(new_store(tmp_path).path))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("NOT_SET_ANYWHERE", raising=False)
    return runner(capsys)


@pytest.mark.parametrize(
    "fields",
    [
        "upstream: {base_url: nope}",
        "upstream: {base_url: 'ftp://host/v1'}",
        "upstream: {base_url: 'http://host/v1', key: {env: NOT_SET_ANYWHERE}}",
        "upstream: {base_url: 'http://host/v1', key: {}}",
        "upstream: {base_url: 'http://host/v1', headers: {Authorization: abc}}",
        "env: {A: $NOT_SET_ANYWHERE}",
        'version_command: ["sh", "\\0"]',
        "read_only: [/not/there]",
    ],
)
def test_what_keeps_a_harness_from_running_is_shown(tmp_path: Path, hemra: Run, fields: str) -> None:
    """If this failed, a person would learn only from `hemra run` that the harness cannot run."""
    file = tmp_path / "mine.yaml"
    file.write_text(f"name: mine\nkind: command\ncommand: [sh]\nmodel: m\n{fields}\n")
    code, out, _ = hemra("harness", "show", str(file))
    assert code == 0
    shown = [line.removeprefix("problem: ") for line in out.splitlines() if line.startswith("problem: ")]
    assert len(shown) == 1
    assert json.loads(hemra("harness", "show", str(file), "--json")[1])["problems"] == shown
    code, _, err = hemra("run", "--dataset", "hermes", "--task", "t01_echo", "--harness", str(file))
    assert (code, err) == (2, f"hemra: harness mine: {shown[0]}\n")


def test_a_harness_without_problems_has_none(hemra: Run) -> None:
    """If this failed, everybody would be told of problems that there are not."""
    assert "problem" not in hemra("harness", "show", "oracle")[1]
