"""Reads what `hermes chat -Q` prints: the answer on stdout, the session's id as the last of stderr.

Instead of an answer stdout may hold why there is none, in words of Hermes' own: with exit code 1 after a failed
model call, with exit code 0 after its last turn, a stream that broke off and the like. Where the gateway saw the
calls, its record of them goes before what these words say.
"""

from __future__ import annotations

import re

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import MessageRecorded, NoteRecorded
from harnesses.base import Conclusion
from harnesses.command import CommandInterpreter
from harnesses.failures import outcome_of_failure, reason_of

#: The end of stderr is enough: the session's id is its last line.
_TAIL_BYTES = 64 * 1024
_SESSION = re.compile(r"^session_id: (\S{1,128})\s*\n", re.MULTILINE)
_ERROR = re.compile(r"^Error: (.+)$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
#: A box with the model's reasoning, from its frame's first line to its last.
_BOX = re.compile(r"^┌─ Reasoning ─*┐\n.*?^└─*┘\n", re.MULTILINE | re.DOTALL)
#: What it prints when its turns are used up; a summary that it asks for follows.
_LAST_TURN = re.compile(
    r"^⚠️?\s+Reached maximum iterations \((\d+)\)\. Requesting summary\.\.\.\n?", re.MULTILINE
)
#: Why there is no answer; where there is some text, it stands behind that.
_NO_REPLY = re.compile(r"(?:^|\n\n)⚠️? No reply: (.+)\Z", re.DOTALL)
_NO_REPLY_MEANS = (
    (re.compile(r"iteration limit|budget was exhausted"), "turn_limit"),
    (re.compile(r"API retries were exhausted|streaming stopped early|interrupted mid-call"), "provider_error"),
)  # fmt: skip
#: What stands in the place of an answer that could not be had, at its very beginning.
_FAILED_CALL = re.compile(
    r"(?:API call failed after \d+ retries|Invalid API response after \d+ retries|HTTP [45]\d\d|"
    r"Billing or credits exhausted|Stream repeatedly dropped mid tool-call)\b"
)


class HermesInterpreter:
    """One process of `hermes chat -Q`. It tells neither messages nor tools: those are in its session, which is kept,
    and in the gateway's record."""

    def __init__(self) -> None:
        self._output = CommandInterpreter()
        self._errors = bytearray()
        self._session: str | None = None

    @property
    def ended(self) -> bool:
        """Whether it has printed its last line, after which it only tidies up."""
        return self._session is not None

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """Keep what belongs to the answer, and the end of stderr."""
        if stream != "stderr":
            return self._output.feed(stream, chunk)
        self._errors = (self._errors + chunk)[-_TAIL_BYTES:]
        found = _SESSION.findall(self._errors.decode("utf-8", "replace"))
        self._session = found[-1] if found else self._session
        return []

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """The answer without what surrounds it, and why there is none."""
        _, said = self._output.finish(exit_code, exit_signal)
        printed, turns = without_frames(said.final_text or "")
        errors = self._errors.decode("utf-8", "replace")
        flags = [flag for flag in said.flags if flag != "no_output"]
        events: list[EventData] = []
        if self._session is not None:
            details = {"session": self._session}
            text = f"Hermes' session {self._session}"
            events.append(NoteRecorded(level="info", code="harness_session", text=text, details=details))
        text, outcome, reason = _read(printed, turns)
        if outcome is None:
            outcome, reason = self._judge(text, errors, exit_code, exit_signal)
            text = "" if outcome is not None else text
        if text:
            events.append(MessageRecorded(role="assistant", text=text, final=True))
        elif outcome is None:
            flags.append("no_output")
        return events, Conclusion(outcome=outcome, reason=reason, final_text=text or None, flags=flags)

    def _judge(
        self, text: str, errors: str, exit_code: int | None, exit_signal: int | None
    ) -> tuple[str | None, str | None]:
        """Outcome and reason where it failed: by its exit code only together with what it says."""
        if exit_code or _FAILED_CALL.match(text):
            told = _ERROR.findall(errors)
            complaint = told[-1] if told else text or _last_line(errors)
            outcome = outcome_of_failure(complaint)
            if outcome == "harness_error" and _FAILED_CALL.match(complaint) and "HTTP 4" not in complaint:
                outcome = "provider_error"
            return outcome, reason_of(complaint) or f"it exited with {exit_code} and said nothing"
        if exit_signal is not None:
            return "harness_error", f"it was ended by signal {exit_signal}"
        if exit_code == 0 and not text and not self.ended:
            return "unknown", "it printed neither an answer nor the id of its session"
        return None, None


def without_frames(printed: str) -> tuple[str, int | None]:
    """(what stdout holds without colours and boxes of reasoning; the number of turns after which it had to stop)."""
    text = _BOX.sub("", _COLOUR.sub("", printed).replace("\r\n", "\n"))
    last = _LAST_TURN.search(text)
    text = _LAST_TURN.sub("", text)
    return text.strip("\n"), int(last[1]) if last else None


def _read(printed: str, turns: int | None) -> tuple[str, str | None, str | None]:
    """(the answer, outcome, reason): the latter two where Hermes says itself why it ended."""
    no_reply = _NO_REPLY.search(printed)
    text = printed[: no_reply.start()] if no_reply else printed
    outcome = reason = None
    if no_reply:
        reason = reason_of(no_reply[1])
        outcome = next((name for words, name in _NO_REPLY_MEANS if words.search(no_reply[1])), None)
    if turns is not None:
        outcome, reason = "turn_limit", f"Hermes stopped after {turns} turns"
    return text, outcome, reason if outcome else None


def _last_line(text: str) -> str:
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.startswith("session_id:")
    ]
    return lines[-1] if lines else ""
