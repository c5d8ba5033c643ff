"""What is new in each request and answer of one trial, so that the record of a conversation grows as it does.

A harness sends everything again with every request. `Conversation` says which messages were not recorded yet, which
results came back for which call, and what the answer brought. One object a trial; used from one thread.

    seen = conversation.request("c1", dialect.read(body))
    for call in seen.calls: emit(ToolCalled(...))                 # of a cut answer, made all the same
    for result in seen.results: emit(ToolReturned(...))
    for key, message in seen.fresh: emit(MessageRecorded(role=message.role, text=message.text,
                                                         reasoning=message.reasoning, key=key, call="c1"))
    ...
    told = conversation.answer("c1", reader.finish())             # an empty Answer() where there was none
    if told.message: emit(MessageRecorded(...))
    for call in told.calls: emit(ToolCalled(...))
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any

import msgspec

from hemra.gateway.lineage import Branch, Lineage, Made, Place, squeezed
from hemra.gateway.normal import Answer, Message, Request, Tool, ToolCall
from hemra.gateway.seen import Called, Seen, Told, ToolResult
from projections.models import same_model

#: Why a call is no turn of the conversation.
NO_TOOLS, OTHER_MODEL, PROBE, COUNT_TOKENS = "no_tools", "other_model", "probe", "count_tokens"

#: The context of a conversation without a message.
BEGINNING = "sha256:" + hashlib.sha256(b"").hexdigest()

#: A trial's messages that are known again when they come back. What is longer, or comes after so many, is not read:
#: reading it is work, and keeping it memory, that other trials wait for.
MOST_MESSAGES, MOST_PLACES = 20_000, 1_000_000

_MOST_TOKENS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class _Recorded:
    """What is in the record of the turns, or of the auxiliary calls."""

    def __init__(self) -> None:
        self.contexts: set[str] = {BEGINNING}
        self.times: dict[str, int] = {}


class _Open(msgspec.Struct, frozen=True):
    """A request that waits for its answer."""

    place: Place
    context: str
    messages: int
    keys: list[str]
    auxiliary: str | None


class Conversation:
    """All model calls of one trial.

    `model`: the trial's; null takes the first that is offered tools. `offers_tools`: whether this harness is known to
    offer tools; without it a title that is asked for before the first turn cannot be told from a turn.
    """

    def __init__(self, model: str | None = None, *, offers_tools: bool = False) -> None:
        self._model = model
        self._offers_tools = offers_tools
        self._lineage = Lineage()
        self._turns, self._asides = _Recorded(), _Recorded()
        self._open: dict[str, _Open] = {}
        self._failed: dict[str, str] = {}
        self._responses: dict[str, tuple[Place, str, int]] = {}
        self._tools: tuple[tuple[Tool, ...], str] | None = None
        self._toolsets: set[str] = set()
        #: Names of all tools that were offered to the model in any request.
        self.offered: set[str] = set()
        self._system: dict[int, str] = {}
        self._ids: dict[str, int] = {}
        self._turn = 0

    def request(self, call: str, request: Request, *, auxiliary: str | None = None) -> Seen:
        """Take a request. `call` is its id, unique in the trial; `auxiliary` what its path already says."""
        place, context, before, keys = self._beginning(request)
        branch = Branch(place)
        contexts, places, base = [context], [place], len(keys)
        shown: list[tuple[Message, Place | None]] = []
        for message in request.messages:
            if message.role == "system":
                key, at = self._system_key(message), None
                context = _chained(context, key)
            else:
                place = at = self._lineage.step(place, message, branch)
                key, context = at.key, _linked(at, context)
            keys.append(key)
            contexts.append(context)
            places.append(place)
            shown.append((message, at))
        reason = auxiliary or self._reason(request, places)
        tools, tools_new = self._offered(request.tools)
        self._open[call] = _Open(place, context, before + len(shown), keys, reason)
        known = self._known(contexts, reason)
        calls, results = self._results(shown[known:])
        fresh = self._fresh(keys, base + known, shown[known:], {r.key for r in results}, reason)
        self._log(reason).contexts.update(contexts[known:])
        return Seen(
            context=context,
            prefix=contexts[known],
            messages=before + len(shown),
            known=before + known,
            added=tuple(keys[base + known :]),
            fresh=fresh,
            calls=calls,
            results=results,
            auxiliary=reason,
            retry_of=self._failed.get(context),
            tools=tools,
            tools_new=tools_new,
        )

    def readable(self, request: Request) -> bool:
        """Whether it is short enough to be taken."""
        return len(request.messages) <= MOST_MESSAGES and self._lineage.places < MOST_PLACES

    def aside(self, request: Request) -> str | None:
        """Why a request would be no turn, without taking it."""
        place: Place | None = self._beginning(request)[0]
        places = []
        for message in request.messages:
            if place is not None and message.role != "system":
                place = self._lineage.known(place, message)
                places += [place] if place is not None else []
        return self._reason(request, places)

    def answer(self, call: str, answer: Answer) -> Told:
        """Take the answer to a request, as far as it came. Raises KeyError for a call that is not open.

        One that is cut, in error, junk or empty makes its call a failed one. The calls of a cut answer are kept in
        its message until a result shows that the harness made them.
        """
        asked = self._open.pop(call)
        said = Message(
            role="assistant", text=answer.text, reasoning=answer.reasoning or None, calls=answer.calls
        )
        nothing = not (said.text or said.reasoning or said.calls)
        if nothing or answer.error is not None or not answer.complete:
            self._failed[asked.context] = call
        else:
            self._failed.pop(asked.context, None)
        if nothing:
            return Told()
        place, first = self._lineage.say(asked.place, said, main=asked.auxiliary is None)
        context = _chained(asked.context, place.key)
        if answer.id:
            self._responses[answer.id] = (place, context, asked.messages + 1)
        if first:
            self._lineage.own(place, tuple(self._make(each, asked) for each in answer.calls))
        turn = self._next_turn(place, asked, complete=answer.complete)
        log = self._log(asked.auxiliary)
        log.contexts.add(context)
        message = None
        if log.times.get(place.key, 0) < (times := asked.keys.count(place.key) + 1):
            log.times[place.key] = times
            kept = _recordable(said, () if answer.complete else said.calls)
            message = (place.key, kept) if kept.text or kept.reasoning else None
        fresh = [each for each in place.own if answer.complete and not each.told]
        # What a side call's model wants called is named, and no more: it is no act of the agent.
        calls = tuple(called for called in map(_tell, fresh) if asked.auxiliary is None)
        ids = tuple(each.call.id for each in place.own if each.told)
        return Told(key=place.key, message=message, calls=calls, ids=ids, turn=turn)

    def _beginning(self, request: Request) -> tuple[Place, str, int, list[str]]:
        """Where the messages of a request go on, after the answer that it names or at the beginning: the place, the
        context, how many messages stand before, and their keys as far as they have places."""
        named = request.parameters.get("previous_response_id")
        found = self._responses.get(named) if isinstance(named, str) else None
        if found is None:
            return self._lineage.root, BEGINNING, 0, []
        place, context, before = found
        keys: list[str] = []
        above: Place | None = place
        while above is not None and above.parent is not None:
            keys.append(above.key)
            above = above.parent
        return place, context, before, keys[::-1]

    def _system_key(self, message: Message) -> str:
        """Its key, made once for a text."""
        if not isinstance(message.text, str):
            return message.key
        mark = hash(message.text)  # the text itself may be large, and there may be one for every request
        if mark not in self._system:
            if len(self._system) > 64:  # one that is another every time is not worth keeping
                self._system.clear()
            self._system[mark] = message.key
        return self._system[mark]

    def _reason(self, request: Request, places: list[Place]) -> str | None:
        """Why a request is no turn of the conversation."""
        limits = [request.parameters.get(name) for name in _MOST_TOKENS]
        if 1 in limits and not request.tools:
            return PROBE
        if self._model and request.model and not same_model(self._model, request.model):
            return OTHER_MODEL
        if request.tools:
            self._offers_tools = True
            self._model = self._model or request.model
        elif self._offers_tools and not any(place.main for place in places):
            return NO_TOOLS
        # Without tools but after a turn it is a turn too: harnesses ask for a summary when they are at their limit.
        return None

    def _offered(self, tools: tuple[Tool, ...]) -> tuple[str | None, bool]:
        """The digest of the tools, and whether it is new."""
        if not tools:
            return None, False
        if self._tools is None or self._tools[0] != tools:
            self._tools = (tools, tools_digest(tools))
        digest = self._tools[1]
        new = digest not in self._toolsets
        if new:
            self._toolsets.add(digest)
            self.offered.update(tool.name for tool in tools)
        return digest, new

    def _log(self, auxiliary: str | None) -> _Recorded:
        return self._turns if auxiliary is None else self._asides

    def _known(self, contexts: list[str], auxiliary: str | None) -> int:
        """How many messages from the beginning are in the record. What only an auxiliary call said is none of a
        turn's, so that the turns can be read alone."""
        known, also = self._turns.contexts, self._log(auxiliary).contexts
        for number in range(len(contexts) - 1, 0, -1):
            if contexts[number] in known or contexts[number] in also:
                return number
        return 0

    def _results(
        self, added: list[tuple[Message, Place | None]]
    ) -> tuple[tuple[Called, ...], tuple[ToolResult, ...]]:
        """The results that are new, and the calls of cut answers that they show to have been made."""
        calls, results = [], []
        for form, place in added:
            made = place.joined if place is not None else None
            if place is None or made is None or made.returned or made.aside:
                continue
            made.returned = True
            if not made.told:
                self._turn = max(self._turn, made.turn or 0)
                calls.append(_tell(made))
            name = made.call.name
            results.append(
                ToolResult(call=made.call.id, name=name, ok=form.ok, result=form.text, key=place.key)
            )
        return tuple(calls), tuple(results)

    def _fresh(
        self,
        keys: list[str],
        known: int,
        added: list[tuple[Message, Place | None]],
        results: set[str],
        auxiliary: str | None,
    ) -> tuple[tuple[str, Message], ...]:
        """What has to be recorded of the messages after the first `known`."""
        times = Counter(keys[:known])
        turns, log = self._turns.times, self._log(auxiliary).times
        fresh = []
        for key, (message, place) in zip(keys[known:], added, strict=True):
            times[key] += 1
            if times[key] <= max(turns.get(key, 0), log.get(key, 0)):
                continue
            log[key] = times[key]
            if key in results:
                turns[key] = times[key]
            elif place is None or not _is_piece(place, message):
                fresh.append((key, _recordable(message, _foreign(message, place))))
        return tuple(fresh)

    def _next_turn(self, place: Place, asked: _Open, *, complete: bool) -> int | None:
        """The number of the turn that this answer is. The calls of a cut one would belong to it too."""
        if asked.auxiliary is not None or place.turn is not None:
            return None
        for each in place.own:
            each.turn = self._turn + 1
        if not complete:
            return None
        self._turn += 1
        place.turn = self._turn
        return place.turn

    def _make(self, call: ToolCall, asked: _Open) -> Made:
        """A call with an id of its own."""
        wanted = name = call.id or "call"
        while name in self._ids or (not call.id and name == wanted):
            self._ids[wanted] = self._ids.get(wanted, 0) + 1
            name = f"{wanted}#{self._ids[wanted]}"
        self._ids.setdefault(name, 1)
        own = msgspec.structs.replace(call, id=name)
        return Made(call=own, wire=call.id, turn=None, aside=asked.auxiliary is not None)


