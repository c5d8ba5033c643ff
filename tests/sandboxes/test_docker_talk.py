"""A program in a container that is talked to while it runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.hemra.test_sandbox_talk import ECHO, Talk
from tests.sandboxes.docker_trials import Ran, python, tried

pytestmark = pytest.mark.usefixtures("docker_engine")


def talked(root: Path, program: list[str], talk: Talk, **options: object) -> Ran:
    """The program run to its end, talked to."""
    return asyncio.run(tried(root, program, stdin=talk, on_output=talk.on_output, **options))


def test_what_is_said_depends_on_what_was_heard(tmp_path: Path) -> None:
    """A program that is asked a second question only after its first answer would never be asked."""
    talk = Talk(b"again\n", b"x" * 300_000 + b"\n")
    ran = talked(tmp_path, python(ECHO), talk, wall_seconds=60)
    assert talk.heard == b"heard hello\nheard again\nheard " + b"x" * 300_000 + b"\nover\n"
    assert (ran.result.exit_code, ran.result.flags, talk.closed) == (0, [], True)


def test_its_time_is_up_and_it_is_asked_to_stop_first(tmp_path: Path) -> None:
    """An agent that is killed without a word cannot tell that its turn was broken off."""
    code = (
        "import sys\nfor line in sys.stdin:\n    if line == 'stop\\n': print('stopped', flush=True); break\n"
    )
    talk = Talk(last=b"stop\n")
    ran = talked(tmp_path, python(code), talk, wall_seconds=2)
    assert talk.heard == b"stopped\n"
    assert ran.result.limit is not None


def test_on_a_terminal_it_is_refused_by_name(tmp_path: Path) -> None:
    """It would be started with an input that nobody writes to, and wait there."""
    ran = talked(tmp_path, python(ECHO), Talk(), pty=(80, 24))
    assert not ran.result.started
    assert "use pipes" in str(ran.result.error)
