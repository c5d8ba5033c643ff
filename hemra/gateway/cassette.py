"""Answers of a recorded run in a model's place: the same agent again, offline, for nothing, with the same words.

A cassette is a run whose calls were recorded with their bodies (`hemra run --record-cassette`). A trial of a new run is
answered from the recorded trial of the same harness, task and attempt. A request finds its answer by the conversation
that it brings (see `hemra.gateway.likeness`), in the same dialect and way of streaming; one that was recorded several
times gets those answers in their order, and then the last of them again. docs/cassettes.md says more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eventlog.errors import LogError
from hemra.errors import NotFound, UsageError
from hemra.gateway.decoding import Undecodable
from hemra.gateway.likeness import EXACT, LOOSE, NORMALISED, Likeness, common
from hemra.gateway.moving import moved
from hemra.gateway.normal import Message, Request
from hemra.gateway.recorded import RecordedCall, RecordedTrial, recorded_trials

if TYPE_CHECKING:
    from eventlog.store import Store

_EXCERPT = 60


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An answer to be given again. `ended` is how it ended then (see `model.responded`), `matched` the way in which
    the conversations are alike. `replayed` is what is recorded of where it comes from.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    ended: str
    matched: str
    replayed: str


class Cassette:
    """The recorded trials of a run, or one of them."""

    def __init__(self, store: Store, run: str, trials: Sequence[RecordedTrial], *, one: bool) -> None:
        self._store = store
        self.run = run
        self.trials = list(trials)
        self._one = one

    @classmethod
    def load(cls, store: Store, reference: str) -> Cassette:
        """The cassette `RUN` or `RUN/TRIAL`, with the run's whole id. Raises NotFound; UsageError for a run whose
        answers were not kept; HemraError for a log that cannot be read."""
        run, slash, trial = reference.partition("/")
        if run not in store.streams():
            raise NotFound(f"no run {run} in {store.path} to be replayed; `hemra runs` lists them")
        trials = recorded_trials(store, run)
        if slash and trial not in trials:
            raise NotFound(f"run {run} has no trial {trial!r}; `hemra show {run}` lists them")
        found = [trials[trial]] if slash else list(trials.values())
        if not any(each.answered for each in found):
            raise UsageError(
                f"{reference} kept no answers of a model: record them with `hemra run --record-cassette`"
            )
        return cls(store, run, found, one=bool(slash))

    def trial(self, harness: str, task: str, attempt: int) -> RecordedTrial | None:
        """The recorded trial that answers one of a new run: of the same task, harness and attempt.

        Where only one harness was recorded its name does not matter; where one trial was named, its attempt neither.
        """
        any_harness = len({each.harness for each in self.trials}) == 1
        for each in self.trials:
            same = (any_harness or each.harness == harness) and (self._one or each.attempt == attempt)
            if same and each.task == task and each.answered:
                return each
        return None

    def player(self, harness: str, task: str, attempt: int, *, upstream: bool = False) -> TrialCassette:
        """The answers for one try of a trial of a new run."""
        missing = f"run {self.run} has no recorded answers for {task} by {harness}, attempt {attempt}"
        return TrialCassette(
            self._store, self.trial(harness, task, attempt), missing=missing, upstream=upstream
        )


class TrialCassette:
    """The answers of one recorded trial, given to one try. Used from one thread at a time.

    `upstream`: what was not recorded goes on to the model; else it is refused. `misses` are lines that say which
    requests found no answer and why.
    """

    def __init__(self, store: Store, trial: RecordedTrial | None, *, missing: str, upstream: bool) -> None:
        self._store = store
        self._trial = trial
        self._missing = missing
        self.upstream = upstream
        self.misses: list[str] = []
        self._used: set[str] = set()
        self._then = Likeness(trial.places if trial else None)
        self._now = Likeness()
        self._places: dict[str, str] = {}
        self._known: dict[str, dict[str, list[bytes]]] = {}

    def at(self, **places: str) -> None:
        """Where the new try's folders are (`workspace=`, `home=`), as its harness sees them."""
        self._places = places
        self._now = Likeness(places)

    def answer(
        self, dialect: str, stream: bool, context: str | None, request: Request | None = None
    ) -> Recorded | None:
        """The next answer that was recorded for this conversation; None where there is none: `misses[-1]` says why.

        Without `request` only the same messages, key by key, are found. Reads blobs.
        """
        found = self._answer(dialect, stream, context, request)
        if isinstance(found, Recorded):
            return found
        self.misses.append(found)
        return None

    def other(self, method: str, path: str) -> Recorded | None:
        """The next answer to a request that asks no model (a probe, a count of tokens), by its method and its path with
        the query; None where none was recorded."""
        same = [
            call
            for call in (self._trial.others if self._trial else [])
            if (call.method, call.path) == (method, path)
        ]
        if not same or self._trial is None:
            return None
        call = self._next(same)
        found = self._recorded(self._trial, call, EXACT)
        if isinstance(found, str):
            self.misses.append(found)
            return None
        self._used.add(call.call)
        return found

    def _answer(
        self, dialect: str, stream: bool, context: str | None, request: Request | None
    ) -> Recorded | str:
        if self._trial is None:
            return self._missing
        calls = [call for call in self._trial.answered if call.dialect == dialect and call.stream == stream]
        for way, alike in self._ways(calls, context, request):
            if alike:
                call = self._next(alike)
                recorded = self._recorded(self._trial, call, way)
                if isinstance(recorded, Recorded):
                    self._used.add(call.call)
                return recorded
        kind = f"{dialect}, {'streamed' if stream else 'not streamed'}"
        return f"{self._trial.name} has no answer for this conversation ({kind}){self._where(request)}"

    def _ways(
        self, calls: Sequence[RecordedCall], context: str | None, request: Request | None
    ) -> Iterator[tuple[str, list[RecordedCall]]]:
        """Recorded calls for this conversation, the closest way of being alike first."""
        yield EXACT, [call for call in calls if call.context is not None and call.context == context]
        for way in (NORMALISED, LOOSE):
            if request is not None:
                now = _digests(self._now, request, way)
                yield way, [call for call in calls if self._digests_of(call, way) == now]

    def _digests_of(self, call: RecordedCall, way: str) -> list[bytes]:
        """The digests of a recorded request; none where it cannot be read."""
        if call.call not in self._known:
            request = call.request(self._store)
            found = {w: _digests(self._then, request, w) for w in (NORMALISED, LOOSE)} if request else {}
            self._known[call.call] = found
        return self._known[call.call].get(way, [])

    def _next(self, calls: Sequence[RecordedCall]) -> RecordedCall:
        """The first that was not given yet, else the last. What the harness broke off is only given for want of
        anything better: it was going to be repeated."""
        whole = [call for call in calls if call.ended != "disconnected"] or list(calls)
        return next((call for call in whole if call.call not in self._used), whole[-1])

    def _recorded(self, trial: RecordedTrial, call: RecordedCall, way: str) -> Recorded | str:
        """The call's answer with the new try's folders in it, or why it cannot be given."""
        name = f"{trial.name}/{call.call}"
        try:
            body = call.answer(self._store)
        except (LogError, OSError, Undecodable) as error:
            return f"the recorded answer {name} cannot be read: {error}"
        # An agent must not be sent to folders that are not its own.
        body = moved(body, {then: self._places.get(place, then) for place, then in trial.places.items()})
        return Recorded(
            status=call.status or 200, headers=call.shown_headers, body=body,
            ended=call.ended or "complete", matched=way, replayed=name if way == EXACT else f"{name} ({way})",
        )  # fmt: skip

    def _where(self, request: Request | None) -> str:
        """Where the conversation leaves the one that was recorded: the nearest of the recorded requests."""
        if request is None or self._trial is None:
            return ""
        now = _digests(self._now, request, LOOSE)
        shared, nearest = -1, None
        for call in self._trial.answered:
            if (length := common(now, self._digests_of(call, LOOSE))) > shared:
                shared, nearest = length, call
        then = nearest.request(self._store) if nearest else None
        if nearest is None or then is None:
            return ""
        if shared < len(now):
            return f": {self._parting(then.messages, request.messages, shared - 1)}"
        longer = len(then.messages) > len(request.messages)
        other = f"{nearest.dialect}, {'streamed' if nearest.stream else 'not streamed'}"
        return f": it was recorded {'with more messages' if longer else f'as {other}'}"

    def _parting(self, then: Sequence[Message], now: Sequence[Message], at: int) -> str:
        """The first message that is another one, as it was and as it is."""
        if at < 0:
            return "it goes on from another response"
        where = f"message {at + 1} of {len(now)} ({now[at].role})"
        if at >= len(then):
            return f"{where} is new: {_shown(now[at])[:_EXCERPT]!r}"
        before, after = self._then.text(_shown(then[at])), self._now.text(_shown(now[at]))
        left, right = _from_difference(before, after)
        return f"{where} was {left!r} and is {right!r}"


def _digests(likeness: Likeness, request: Request, way: str) -> list[bytes]:
    """A digest for every message of a request; before them, what it says that it goes on from."""
    before = str(request.parameters.get("previous_response_id") or "")
    return [before.encode("utf-8", "surrogatepass"), *likeness.digests(request.messages, way)]


def _shown(message: Message) -> str:
    """A message as a text for a person."""
    text = message.text if isinstance(message.text, str) else json.dumps(message.text, sort_keys=True)
    calls = [f"{call.name}({json.dumps(call.arguments, sort_keys=True)})" for call in message.calls]
    return " ".join([*([text] if text else []), *calls])


def _from_difference(left: str, right: str) -> tuple[str, str]:
    """Both texts from a little before their first difference on."""
    shorter = min(len(left), len(right))
    first = next((i for i in range(shorter) if left[i] != right[i]), shorter)
    start = max(0, first - _EXCERPT // 3)
    return left[start : start + _EXCERPT], right[start : start + _EXCERPT]
