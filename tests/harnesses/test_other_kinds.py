"""Kinds of harnesses that other packages bring: found by their entry point, and clear errors where they are none."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from harnesses import registry
from harnesses.base import HarnessFile, HarnessTraits, Needs
from harnesses.command import CommandHarness
from harnesses.errors import HarnessFileError
from harnesses.mcp import TRANSPORTS


class Caller(CommandHarness):
    """A kind of another package: a command that has one tool."""

    @property
    def traits(self) -> HarnessTraits:
        """What its file says of it, and its tool."""
        return replace(super().traits, tool_names=("terminal",))


class Misspelt(CommandHarness):
    """One that says something which does not exist."""

    @property
    def traits(self) -> HarnessTraits:
        """Nothing that could be made."""
        return replace(super().traits, tool_name=("terminal",))  # type: ignore[call-arg]


class Silent:
    """One that says nothing of itself."""

    def __init__(self, file: HarnessFile, folder: Path) -> None:
        self.name = file.name


def _load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_by: str) -> Any:
    point = EntryPoint("caller", f"{__name__}:{made_by}", registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nkind: caller\ncommand: cat\nstrip_tools: true\n", encoding="utf-8")
    return registry.load_harness(str(path))


def test_a_kind_of_another_package_says_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/harnesses.md shows how: what such a kind says, or what its file says, would not be heard."""
    traits = _load(tmp_path, monkeypatch, "Caller").traits
    assert (traits.tool_names, traits.strip_tools) == (("terminal",), True)
    assert (traits.mcp_transports, traits.spoken) == (TRANSPORTS, "chat")


@pytest.mark.parametrize(
    ("made_by", "said"),
    [
        ("Misspelt", "cannot be used: .* unexpected keyword argument 'tool_name'"),
        ("Silent", "makes no harness for this hemra: it has no `traits`"),
        ("Absent", "cannot be used: .* has no attribute 'Absent'"),
    ],
)
def test_what_is_no_harness_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_by: str, said: str
) -> None:
    """A misspelt trait would be silently the default; a package that does not fit would look like a bug of ours."""
    with pytest.raises(HarnessFileError, match=rf"mine.yaml: kind: 'caller' \(.*:{made_by}\) {said}"):
        _load(tmp_path, monkeypatch, made_by)


def test_what_is_left_out_has_its_default() -> None:
    """The engine would take a harness for something that it never said."""
    said = HarnessTraits()
    assert (said.needs, said.upstream, said.spoken) == (Needs(), None, "chat")
    assert (said.strip_tools, said.mcp_transports, said.mcp_names) == (False, None, ())
    assert not said.tool_names
