"""Asking a harness for its version."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from hemra.installing.version import ask_version


def python(code: str) -> list[str]:
    """A program that runs `code`."""
    return [sys.executable, "-I", "-S", "-c", code]


def test_the_first_line_is_the_version() -> None:
    """Banners and blank lines would become the version."""
    assert ask_version(python(r"print('\n  tool 1.2.3 \nmore')")).version == "tool 1.2.3"
    assert ask_version(python("import sys; sys.stderr.write('err 2')")).version == "err 2"


def test_what_it_complains_of_is_not_its_version() -> None:
    """A program that warns before it answers could not be installed, or every run would record its warning."""
    warns = "import sys; print('WARNING: no folder for 0.1', file=sys.stderr, flush=True); print('tool-cli 0.171.0')"
    assert ask_version(python(warns)).version == "tool-cli 0.171.0"
    fails = "import sys; print('tool-cli'); sys.exit('it needs Node 22')"
    assert (ask_version(python(fails)).problem or "").endswith("exit code 1: it needs Node 22")


def test_a_program_fills_no_home_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan would leave the folders of every agent that it names in the user's home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    fills = (
        "import os; [os.makedirs(os.environ[n] + '/agent') for n in ('HOME', 'XDG_CONFIG_HOME')]; print('v1')"
    )
    assert ask_version(python(fills)).version == "v1"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("raise SystemExit(3)", "exit code 3"),
        ("pass", "printed nothing"),
        ("import time; time.sleep(60)", "did not end within 1 s"),
        ("import os; os.close(1); os.close(2); import time; time.sleep(60)", "did not end within 1 s"),
    ],
)
def test_no_version_says_why(code: str, problem: str) -> None:
    """A version command that fails or hangs would stop the plan, or be recorded as a version."""
    answer = ask_version(python(code), seconds=1)
    assert answer.version is None
    assert problem in (answer.problem or "")


def test_a_missing_program_is_named() -> None:
    """The plan would end in a traceback."""
    answer = ask_version(["/no/such/program", "--version"])
    assert answer.version is None
    assert "/no/such/program --version" in (answer.problem or "")


def test_endless_output_and_children_are_ended() -> None:
    """Planning would hang on a harness that leaves something running or prints for ever."""
    began = time.monotonic()
    assert ask_version(python("while True: print('v9 ' * 100)"), seconds=20).version is not None
    child = "import subprocess; subprocess.Popen(['sleep', '60']); print('v1', flush=True)"
    assert ask_version(python(child), seconds=20).version == "v1"
    assert time.monotonic() - began < 15
