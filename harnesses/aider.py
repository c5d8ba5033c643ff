"""The kind `aider`: Aider with one message. It offers its model no tools: it edits files by what the answer says."""

from __future__ import annotations

import json
import re
from typing import ClassVar

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import MessageRecorded, NoteRecorded
from harnesses.agent import AgentHarness, Capabilities, Session
from harnesses.base import Conclusion, Launch
from harnesses.failures import outcome_of_failure, reason_of
from harnesses.instruction import is_plain_word
from harnesses.lines import Line, LineSplitter
from harnesses.litellm_errors import STATUS
from harnesses.recipe import InstallRecipe

RECIPE = InstallRecipe(
    name="aider",
    version="0.86.2",
    kind="pip",
    packages=("aider-chat==0.86.2",),
    program="bin/aider",
    version_argv=("bin/aider", "--version"),
    python=">=3.10,<3.13",
)
FOLDER = "aider"
MESSAGE_FILE = "aider-message.md"
SETTINGS_FILE = f"{FOLDER}/model.settings.yml"
#: For whatever model: without this a stream ends without its count of tokens.
_SETTINGS = json.dumps(
    [{"name": "aider/extra_params", "extra_params": {"stream_options": {"include_usage": True}}}]
).encode()
#: So much of an answer is kept; all of it is in the recorded output.
KEPT_BYTES = 256 * 1024


class AiderHarness(AgentHarness):
    """Aider, told where its model is by its environment."""

    recipe = RECIPE
    dialects = ("chat",)
    capabilities = Capabilities(session=True)
    #: The price list of its model library is fetched in spite of this; the sandbox has to stop that.
    outside_traffic_off: ClassVar = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}

    def start(self, session: Session) -> Launch:
        """`aider --message`: one message, one answer. What begins with / or ! would be a command of its own; an empty
        line before it makes it a message."""
        trial = session.trial
        commanding = trial.instruction[:1] in ("/", "!")
        message = f"\n{trial.instruction}" if commanding else trial.instruction
        spoken = is_plain_word(message)
        kept = {name: f"{trial.home}/{FOLDER}/{name}.md" for name in ("llm", "chat", "input")}
        told = ["--message", message] if spoken else ["--message-file", f"{trial.harness_dir}/{MESSAGE_FILE}"]
        return Launch(
            argv=[*session.program, "--model", f"openai/{session.model}", *told,
                  "--yes-always", "--no-git", "--no-check-update", "--no-show-model-warnings", "--no-analytics",
                  "--no-show-release-notes", "--edit-format", "whole",
                  "--model-settings-file", f"{trial.home}/{SETTINGS_FILE}",
                  "--llm-history-file", kept["llm"], "--chat-history-file", kept["chat"],
                  "--input-history-file", kept["input"]],
            env={"OPENAI_API_KEY": session.gateway.token, "OPENAI_API_BASE": session.gateway.openai_base},
            files={} if spoken else {MESSAGE_FILE: message.encode("utf-8", "surrogatepass")},
            # Its histories need a folder that is there.
            home_files={f"{FOLDER}/input.md": b"", SETTINGS_FILE: _SETTINGS},
            keep_home=(f"{FOLDER}/llm.md", f"{FOLDER}/chat.md"),
            prompt="argument" if spoken else "file",
        )  # fmt: skip

    def interpreter(self) -> AiderInterpreter:
        """A new reader for one process."""
        return AiderInterpreter()


_BANNER = re.compile(r"Aider v(\S+)")
#: The last line that it prints of itself before the answer.
_BEGIN = re.compile(r"Repo-map: ")
#: Its count of tokens, which it may have estimated: an answer was there.
_TOKENS = re.compile(r"Tokens: .* sent, .* received\.")
_FAILURE = re.compile(r"litellm\.(?:exceptions\.)?(\w*(?:Error|Exception|Timeout))\b")
_RETRY = re.compile(r"Retrying in [\d.]+ seconds")
_EDIT = re.compile(r"Applied edit to (.+)")


