"""The calls of a recorded run, trial by trial, as far as they can be answered with again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eventlog.errors import LogError
from hemra.errors import HemraError

if TYPE_CHECKING:
    from eventlog.store import Store
    from hemra.gateway.normal import Request

_TYPES = ("trial.queued", "trial.started", "sandbox.created", "model.requested", "model.responded")
#: How a call ended whose answer can be given again. A refusal was ours; where nothing came, nothing can be given.
_ANSWERED = ("complete", "error", "junk", "cut", "disconnected")

#: Requests that ask no model, by the reason that `model.requested` has.
_ASIDE = ("probe", "count_tokens")
#: What compressed bytes begin with.
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass
class RecordedCall:
    """A recorded call: its request, and what came back. `asked` and `body` are blobs of the bodies.

    `aside`: what its path says that it is, for what asks no model. All else as in `model.requested`, `model.responded`.
    """

    call: str
    dialect: str | None
    stream: bool
    context: str | None
    aside: str | None
    method: str | None
    path: str | None
    asked: str | None
    status: int | None = None
    ended: str | None = None
    body: str | None = None
    headers: dict[str, str] | None = None

    @property
    def answered(self) -> bool:
        """Whether there is something to answer with."""
        return self.body is not None and self.status is not None and self.ended in _ANSWERED

    def answer(self, store: Store) -> bytes:
        """The body that it was answered with, not compressed. Raises LogError, OSError, Undecodable."""
        from hemra.gateway.decoding import decoded

        body = store.blobs.get(self.body or "")
        told = {name.lower(): value for name, value in (self.headers or {}).items()}
        encoding = told.get("content-encoding") if self.headers is not None else _encoding(body)
        return decoded(body, encoding)

    @property
    def shown_headers(self) -> dict[str, str]:
        """Headers for the answer; without a record of them, what can be told of its body."""
        if self.headers is not None:
            return {n: value for n, value in self.headers.items() if n.lower() != "content-encoding"}
        streamed = self.stream and (self.status or 200) < 400
        return {"Content-Type": "text/event-stream" if streamed else "application/json"}

    def request(self, store: Store) -> Request | None:
        """What was asked, read again from its body. None where that was not kept or is nothing of its dialect."""
        from hemra.gateway.dialects import by_name

        try:
            dialect = by_name(self.dialect or "")
            body = json.loads(store.blobs.get(self.asked or ""))
        except (KeyError, LogError, OSError, ValueError, RecursionError):
            return None
        return dialect.read(body) if isinstance(body, dict) else None


@dataclass
class RecordedTrial:
    """A recorded trial: the calls of its last try that made any, and what the folders of that try were."""

    run: str
    trial: str
    harness: str
    task: str
    task_digest: str
    attempt: int
    seed: int
    places: dict[str, str] = field(default_factory=dict)
    calls: dict[str, RecordedCall] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`<run>/<trial>`."""
        return f"{self.run}/{self.trial}"

    @property
    def answered(self) -> list[RecordedCall]:
        """The calls to a model that can be answered with, in the order in which they were made."""
        return [call for call in self.calls.values() if call.answered and call.aside not in _ASIDE]

    @property
    def others(self) -> list[RecordedCall]:
        """The same of requests that asked no model: probes, counts of tokens."""
        return [call for call in self.calls.values() if call.answered and call.aside in _ASIDE]


def recorded_trials(store: Store, run: str) -> dict[str, RecordedTrial]:
    """All trials of a run by id. Raises HemraError where its log cannot be read."""
    from eventlog.reader import read

    trials: dict[str, RecordedTrial] = {}
    tries: dict[str, _Try] = {}
    try:
        for event in read(store, run, types=_TYPES):
            name, data = str(event.trial), event.data
            if event.type == "trial.queued":
                trials[name] = RecordedTrial(
                    run=run, trial=name, harness=data["harness"], task=data["task"],
                    task_digest=data["task_digest"], attempt=data["attempt"], seed=data["seed"],
                )  # fmt: skip
            elif name in trials:
                tries.setdefault(name, _Try(trials[name])).take(event.type, data)
    except (LogError, OSError) as error:
        raise HemraError(f"run {run} cannot be read to be replayed: {error}") from error
    return trials


class _Try:
    """Hears the events of a trial. A try takes the place of an earlier one with its first call."""

    def __init__(self, trial: RecordedTrial) -> None:
        self._trial = trial
        self._begun = True
        self._places: dict[str, str] = {}

    def take(self, kind: str, data: dict[str, Any]) -> None:
        """One event, in order."""
        if kind == "trial.started":
            self._begun = True
        elif kind == "sandbox.created":
            self._places = {"workspace": data["workspace"], "home": data["home"]}
        elif kind == "model.requested" and data.get("call"):
            if self._begun:
                self._trial.calls, self._begun = {}, False
            self._trial.places = self._places
            self._trial.calls[data["call"]] = RecordedCall(
                data["call"], data.get("dialect"), bool(data.get("stream")), data.get("context"),
                data.get("auxiliary"), data.get("method"), data.get("path"), data.get("body"),
            )  # fmt: skip
        elif kind == "model.responded" and (call := self._trial.calls.get(data.get("call") or "")):
            call.status, call.ended = data.get("status"), data.get("ended")
            call.body, call.headers = data.get("body"), data.get("headers")


def _encoding(body: bytes) -> str | None:
    return next((name for magic, name in _MAGIC.items() if body.startswith(magic)), None)
