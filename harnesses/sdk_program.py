"""The kind `sdk`: a program of one's own that asks a model through a vendor's library, started with the gateway's
address where those libraries look for it.

It gets its instruction as a `command` does. What it prints is its answer, or lines of the harness protocol where the
first one says hello; messages and tools are the gateway's to tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from eventlog.schemas.base import EventData
from harnesses.base import (
    Conclusion,
    Dialect,
    GatewayAddress,
    HarnessFile,
    HarnessTraits,
    Interpreter,
    Launch,
    TrialInput,
)
from harnesses.command import CommandHarness, CommandInterpreter
from harnesses.errors import LaunchError
from harnesses.lines import LineSplitter, parse_object
from harnesses.protocol import ProtocolInterpreter

#: What the libraries would send elsewhere: traces, usage, looks for newer versions.
OUTSIDE_TRAFFIC_OFF = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
}
#: A first line of the protocol is shorter than this.
_FIRST_BYTES = 64 * 1024


def model_environment(gateway: GatewayAddress, model: str) -> dict[str, str]:
    """Where the libraries of the vendors look for endpoint, key and model. The key is the trial's token."""
    return {
        "OPENAI_BASE_URL": gateway.openai_base,
        "OPENAI_API_BASE": gateway.openai_base,
        "OPENAI_API_KEY": gateway.token,
        "ANTHROPIC_BASE_URL": gateway.root,
        "ANTHROPIC_API_KEY": gateway.token,
        "ANTHROPIC_AUTH_TOKEN": gateway.token,
        "ANTHROPIC_MODEL": model,
        "HEMRA_MODEL": model,
    }


class SdkHarness(CommandHarness):
    """A program on a vendor's library."""

    dialects: tuple[Dialect, ...] = ("chat", "responses", "messages")

    def __init__(self, file: HarnessFile, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(file, folder, environment)
        wanted = file.upstream.dialect if file.upstream is not None else None
        self.dialect: Dialect = wanted or self.dialects[0]

    @property
    def traits(self) -> HarnessTraits:
        """As a `command`, and the dialect that its library speaks."""
        return replace(super().traits, dialect=self.dialect)

    def problems(self) -> list[str]:
        """Why it could not run on this machine as it is."""
        return [*super().problems(), *self.without_model()]

    def launch(self, trial: TrialInput) -> Launch:
        """Its command with the gateway's address. Raises LaunchError."""
        if trial.gateway is None:
            raise LaunchError(
                f"harness {self.name}: it has no 'upstream', so there is no model endpoint that it could be given"
            )
        model = trial.model or self.file.model
        if not model:
            raise LaunchError(f"harness {self.name}: it has no 'model'")
        launch = super().launch(trial)
        own = {"HEMRA_TURNS": str(trial.limits.turns)} if trial.limits.turns is not None else {}
        environment = OUTSIDE_TRAFFIC_OFF | model_environment(trial.gateway, model) | own
        return replace(launch, env=environment | launch.env)

    def interpreter(self) -> Interpreter:  # type: ignore[override]
        """A new reader for one process."""
        return SdkInterpreter()


class SdkInterpreter:
    """Takes stdout for the answer, or for the protocol where its first line says hello."""

    def __init__(self) -> None:
        self._first = bytearray()
        self._reader: Interpreter | None = None

    @property
    def ended(self) -> bool:
        """Whether it has said that it is done."""
        return self._reader is not None and self._reader.ended

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """The events that this chunk completes."""
        if stream != "stdout":
            return []
        if self._reader is not None:
            return self._reader.feed(stream, chunk)
        self._first += chunk
        if b"\n" not in self._first.lstrip() and len(self._first) < _FIRST_BYTES:
            return []
        return self._decide()

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """What the reader makes of the whole."""
        events = self._decide() if self._reader is None else []
        assert self._reader is not None
        rest, conclusion = self._reader.finish(exit_code, exit_signal)
        return events + rest, conclusion

    def _decide(self) -> list[EventData]:
        said = bytes(self._first)
        self._first.clear()
        self._reader = ProtocolInterpreter() if _says_hello(said) else CommandInterpreter()
        return self._reader.feed("stdout", said)


def _says_hello(said: bytes) -> bool:
    splitter = LineSplitter()
    lines = splitter.feed(said)
    rest = splitter.rest()
    first = next((line for line in [*lines, *([rest] if rest else [])] if line.content.strip()), None)
    told = parse_object(first) if first is not None else None
    return told is not None and told.get("type") == "hello"
