"""Decides what a request is answered: which turn of the script it asks for, and what goes wrong with it.

Which turn is asked for, the request itself tells: its history holds the turns before. So parallel trials, retries and
restarts need no state, and the same request gets the same answer. Only tries of one turn are counted, because a fault
may be over after some of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from .actions import Action, call_for, find
from .exchange import Answer, Asked, BadRequest, Call, Usage, compact
from .journal import fingerprint
from .recipes.book import Book
from .schemas import example, fill
from .script import CallGiven, Fault, Pace, Script, Turn, UsageGiven
from .solver import Saboteur, Said, Solver, finally_said
from .tokens import count, token_id, tokens


class ScriptMismatch(BadRequest):
    """The script asks for something that this request does not offer."""


@dataclass(frozen=True)
class Decision:
    """What happens to a request. `turn` counts from 1, `attempt` the tries of that turn from 1."""

    answer: Answer
    kind: str
    session: str
    turn: int
    attempt: int
    fault: Fault | None
    pace: Pace
    task: str | None = None
    problem: str | None = None


def malformed(call: Call) -> Call:
    """The same call as a model writes it that loses the thread: half of its JSON, which no repair brings back."""
    return replace(call, arguments=call.arguments[: len(call.arguments) // 2] or '{"')


class Director:
    """Answers by one script. `book` is needed by the solver and the saboteur only."""

    def __init__(self, script: Script, book: Book | None = None) -> None:
        self.script = script
        self._tries: Counter[tuple[str, int]] = Counter()
        self._mind: Solver | Saboteur | None = None
        if script.mode != "turns":
            known = book or Book.load()
            self._mind = Solver(known) if script.mode == "solver" else Saboteur(known)
        self._calls_tools = self._mind is not None or any(turn.calls for turn in script.turns)

    def reset(self) -> None:
        """Forget the tries."""
        self._tries.clear()

    def decide(self, asked: Asked, prefix: str, key: str | None, named: str | None = None) -> Decision:
        """What to do with a request. `named` is the session's name where a header tells it. Raises BadRequest."""
        first = asked.first_user_text
        session = named or fingerprint(compact([prefix, key, first]))
        if self._is_auxiliary(asked):
            return self._side_call(asked, session)
        number = asked.turn + 1
        self._tries[session, number] += 1
        attempt = self._tries[session, number]
        said = self._said(asked, number)
        turn = said.turn
        fault = self._fault(turn, number, attempt)
        answer = self._answer(asked, turn, said.calls, (session, number, attempt), fault)
        pace = turn.pace or self.script.pace
        return Decision(answer, "model", session, number, attempt, fault, pace, said.task, said.problem)

    def _is_auxiliary(self, asked: Asked) -> bool:
        rules = self.script.auxiliary
        return asked.model in rules.models or (rules.without_tools and self._calls_tools and not asked.tools)

    def _side_call(self, asked: Asked, session: str) -> Decision:
        text = self.script.auxiliary.text
        if asked.schema is not None:
            text = compact({"title": text} if not asked.schema else _side_object(asked, text))
        turn = Turn(text=text)
        answer = self._answer(asked, turn, (), (session, 0, 1), None)
        return Decision(answer, "auxiliary", session, 0, 1, None, self.script.pace)

    def _said(self, asked: Asked, number: int) -> Said:
        if self._mind is not None:
            return self._mind.turn(asked)
        turns = self.script.turns
        if number > len(turns) and self.script.after_last == "refuse":
            raise ScriptMismatch(f"the script has {len(turns)} turns; turn {number} was asked for")
        place = (
            (number - 1) % len(turns) if self.script.after_last == "restart" else min(number, len(turns)) - 1
        )
        turn = turns[place]
        calls = tuple(_call(given, asked) for given in turn.calls)
        return Said(turn, calls or finally_said(asked, turn.text)[1])

    def _fault(self, turn: Turn, number: int, attempt: int) -> Fault | None:
        faults: list[Fault] = [*([turn.fault] if turn.fault else []), *self.script.faults]
        for fault in faults:
            if fault.turn in (None, number) and (fault.times is None or attempt <= fault.times):
                return fault
        return None

    def _answer(
        self,
        asked: Asked,
        turn: Turn,
        calls: Sequence[Call],
        place: tuple[str, int, int],
        fault: Fault | None,
    ) -> Answer:
        kind = fault.kind if fault else None
        text, reasoning, calls = turn.text, turn.reasoning, tuple(calls)
        if kind == "empty":
            text, reasoning, calls = "", "", ()
        if kind == "length" and fault:
            text, reasoning, calls = "".join(tokens(text)[: fault.after_tokens]) or "I", "", ()
        if kind == "malformed_arguments":
            calls = tuple(malformed(call) for call in calls)
        prompt = prompt_text(asked)
        answer = Answer(
            id=hashlib.sha256(compact(place).encode("utf-8", "surrogatepass")).hexdigest()[:16],
            model=asked.model,
            text=text,
            reasoning=reasoning,
            calls=calls,
            finish="length" if kind == "length" else "tool_calls" if calls else "stop",
            token_ids=self.script.token_ids,
            prompt_token_ids=tuple(map(token_id, tokens(prompt))) if self.script.token_ids else (),
            logprobs=self.script.logprobs or asked.logprobs,
        )
        given = self.script.usage if turn.usage is msgspec.UNSET else turn.usage
        assert not isinstance(given, msgspec.UnsetType)
        return replace(answer, usage=counted(given, answer, prompt) if given else None)


