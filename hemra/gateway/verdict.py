"""What the calls of a trial say about how it ended: whether the model's endpoint served.

Only the last word counts. A harness that tried again and was answered has recovered, whatever came before.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from harnesses.failures import refusal

#: Of a call that a stopped harness left without an answer: silence that is the endpoint's fault and not haste.
SILENT_S = 60.0
#: The same where the harness gave up by itself, or half the trial's time where that is less.
GAVE_UP_S = 30.0
#: Failures in a row after which a stopped harness that was trying once more was held up by them.
_TRIES = 2

_CONTEXT = re.compile(
    r"context[_ ](?:length|window)|maximum context|prompt is too long|too many (?:input )?tokens"
    r"|input (?:is )?too long|exceeds? the (?:maximum|context|model'?s)",
    re.IGNORECASE,
)
_REASON = 300
#: Failures of the 4xx that are not for what was asked: the key, the account, or too much at a time.
_NOT_FOR_THE_REQUEST = (401, 402, 403, 408, 429)


@dataclass(frozen=True)
class End:
    """How a call of the conversation ended. `ended`, `status` and `error` as in `model.responded`.

    `silent_s`: how long nothing had come when it ended; `began`: whether its answer had begun; `empty`: the answer
    was whole and had nothing in it; `unread`: the request was none that can be read; `at`: when it ended, in seconds of
    any clock.
    """

    ended: str
    status: int | None = None
    error: Any = None
    began: bool = False
    silent_s: float = 0.0
    empty: bool = False
    unread: bool = False
    at: float = 0.0

    @property
    def fault(self) -> bool:
        """Whether it brought nothing that the harness can go on with."""
        return self.empty or self.ended not in ("complete", "refused")


class Ends:
    """Hears how each call of the conversation ended, in the order in which they ended."""

    def __init__(self, wall_seconds: float | None) -> None:
        self._silent_s = min(SILENT_S, wall_seconds / 2) if wall_seconds else SILENT_S
        self._trouble: list[End] = []
        self._aside: list[End] = []
        self._turns = False
        self._served = False
        self._looped = False

    def add(self, end: End, *, aside: bool = False) -> None:
        """A call has ended. Side calls count only as long as no other was made."""
        if aside:
            self._aside = [*self._aside, end] if end.fault else []
            return
        self._turns = True
        if self.own_fault(end):
            return
        if end.fault:
            self._trouble.append(end)
        else:
            self._trouble.clear()
            self._served = True

    def own_fault(self, end: End) -> bool:
        """Whether an endpoint that serves would not take this: the harness asked badly, as it can at will."""
        wrong = end.status is not None and 400 <= end.status < 500 and end.status not in _NOT_FOR_THE_REQUEST
        return wrong and end.ended != "refused" and (self._served or end.unread)

    @property
    def sound(self) -> bool:
        """Whether the conversation was served, its last call included."""
        return self._served and not self._trouble

    def looped(self) -> None:
        """The loop guard had to refuse a call."""
        self._looped = True

    def verdict(self, *, stopped: bool, fired: bool) -> tuple[str | None, str | None]:
        """(outcome, reason), or (None, None) where the endpoint did its part or a budget tells more."""
        if fired and self._served:
            return None, None
        trouble = self._trouble if self._turns else self._aside
        if trouble:
            outcome, reason = self._blame(trouble, stopped=stopped)
            if outcome is not None:
                return outcome, reason
        if self._looped and not trouble:
            return "harness_error", "it asked for the same again and again and got nowhere"
        return None, None

    def _blame(self, trouble: list[End], *, stopped: bool) -> tuple[str | None, str | None]:
        last = trouble[-1]
        if last.ended != "disconnected":
            return blamed(last)
        # What broke the call may have been our own stop. It was the endpoint that made the harness wait if it
        # had failed before, or if it was silent for long.
        before = [end for end in trouble if end.ended != "disconnected"]
        needed = self._silent_s if stopped else min(GAVE_UP_S, self._silent_s)
        waited = _silence([end for end in trouble if end.ended == "disconnected"])
        if waited >= needed:
            doing = "went silent amid its answer" if last.began else "did not begin to answer"
            return "provider_error", f"the model's endpoint {doing} within {waited:.0f} s"
        return blamed(before[-1]) if len(before) >= (_TRIES if stopped else 1) else (None, None)


def _silence(ends: list[End]) -> float:
    """Seconds of silence in calls one after another; what several were silent for at a time counts once."""
    total, until = 0.0, float("-inf")
    for begun, ended in sorted((end.at - end.silent_s, end.at) for end in ends):
        total += max(0.0, ended - max(begun, until))
        until = max(until, ended)
    return total


def blamed(end: End) -> tuple[str | None, str | None]:
    """The outcome of a trial whose last call ended like this, and why."""
    told = said(end.error)
    if end.empty:
        return "provider_error", "the model's last answer was empty"
    if end.status is None or end.status < 400:
        return "provider_error", _because(_WITHOUT_STATUS.get(end.ended, end.ended), told)
    reason = _because(f"HTTP {end.status}", told)
    refused = refusal(told, end.status)
    if refused is not None:
        return refused, reason
    if end.status in (400, 413, 422) and _CONTEXT.search(told):
        return None, None  # the agent outgrew its model: that is its own result
    return "provider_error", reason


_WITHOUT_STATUS = {
    "cut": "the model's answer broke off",
    "timeout": "the model's endpoint was silent for too long",
    "unreachable": "the model's endpoint could not be reached",
    "junk": "what came from the model's endpoint was no answer",
    "error": "the model's endpoint told of an error amid its answer",
}


def said(error: Any) -> str:
    """What an endpoint said about a failure, as one line of text."""
    found = _message(error)
    text = found if found is not None else "" if error is None else json.dumps(error, default=str)
    return " ".join(text.split())


def _message(error: Any) -> str | None:
    """The text for a person in an error object of any of the dialects, its code before it."""
    if isinstance(error, str):
        return error
    if not isinstance(error, dict):
        return None
    inner = error.get("error")
    if isinstance(inner, dict | str):
        return _message(inner)
    message = error.get("message")
    if not isinstance(message, str):
        return None
    code = error.get("code") or error.get("type")
    return f"{message} ({code})" if isinstance(code, str) and code not in message else message


def _because(what: str, told: str) -> str:
    return f"{what}: {told[:_REASON]}" if told else what


def outgrown(status: int | None, error: Any) -> bool:
    """Whether the endpoint refused a conversation because it is longer than the model can take."""
    return status in (400, 413, 422) and _CONTEXT.search(said(error)) is not None
