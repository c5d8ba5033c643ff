"""MCP servers of tasks in containers: the same tools as everywhere, and no other port of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import command_in
from tests.hemra.mcp_tasks import EXAMPLES, listening, outcomes, two_tasks
from tools.engine.engine import IMAGE

pytestmark = pytest.mark.usefixtures("docker_engine")


def test_a_server_of_this_machine_is_reached_where_it_is_declared(tmp_path: Path) -> None:
    """Either the declared server is out of a container's reach, or everything on loopback is within it."""
    with listening() as port:
        ended = outcomes(command_in(tmp_path), two_tasks(tmp_path / "tasks", port), f"docker:{IMAGE}")
    assert ended == {"demo/one": ("completed", "A-1: 77"), "demo/two": ("completed", "closed")}


def test_servers_in_the_container_are_started_and_reached(tmp_path: Path) -> None:
    """A server would be started with this machine's Python, or its files and its world be out of reach."""
    ended = outcomes(command_in(tmp_path), EXAMPLES, f"docker:{IMAGE}")
    assert set(ended.values()) == {("completed", "looked up, written and answered")}, ended