def _chained(context: str, key: str) -> str:
    """The digest of a conversation with one more message."""
    return "sha256:" + hashlib.sha256((context + key).encode()).hexdigest()


def _linked(place: Place, context: str) -> str:
    """The context with this place: made once while what stands before it stays the same."""
    if place.link[0] != context:
        place.link = (context, _chained(context, place.key))
    return place.link[1]


def tools_digest(tools: tuple[Tool, ...]) -> str:
    """`sha256:<hex>` over the definitions, in their order."""
    content = json.dumps([tool.definition for tool in tools], sort_keys=True)
    return "sha256:" + hashlib.sha256(content.encode()).hexdigest()


def _tell(made: Made) -> Called:
    made.told = True
    return Called(call=made.call, turn=made.turn)


def _foreign(message: Message, place: Place | None) -> tuple[ToolCall, ...]:
    """The calls in a message that no model of this trial wrote."""
    made = place.made if place else ()
    return tuple(c for n, c in enumerate(message.calls) if n >= len(made) or made[n] is None)


def _is_piece(place: Place, message: Message) -> bool:
    """Whether a message is only a part of an answer: some harnesses send calls of one turn one by one."""
    if not message.calls or _foreign(message, place):
        return False
    text = squeezed(message.text)
    return not text or place.said is not None


def _recordable(message: Message, calls: tuple[ToolCall, ...]) -> Message:
    """The message as it is recorded: with those calls, which are no event of their own, and with the id that an
    unknown result answers, among its parts."""
    parts: list[dict[str, Any]] = []
    for call in calls:
        part = {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
        parts.append(part | ({} if call.written is None else {"written": call.written}))
    if message.answers is not None:
        parts = [{"type": "tool_result", "id": message.answers, "ok": message.ok, "content": message.text}]
    elif parts and message.text:
        said = message.text
        parts = [*(said if isinstance(said, list) else [{"type": "text", "text": said}]), *parts]
    return msgspec.structs.replace(message, text=parts or message.text, calls=())