def counted(given: UsageGiven, answer: Answer, prompt: str) -> Usage:
    """Usage as given; what is left out is counted from the prompt and the answer."""
    reasoning = count(answer.reasoning) if given.reasoning is None else given.reasoning
    said = count(answer.text) + sum(count(call.arguments) for call in answer.calls)
    cached = given.cache_read + given.cache_write
    return Usage(
        input=count(prompt) + cached if given.input is None else given.input,
        output=said + reasoning if given.output is None else given.output,
        cache_read=given.cache_read,
        cache_write=given.cache_write,
        reasoning=reasoning,
    )


def prompt_text(asked: Asked) -> str:
    """The text that a model would be given, as far as it is counted: the messages with calls and results."""
    parts = []
    for message in asked.messages:
        parts += [message.role, message.text]
        for call in message.calls:
            parts += [call.name, call.arguments, call.result or ""]
    return "\n".join(parts)


def _side_object(asked: Asked, text: str) -> object:
    """An object of the schema that is asked for, with the text in its first field that holds one."""
    schema = asked.schema or {}
    listed = schema.get("properties") or {}
    name = next((name for name, part in listed.items() if part.get("type") == "string"), None)
    return fill(schema, {name: text}) if name and "enum" not in listed[name] else example(schema)


def _call(given: CallGiven, asked: Asked) -> Call:
    """The call for this request. Raises ScriptMismatch when nothing that is offered fits."""
    found = _fitting(given, asked)
    if found is None:
        wanted = given.action or given.name or [each.action or each.name for each in given.any]
        offered = ", ".join(tool.name for tool in asked.tools) or "none"
        raise ScriptMismatch(f"the script calls {wanted}; the request offers these tools: {offered}")
    return found


def _fitting(given: CallGiven, asked: Asked) -> Call | None:
    if given.any:
        return next((call for each in given.any if (call := _fitting(each, asked))), None)
    if given.action is not None:
        call = call_for(Action(given.action, given.arguments), asked.tools)
        return replace(call, arguments=given.raw) if call and given.raw is not None else call
    tool = find(asked.tools, (given.name or "",))
    if tool is None:
        return None
    text = given.raw
    if text is None:
        text = given.input if given.input is not None else compact(given.arguments)
    return Call(tool.name, text, tool.kind, tool.namespace)
