"""Every test of this folder runs in each sandbox that isolates, and checks that the machine is as it was."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes import machine
from tests.sandboxes.escape.prison import RUN, Prison

ISOLATING = ("bwrap", "docker")


def sandbox_ref(kind: str, request: pytest.FixtureRequest) -> str:
    """The sandbox to ask for; skips by name where it cannot be had."""
    if kind == "docker":
        request.getfixturevalue("docker_engine")
        from tools.engine.engine import IMAGE

        return f"docker:{IMAGE}"
    if kind == "bwrap" and shutil.which("bwrap") is None:
        pytest.skip("needs bwrap, which is not installed")
    return kind


@pytest.fixture(params=ISOLATING)
def prison(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Prison]:
    """A sandbox, and things that its trials must not get at. At the end they are as they were."""
    made = Prison(sandbox_ref(request.param, request), tmp_path)
    made.build()
    before = machine.state(RUN, made.scratch)
    yield made
    assert machine.state(RUN, made.scratch) == before
    for file in (made.store / "log" / "events", made.task / "verifier.py", made.outside):
        assert file.read_text(encoding="utf-8") == made.secret
