"""Command lines of `hemra`, run in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hemra.cli import main as program

#: Runs one command line; returns exit code, stdout and stderr.
Run = Callable[..., tuple[int, str, str]]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """What runs them, with what they print taken away."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = program.main(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return run
