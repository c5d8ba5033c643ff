"""Fields of harness files that mean nothing, or that would mean something else: each is refused by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harnesses.base import HarnessFile
from harnesses.enums import values_at
from harnesses.errors import HarnessFileError
from harnesses.file import read_harness_file
from harnesses.registry import BUILTIN, load_harness
from hemra.datasets.model import SelectionSpec, TaskSpec
from hemra.datasets.yamlfile import parse_yaml
from hemra.errors import UsageError


def written(folder: Path, text: str) -> Path:
    """A harness file with that text."""
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("prompt: nope", "prompt: 'nope' is none; there are: argument, file, stdin"),
        ("terminal: tty", "terminal: 'tty' is none; there are: pipes, pty"),
        ("network: on", "network: expected text, got bool"),
        ("network: lan", "network: 'lan' is none; there are: full, gateway, none"),
    ],
)
def test_a_field_with_choices_names_them(tmp_path: Path, line: str, said: str) -> None:
    """If this failed, a person would have to look up what can stand there."""
    with pytest.raises(HarnessFileError) as caught:
        read_harness_file(written(tmp_path, f"name: x\nkind: command\ncommand: ls\n{line}\n"))
    assert said in str(caught.value)


def test_a_setting_with_choices_names_them(tmp_path: Path) -> None:
    """If this failed, a person would have to look up what can stand there."""
    path = written(
        tmp_path,
        "name: x\nkind: acp\ncommand: ls\nsettings: {mcp_servers: {a: {url: 'http://x', transport: tcp}}}\n",
    )
    with pytest.raises(
        HarnessFileError, match=r"settings.mcp_servers.transport: 'tcp' is none; there are: http, sse"
    ):
        load_harness(str(path))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("difficulty: 4", "difficulty: 4 is none; there are: 1, 2, 3"),
        ("network: lan", "network: 'lan' is none; there are: full, mock, none"),
        ("mcp_servers: {a: {url: x, transport: tcp}}", "transport: 'tcp' is none; there are: http, sse"),
    ],
)
def test_a_field_of_a_task_with_choices_names_them(line: str, said: str) -> None:
    """If this failed, a person would have to look up what can stand there."""
    text = (
        "id: a\nversion: 1\ntitle: A\n" + ("" if line.startswith("difficulty") else "difficulty: 1\n") + line
    )
    with pytest.raises(UsageError) as caught:
        parse_yaml(text.encode(), TaskSpec, "task.yaml")
    assert said in str(caught.value)


def test_choices_are_found_in_lists_and_nowhere_else() -> None:
    """If this failed, an error would name the choices of another field, or none."""
    assert (
        values_at(SelectionSpec, "$.difficulty[0]")
        == values_at(SelectionSpec, "$.difficulty[...]")
        == (1, 2, 3)
    )
    assert values_at(TaskSpec, "$.mcp_servers[...].transport") == ("http", "sse")
    for place in ("$.id", "$.absent", "$", "$.limits.turns", "$.tags[0].x"):
        assert values_at(TaskSpec, place) == ()


@pytest.mark.parametrize("kind", ["protocol", "hermes", "codex", "acp"])
def test_only_a_command_takes_a_prompt(tmp_path: Path, kind: str) -> None:
    """If this failed, a person would believe that a field decides how the instruction goes in that nobody reads."""
    path = written(tmp_path, f"name: x\nkind: {kind}\ncommand: [sh]\nprompt: stdin\n")
    with pytest.raises(HarnessFileError, match=f"prompt: kind '{kind}' takes none"):
        load_harness(str(path))


@pytest.mark.parametrize("name", [*BUILTIN, "Oracle"])
def test_no_file_takes_the_name_of_a_built_in_harness(tmp_path: Path, name: str) -> None:
    """If this failed, the scores of any program would stand in tables as those of the reference solutions."""
    with pytest.raises(HarnessFileError, match=f"name '{name}': .* built-in harness"):
        load_harness(str(written(tmp_path, f"name: {name}\nkind: command\ncommand: ls\n")))


@pytest.mark.parametrize("kind", ["command", "protocol", "acp", "codex", "hermes", "sdk"])
def test_python_is_filled_in_every_version_command(tmp_path: Path, kind: str) -> None:
    """If this failed, the version of an agent would be asked of a program called `{python}`."""
    (tmp_path / "agent.py").write_text("")
    path = written(
        tmp_path, f"name: x\nkind: {kind}\ncommand: [sh, agent.py]\n"
        "version_command: ['{python}', agent.py, '--version={python}']\n"
    )  # fmt: skip
    script = str(tmp_path / "agent.py")
    found = load_harness(str(path))
    assert found.version_argv == [sys.executable, script, f"--version={sys.executable}"]
    assert not [line for line in found.problems() if "version_command" in line]


def test_a_version_command_knows_nothing_of_a_trial(tmp_path: Path) -> None:
    """If this failed, `{workspace}` would be given to the program as it stands there."""
    path = written(
        tmp_path, "name: x\nkind: command\ncommand: sh\nversion_command: [sh, '{workspace}', '{pyton}']\n"
    )
    told = load_harness(str(path)).problems()
    assert (
        "version_command: {workspace} is known only in a trial; of placeholders it has {python} alone" in told
    )
    assert any("{pyton}; did you mean {python}?" in line for line in told)


def test_a_plain_harness_file_is_still_one(tmp_path: Path) -> None:
    """If this failed, no harness file could be read any more."""
    path = written(tmp_path, "name: nopper\nkind: command\ncommand: ls\nprompt: stdin\nterminal: pty\n")
    assert read_harness_file(path) == HarnessFile(
        name="nopper", kind="command", command="ls", prompt="stdin", terminal="pty"
    )
