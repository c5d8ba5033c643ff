"""The kind `command`: any program. Instruction by argument, stdin or file; its stdout is the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import MessageRecorded
from harnesses import mcp, placeholders
from harnesses.base import Conclusion, HarnessFile, HarnessTraits, Launch, Prompt, TrialInput
from harnesses.described import DescribedHarness
from harnesses.errors import HarnessFileError, LaunchError
from harnesses.head_and_tail import HeadAndTail

INSTRUCTION_FILE = "instruction.md"
ARGUMENT_BYTES = 128 * 1024 - 1  # what Linux takes as one argument


class CommandHarness(DescribedHarness):
    """Any program that takes an instruction and prints an answer. It is told of a task's MCP servers by a file."""

    takes_prompt = True

    def __init__(self, file: HarnessFile, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(file, folder, environment)
        used = placeholders.names_in(self.words)
        self.prompt: Prompt = file.prompt or _prompt_of(used)
        if self.prompt == "file" and placeholders.INSTRUCTION_FILE not in used:
            raise HarnessFileError("prompt: file needs {instruction_file} in the command")
        if self.prompt != "argument" and placeholders.INSTRUCTION in used:
            raise HarnessFileError(f"prompt: {self.prompt} and {{instruction}} in the command: choose one")
        self._append = self.prompt == "argument" and placeholders.INSTRUCTION not in used
        self._write = placeholders.INSTRUCTION_FILE in used

    @property
    def traits(self) -> HarnessTraits:
        """What its file says of it; any server can stand in the file that it is given."""
        return replace(super().traits, mcp_transports=mcp.TRANSPORTS)

    def launch(self, trial: TrialInput) -> Launch:
        """Its command with the instruction where it belongs. Raises LaunchError."""
        argv = self.argv(trial) + ([trial.instruction] if self._append else [])
        self._check_arguments(argv)
        instruction = trial.instruction.encode("utf-8", "surrogatepass")
        files = {INSTRUCTION_FILE: instruction} if self._write else {}
        own: dict[str, str] = {}
        if trial.mcp_servers:
            files[placeholders.MCP_FILE] = mcp.config_file(trial.mcp_servers)
            own[mcp.CONFIG_VARIABLE] = f"{trial.harness_dir}/{placeholders.MCP_FILE}"
        return Launch(
            argv=argv,
            env=own | self.environment(trial),
            stdin=instruction if self.prompt == "stdin" else None,
            files=self.mcp_file(trial.mcp_servers) | files,
            prompt=self.prompt,
        )

    def _check_arguments(self, argv: list[str]) -> None:
        for word in argv:
            size = len(word.encode("utf-8", "surrogatepass"))
            if size > ARGUMENT_BYTES:
                raise LaunchError(
                    f"harness {self.name}: an argument of {size} bytes is more than the system takes; "
                    "use prompt: stdin or file"
                )
            if "\0" in word:
                raise LaunchError(
                    f"harness {self.name}: an argument cannot hold a NUL character; use prompt: stdin or file"
                )

    def interpreter(self) -> CommandInterpreter:
        """A new reader for one process."""
        return CommandInterpreter()


def _prompt_of(used: set[str]) -> Prompt:
    if placeholders.INSTRUCTION in used:
        return "argument"
    return "file" if placeholders.INSTRUCTION_FILE in used else "stdin"


class CommandInterpreter:
    """Takes all of stdout for the answer; keeps head and tail of a long one."""

    def __init__(self) -> None:
        self.answer = HeadAndTail("surrogateescape")
        self.ended = False

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """Keep what belongs to the answer; the events come at the end."""
        if stream == "stdout":
            self.answer.add(chunk)
        return []

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """The answer as the final message; bytes that are not UTF-8 are kept as lone surrogates."""
        flags = ["nonzero_exit"] if exit_code else []
        if not self.answer.size:
            return [], Conclusion(flags=[*flags, "no_output"])
        if self.answer.cut:
            flags.append("output_truncated")
        text = self.answer.text
        return [MessageRecorded(role="assistant", text=text, final=True)], Conclusion(
            final_text=text, flags=flags
        )
