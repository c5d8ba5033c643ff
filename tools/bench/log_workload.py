"""Seeded events as a run makes them: messages, tool calls, telemetry, terminal output of several trials."""

from __future__ import annotations

import random
from collections.abc import Iterator

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import (
    MessageRecorded,
    TelemetrySampled,
    TerminalOutput,
    ToolCalled,
    ToolReturned,
)

_TEXT = (
    "the file build error test function returns value expected module import path line result status server",
    "config cache token model request response agent command output check failed passed retry timeout memory",
)
_WORDS = " ".join(_TEXT).split()
_COMMANDS = (
    "pytest -q tests/",
    "ls -la src/",
    "cat README.md",
    "git diff HEAD~1",
    "rg -n TODO .",
    "make build",
)


class Workload:
    """An endless, reproducible sequence of (event, trial)."""

    def __init__(self, seed: int, trials: int = 8) -> None:
        self._random = random.Random(seed)
        self._trials = [f"{n:04d}" for n in range(1, trials + 1)]
        self._call = 0
        self._offset = dict.fromkeys(self._trials, 0)
        self._rss = dict.fromkeys(self._trials, 90_000_000)
        self._cpu = dict.fromkeys(self._trials, 0)

    def events(self, count: int) -> Iterator[tuple[EventData, str]]:
        """The next `count` events: 45 % terminal output, 25 % telemetry, 20 % tool calls, 10 % messages."""
        while count > 0:
            trial = self._random.choice(self._trials)
            kind = self._random.random()
            if kind < 0.45:
                made = [self._output(trial)]
            elif kind < 0.70:
                made = [self._sample(trial)]
            elif kind < 0.80:
                made = self._tool()
            else:
                made = [self._message()] if self._random.random() < 0.5 else [self._output(trial)]
            for event in made[:count]:
                yield event, trial
            count -= len(made)

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(_WORDS, k=words))

    def _output(self, trial: str) -> EventData:
        lines = self._random.randint(1, 6)
        rows = [
            f"\x1b[32m{self._text(3)}\x1b[0m {self._random.randint(0, 9999):>6} {self._text(4)}"
            for _ in range(lines)
        ]
        data = "\r\n".join(rows) + "\r\n"
        offset = self._offset[trial]
        self._offset[trial] += len(data)
        return TerminalOutput(terminal="main", stream="stdout", offset=offset, data=data)

    def _sample(self, trial: str) -> EventData:
        self._rss[trial] += self._random.randint(-400_000, 500_000)
        self._cpu[trial] += self._random.randint(0, 200_000_000)
        return TelemetrySampled(
            processes=self._random.randint(1, 4), rss_bytes=self._rss[trial], cpu_ns=self._cpu[trial]
        )

    def _tool(self) -> list[EventData]:
        self._call += 1
        call = f"call_{self._random.getrandbits(64):016x}"
        arguments = {
            "command": self._random.choice(_COMMANDS) + self._text(1),
            "timeout": self._random.randint(1, 120),
        }
        result = {
            "exit_code": self._random.choice((0, 0, 0, 1)),
            "stdout": self._text(self._random.randint(5, 120)),
        }
        return [
            ToolCalled(call=call, name="terminal", arguments=arguments, turn=self._call),
            ToolReturned(call=call, name="terminal", ok=result["exit_code"] == 0, result=result),
        ]

    def _message(self) -> EventData:
        return MessageRecorded(
            role=self._random.choice(("assistant", "user")),
            text=self._text(self._random.randint(20, 200)),
            reasoning=self._text(self._random.randint(0, 80)) or None,
        )