class AiderInterpreter:
    """Reads the text that one process prints. Its exit code is 0 whatever its endpoint said; usage is not taken from
    it, because it may be estimated."""

    ended = False

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._recognised = 0
        self._printed = False
        self._version: str | None = None
        self._in_answer = False
        self._answer: list[str] = []
        self._size = 0
        self._final: str | None = None
        self._failure: str | None = None
        self._status: int | None = None
        self._edited: list[str] = []
        self._retries = 0
        self._flags: list[str] = []

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """The events of the lines that this chunk completes."""
        if stream != "stdout":
            return []
        return [event for line in self._lines.feed(chunk) for event in self._read_line(line)]

    def _read_line(self, line: Line) -> list[EventData]:
        if not line.whole and self._in_answer:
            self._flag("output_truncated")
        return self._read(line.text.rstrip("\r"))

    def _flag(self, name: str) -> None:
        if name not in self._flags:
            self._flags.append(name)

    def _read(self, line: str) -> list[EventData]:
        self._printed = self._printed or bool(line.strip())
        if self._version is None:
            found = _BANNER.match(line)
            if found is not None:
                self._recognised += 1
                self._version = found[1]
                name = f"aider {found[1]}"
                return [NoteRecorded(level="info", code="harness_hello", text=name)]
            return []
        if (failure := _FAILURE.match(line)) is not None:
            self._recognised += 1
            self._failure, self._status = line, STATUS.get(failure[1])
            return [NoteRecorded(level="warning", code="harness_error", text=reason_of(line))]
        if _RETRY.match(line):
            self._recognised += 1
            self._retries += 1
            return [
                NoteRecorded(
                    level="warning", code="model_retried", text=line, details={"number": self._retries}
                )
            ]
        return self._read_answer(line)

    def _read_answer(self, line: str) -> list[EventData]:
        if _BEGIN.match(line):
            self._in_answer = True
        elif _TOKENS.match(line):
            self._recognised += 1
            self._final, self._failure = "\n".join(self._answer).strip(), None
            self._answer, self._size = [], 0
            return [NoteRecorded(level="info", code="aider_tokens", text=line)]
        elif (edit := _EDIT.match(line)) is not None:
            self._recognised += 1
            self._edited.append(edit[1])
            self._answer, self._size = [], 0
        elif self._in_answer:
            self._size += len(line) + 1
            if self._size <= KEPT_BYTES:
                self._answer.append(line)
            else:
                self._flag("output_truncated")
        return []

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """What to make of the whole: an answer with its count of tokens, or the last error."""
        rest = self._lines.rest()
        events = self._read_line(rest) if rest is not None else []
        unrecognised = int(self._printed and not self._recognised)
        outcome, reason = self._judge(exit_code, exit_signal, unrecognised)
        if self._retries:
            self._flag("model_retried")
        if exit_code:
            self._flag("nonzero_exit")
        if self._failure is not None:
            self._final = None
            if exit_code == 0:
                text = "it exited with 0 although it had told that it could not go on"
                events.append(NoteRecorded(level="warning", code="exit_contradicts", text=text))
                self._flag("exit_contradicts")
        if self._final:
            events.append(MessageRecorded(role="assistant", text=self._final, final=True))
        else:
            self._flag("no_output")
        if self._edited:
            text = f"it edited {', '.join(dict.fromkeys(self._edited))}"
            events.append(NoteRecorded(level="info", code="aider_edits", text=text))
        return events, Conclusion(
            outcome=outcome, reason=reason, final_text=self._final or None,
            recognised=self._recognised, unrecognised=unrecognised, flags=self._flags,
        )  # fmt: skip

    def _judge(
        self, exit_code: int | None, exit_signal: int | None, unrecognised: int
    ) -> tuple[str | None, str | None]:
        if self._failure is not None:
            return outcome_of_failure(self._failure, self._status), reason_of(self._failure)
        if self._final is not None or (exit_code is None and exit_signal is None):
            return None, None
        if exit_signal is not None:
            return "harness_error", f"it was ended by signal {exit_signal} before it had an answer"
        if exit_code:
            return "harness_error", f"it exited with {exit_code} before it had an answer"
        if self._recognised:
            self._flag("incomplete_stream")
            return None, None
        if unrecognised:
            self._flag("adapter_mismatch")
            return "unknown", "nothing that it printed is of Aider as this adapter knows it"
        return "unknown", "it printed nothing"
