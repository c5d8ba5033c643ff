"""What Claude Code prints as `stream-json`, and the session file that it leaves: the same messages a second time."""

from __future__ import annotations

import re
from typing import Any

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import NoteRecorded
from harnesses.base import Conclusion
from harnesses.jsonl import JsonlInterpreter, mapping, number, objects, text_of, total
from harnesses.lines import LineSplitter, parse_object
from harnesses.protocol import identity

#: What it says when its model's answer was cut at the limit of its length, and again when it had it go on.
_CUT = re.compile(r"exceeded the \d+ output token maximum")


class ClaudeInterpreter(JsonlInterpreter):
    """Reads the events of one process. `result` is its last word; whether that is a failure says `is_error`, for
    `subtype` is `success` then too."""

    def __init__(self) -> None:
        super().__init__(
            {
                "system": self._read_system,
                "assistant": self._read_assistant,
                "user": self._read_user,
                "result": self._read_result,
            }
        )
        self._answers: dict[
            str, dict[str, Any]
        ] = {}  # id of an answer -> its usage as it was told at its start
        self._status: int | None = None
        self._own_prices = False
        self._session: list[tuple[str, str]] = []  # (id of an answer, text) of the session file

    def _read_system(self, told: dict[str, Any]) -> list[EventData]:
        kind = told.get("subtype")
        if kind == "api_retry":
            self._status = _status(told.get("error_status"))
            return self.retried(f"{told.get('error')} (HTTP {told.get('error_status')})")
        if kind != "init":
            return []
        self._own_prices = told.get("served_by_anthropic") is not False
        details = {name: told.get(name) for name in ("claude_code_version", "model", "tools", "mcp_servers")}
        name = f"claude-code {text_of(told.get('claude_code_version'))}".strip()
        return [NoteRecorded(level="info", code="harness_hello", text=name, details=self.shallow(details))]

    def _read_assistant(self, told: dict[str, Any]) -> list[EventData]:
        """One event a block; the blocks of one answer share its id."""
        message = mapping(told.get("message"))
        blocks = objects(message.get("content"))
        if message.get("model") == "<synthetic>" or told.get("is_api_error_message") is True:
            # Its own words in the place of an answer that did not come.
            said = "".join(text_of(block.get("text")) for block in blocks)
            self.complaint = said or self.complaint
            self._status = _status(told.get("api_error_status")) or self._status
            return self.warned("harness_error", said) if said else []
        aside = told.get("parent_tool_use_id") is not None
        answer = identity(message.get("id")) or f"line {self._number}"
        if answer not in self._answers:
            self._answers[answer] = mapping(message.get("usage"))
            self.turn += not aside
        events: list[EventData] = []
        for block in blocks:
            events += self._read_block(block, answer, aside)
        return events

    def _read_block(self, block: dict[str, Any], answer: str, aside: bool) -> list[EventData]:
        kind = block.get("type")
        if kind == "tool_use":
            call, name = identity(block.get("id")), text_of(block.get("name"))
            return self.called(call, name, block.get("input"), aside=aside)
        if aside:
            return []  # a helper talks to its agent
        if kind == "thinking":
            return self.thought(text_of(block.get("thinking")))
        return self.said(text_of(block.get("text")), of=answer) if kind == "text" else []

    def _read_user(self, told: dict[str, Any]) -> list[EventData]:
        content = mapping(told.get("message")).get("content")
        aside = told.get("parent_tool_use_id") is not None
        if isinstance(content, str):
            return [] if aside else self.heard("user", content)
        events: list[EventData] = []
        for block in objects(content):
            if block.get("type") == "tool_result":
                ok = block.get("is_error") is not True
                events += self.returned(identity(block.get("tool_use_id")), ok, block.get("content"))
            elif block.get("type") == "text" and not aside:
                events += self.heard("user", text_of(block.get("text")))
        return events

    def _read_result(self, told: dict[str, Any]) -> list[EventData]:
        self.ended = True
        self.failure = self.outcome = self.reason = None
        self._read_usage(told)
        if objects(told.get("permission_denials")):
            self.flag("permission_denied")
        if told.get("stop_reason") == "refusal":
            self.flag("refusal")
        if told.get("stop_reason") == "max_tokens":
            self.flag("answer_cut_at_length")
        subtype, said = text_of(told.get("subtype")), text_of(told.get("result"))
        if subtype == "error_max_turns":
            self.outcome, self.reason = (
                "turn_limit",
                f"it ended at its limit after {told.get('num_turns')} turns",
            )
        elif told.get("is_error") is True or subtype.startswith("error"):
            errors = told.get("errors")
            listed = "; ".join(map(text_of, errors)) if isinstance(errors, list) else ""
            self.failure = said or listed or self.complaint or f"it ended as {subtype or 'an error'}"
            self.failure_status = _status(told.get("api_error_status")) or self._status
            if _CUT.search(self.failure):
                self.ended_by_model("answer_cut_at_length")
        elif said:
            self.final = said
        return []

    def _read_usage(self, told: dict[str, Any]) -> None:
        """The sums of all calls: what stands in single messages are counts from the beginning of an answer."""
        usage = mapping(told.get("usage"))
        if not usage:
            return
        models = [mapping(each) for each in mapping(told.get("modelUsage")).values()]
        priced = self._own_prices and all(each.get("costBasis") != "unknown" for each in models)
        self.used_in_all(
            _input(usage)
            | {
                "output_tokens": usage.get("output_tokens"),
                # 0 also where it thought and its endpoint did not count that.
                "reasoning_tokens": mapping(usage.get("output_tokens_details")).get("thinking_tokens")
                or None,
                # It makes up prices for models that it does not know.
                "cost_usd": told.get("total_cost_usd") if priced else None,
            }
        )

    # -- the session file ----------------------------------------------------------------------

    def files(self, found: dict[str, bytes]) -> None:
        """Its session, for a stream that ended before its time."""
        for path, content in sorted(found.items()):
            if path.endswith(".jsonl"):
                self._read_session(content)

    def _read_session(self, content: bytes) -> None:
        splitter = LineSplitter()
        lines = splitter.feed(content)
        rest = splitter.rest()
        for line in [*lines, rest] if rest is not None else lines:
            told = parse_object(line)
            if told is None or told.get("type") != "assistant" or told.get("isSidechain") is True:
                continue
            message = mapping(told.get("message"))
            if message.get("model") != "<synthetic>" and (answer := identity(message.get("id"))):
                blocks = objects(message.get("content"))
                self._session.append((answer, "".join(text_of(block.get("text")) for block in blocks)))

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """What to make of the whole; where no `result` came, with what the session file and the single answers tell."""
        before: list[EventData] = []
        if not self.ended:
            before = self._from_session()
            self._sum_of_answers()
        events, conclusion = super().finish(exit_code, exit_signal)
        return before + events, conclusion

    def _from_session(self) -> list[EventData]:
        told, kept = len(self._answers), len({answer for answer, _ in self._session})
        if kept <= told:
            return []
        self.flag("session_disagrees")
        last = self._session[-1][1]
        if last:
            self.final = last
        text = f"it told {told} answers of its model and kept {kept} in its session file"
        return self.warned("session_disagrees", text)

    def _sum_of_answers(self) -> None:
        """Input is told right from the start of an answer; output is not."""
        known = [usage for usage in self._answers.values() if usage]
        if known and self.usage is None:
            inputs = [_input(usage) for usage in known]
            self.used_in_all({name: _sum([number(each[name]) for each in inputs]) for name in inputs[0]})


def _input(usage: dict[str, Any]) -> dict[str, Any]:
    """Its three counts of input are apart from each other; in the normal form the first includes the others."""
    return {
        "input_tokens": total(
            usage, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"
        ),
        "cache_read_tokens": usage.get("cache_read_input_tokens"),
        "cache_write_tokens": usage.get("cache_creation_input_tokens"),
    }


def _sum(counts: list[int | None]) -> int | None:
    """A sum of which some terms may be unknown; unknown where all of them are."""
    known = [each for each in counts if each is not None]
    return sum(known) if known else None


def _status(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
