"""Asking a harness for its version."""

from __future__ import annotations

import sys
import time

import pytest

from hemra.engine.version import ask_version


def python(code: str) -> list[str]:
    """A program that runs `code`."""
    return [sys.executable, "-I", "-S", "-c", code]


def test_the_first_line_is_the_version() -> None:
    """Banners and blank lines would become the version."""
    assert ask_version(python(r"print('\n  tool 1.2.3 \nmore')")).version == "tool 1.2.3"
    assert ask_version(python("import sys; sys.stderr.write('err 2')")).version == "err 2"


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
