"""MCP servers that tasks bring, seen from a run: who can take them, what that needs, what their tools are called."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hemra.datasets.mcp import PYTHON
from hemra.datasets.toolnames import ToolNames

if TYPE_CHECKING:
    from harnesses.base import Harness
    from hemra.datasets.model import Task

_FEW = 3


def servers_of(task: Task, harness: Harness) -> list[str]:
    """Names of the servers of a trial: those of the task, then those that the harness file gives its agent."""
    return list(dict.fromkeys([*task.spec.mcp_servers, *harness.traits.mcp_names]))


def names_of(task: Task, harness: Harness) -> ToolNames:
    """What the tools of a trial are called."""
    return ToolNames(servers_of(task, harness))


def programs_of(task: Task) -> list[str]:
    """Programs that the task's servers are started with, but for those that the task brings itself and Python, which
    is there."""
    commands = [each.command for each in task.spec.mcp_servers.values() if each.command is not None]
    # A relative path is one of the workspace's, whatever has that name where HEMRA was started.
    return [
        command for command in dict.fromkeys(commands)
        if command not in PYTHON and ("/" not in command or command.startswith("/"))
    ]  # fmt: skip


def problems(harnesses: Sequence[Harness], tasks: Sequence[Task], *, elsewhere: bool = False) -> list[str]:
    """What keeps harnesses and the servers of tasks apart, one line each. `elsewhere`: programs come from an image.

    A harness that takes no such server could not do such a task whatever its model is worth: that is no failure to be
    measured.
    """
    bringing = [task for task in tasks if task.spec.mcp_servers]
    found = [line for harness in harnesses for line in _of_harness(harness, bringing)]
    for task in bringing if not elsewhere else ():
        for program in programs_of(task):
            if shutil.which(program) is None:
                found.append(
                    f"task {task.id}: mcp_servers: program {program!r} is not on PATH; install it, or leave it out"
                )
    return found


def _of_harness(harness: Harness, tasks: Sequence[Task]) -> list[str]:
    """Why it cannot be run on some of the tasks, all of which bring servers."""
    found = [
        f"harness {harness.name}: settings.mcp_servers.{name}: task {task.id} brings a server of this name; "
        "rename the harness's"
        for task in tasks
        for name in harness.traits.mcp_names
        if name in task.spec.mcp_servers
    ]
    taken = harness.traits.mcp_transports
    if taken is None:
        return found
    missing = {
        task.id: [each.over for each in task.spec.mcp_servers.values() if each.over not in taken]
        for task in tasks
    }
    unable = [task for task, kinds in missing.items() if kinds]
    if unable:
        kinds = " or ".join(dict.fromkeys(kind for kinds in missing.values() for kind in kinds))
        few = ", ".join(unable[:_FEW]) + (f" and {len(unable) - _FEW} more" if len(unable) > _FEW else "")
        found.append(
            f"harness {harness.name} takes no MCP server over {kinds}, and these tasks bring one: {few}; run it on "
            "other tasks (--task), apart from harnesses that do"
        )
    return found
