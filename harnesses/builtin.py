"""The two harnesses that need no program of the user's: `oracle` does the task, `nop` does nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from eventlog.schemas.base import EventData
from harnesses.base import Conclusion, HarnessFile, HarnessTraits, Launch, Needs, Terminal, TrialInput
from harnesses.definition import definition_digest, describe
from harnesses.errors import HarnessFileError, LaunchError
from harnesses.mcp import TRANSPORTS
from harnesses.protocol import ProtocolInterpreter, solution_launch

SOLUTION = "solve.py"


class BuiltinHarness:
    """What `oracle` and `nop` have in common: there is nothing to be set and nothing that can be missing."""

    needs_solution = False
    records_tools = True
    enforces: frozenset[str] = frozenset()
    version_argv: list[str] | None = None
    terminal: Terminal = "pipes"
    traits = HarnessTraits(needs=Needs(programs=(sys.executable,), model=False), mcp_transports=TRANSPORTS)

    def __init__(self, file: HarnessFile, folder: Path) -> None:
        for field in ("command", "version_command", "prompt"):
            if getattr(file, field) is not None:
                raise HarnessFileError(f"kind {file.kind!r} takes no {field!r}")
        self.name = file.name
        self.kind = file.kind
        self.definition: dict[str, Any] = describe(file, None, None, folder)
        self.digest = definition_digest(self.definition)

    def problems(self) -> list[str]:
        """None: nothing has to be installed."""
        return []

    def secrets(self) -> dict[str, str]:
        """None: it gets nothing of the user's."""
        return {}


class OracleHarness(BuiltinHarness):
    """Carries out the task's own solution, a protocol program."""

    needs_solution = True

    def launch(self, trial: TrialInput) -> Launch:
        """The solution with the task on stdin. Raises LaunchError when the task has none."""
        if trial.solution_dir is None:
            raise LaunchError(
                f"task {trial.task} has no reference solution; leave it out or write {SOLUTION}"
            )
        return solution_launch(f"{trial.solution_dir}/{SOLUTION}", trial)

    def interpreter(self) -> ProtocolInterpreter:
        """A new reader for one process."""
        return ProtocolInterpreter()


class NopHarness(BuiltinHarness):
    """Does nothing and exits with 0. A task that it passes tests nothing."""

    def launch(self, trial: TrialInput) -> Launch:
        """The system's `true`, or a Python that does as little."""
        for program in ("/bin/true", "/usr/bin/true"):
            if os.access(program, os.X_OK):
                return Launch(argv=[program])
        return Launch(argv=[sys.executable, "-I", "-S", "-c", "pass"])

    def interpreter(self) -> NopInterpreter:
        """A reader that has nothing to read."""
        return NopInterpreter()


class NopInterpreter:
    """There is nothing to be understood, so nothing is missing either."""

    ended = False

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """No events."""
        return []

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """No opinion."""
        return [], Conclusion(flags=["nonzero_exit"] if exit_code else [])
