"""The documentation says what the program does."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from hemra.cli.lazy import Command
from hemra.cli.main import cli
from hemra.cli.table import COMMANDS
from tools import docs_gen

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def _commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that is no group, by its full name."""
    stack: list[tuple[str, click.Command]] = [("hemra", cli)]
    while stack:
        path, command = stack.pop()
        if not isinstance(command, click.Group):
            yield path, command
            continue
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            stack.append((f"{path} {name}", child))


ALL = dict(_commands())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_static_help_is_the_commands_own(name: str) -> None:
    """`hemra --help` reads a table; if it drifts, it promises what the command does not do."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    first = (command.help or "").strip().splitlines()[0]
    assert first == COMMANDS[name].help


@pytest.mark.parametrize("page", docs_gen.PAGES)
def test_generated_pages_are_in_step_with_the_code(page: str) -> None:
    """A stale reference page is worse than none."""
    assert (ROOT / page).read_text(encoding="utf-8") == docs_gen.PAGES[page](), "run `make docs`"


@pytest.mark.parametrize("path", ALL)
def test_every_command_explains_itself(path: str) -> None:
    """A command without a sentence, an example and a word on each option sends its user to the code."""
    command = ALL[path]
    assert command.help
    assert isinstance(command, Command)
    assert command.examples, "an example first"
    options = [p for p in command.params if isinstance(p, click.Option)]
    assert [o.name for o in options if not o.help] == []


@pytest.mark.parametrize("path", ALL)
def test_examples_in_the_help_can_be_parsed(path: str) -> None:
    """An example that the program refuses teaches what does not work."""
    command = ALL[path]
    assert isinstance(command, Command)
    known = {option for p in command.params for option in p.opts}
    for line, _ in command.examples:
        assert path in line
        own = line[line.index(path) + len(path) :].split("|")[0].split(")")[0]
        used = set(re.findall(r"(?<=\s)(--?[a-z][a-z-]*)", own))
        assert used <= known, f"{line}: {used - known}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """A dead link in the documentation is found by the reader who needs it."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    local = [link for link in links if "://" not in link and not link.startswith("mailto:")]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_every_dependency_is_explained() -> None:
    """A dependency that nobody can justify is one that nobody dares to remove."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    names = {re.split(r"[<>=~ \[]", requirement)[0] for requirement in wanted}
    page = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    assert sorted(name for name in names if f"`{name}`" not in page) == []
