"""What a task bounds and no sandbox sees: the turns a harness takes and the tools it calls, as it tells them.

Turns are held: the harness is stopped at the first sign of a turn too many. Where the model gateway tells the
conversation it holds them, by its own count: of the messages that it records some are of side calls, of answers that
broke off, or of a history that the harness brought along. Tools are not held (a call is told when it is made, not
before), but calls outside the task's list are flagged. Tokens are counted and flagged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from eventlog.schemas.conversation import MessageRecorded, ToolCalled
from eventlog.schemas.trials import LimitFired
from hemra.datasets.toolnames import ToolNames, is_of_server

if TYPE_CHECKING:
    from eventlog.schemas.base import EventData
    from eventlog.schemas.runs import Limits
    from hemra.datasets.model import Task

#: A call of a tool that the task forbids, and of one that is not among those it allows.
FORBIDDEN, NOT_ALLOWED = "forbidden_tool_called", "other_tool_called"
#: The harness has none of the tools that the task allows: a failure says what it lacks, not how good its model is.
NONE_ALLOWED = "no_allowed_tool"


class Conduct:
    """Hears everything that one harness tells, in order. `names`: what its tools are called; `has`: those it has of its
    own, where it says, as tasks speak of them; `counted`: its turns by the gateway's count, where that tells what is
    said."""

    def __init__(
        self,
        task: Task,
        limits: Limits,
        names: ToolNames,
        has: Collection[str] = (),
        counted: Callable[[], int | None] | None = None,
    ) -> None:
        self._canonical = names.canonical
        self._forbidden = {self._canonical(tool) for tool in task.spec.forbidden_tools}
        self._allowed = {self._canonical(tool) for tool in task.spec.allowed_tools}
        self._most = limits.turns
        self._counted = counted
        self._messages = 0
        self._turn: int | None = None
        lacking = (
            has and self._allowed and not any(tool in has or is_of_server(tool) for tool in self._allowed)
        )
        self.flags: list[str] = [NONE_ALLOWED] if lacking else []
        self.over = asyncio.Event()

    @property
    def turns(self) -> int | None:
        """Assistant turns so far: by the gateway's count, else the highest that a tool call named, else how many
        messages there were; null when nobody told any."""
        if self._counted is not None:
            return self._counted()
        return self._turn if self._turn is not None else self._messages or None

    @property
    def fired(self) -> LimitFired | None:
        """The limit of turns, where more were taken."""
        if self._most is None or self.turns is None or self.turns <= self._most:
            return None
        return LimitFired(name="turns", value=self._most, measured=self.turns, unit="turns")

    def take(self, event: EventData) -> None:
        """Hear one event."""
        if isinstance(event, ToolCalled):
            self._called(event)
        elif isinstance(event, MessageRecorded) and event.role == "assistant" and not event.final:
            self._messages += 1
        if self.fired is not None:
            self.over.set()

    def _called(self, event: ToolCalled) -> None:
        if event.turn is not None:
            self._turn = max(self._turn or 0, event.turn)
        tool = self._canonical(event.name)
        if tool in self._forbidden:
            self._flag(FORBIDDEN)
        elif self._allowed and tool not in self._allowed:
            self._flag(NOT_ALLOWED)

    def _flag(self, name: str) -> None:
        if name not in self.flags:
            self.flags.append(name)
