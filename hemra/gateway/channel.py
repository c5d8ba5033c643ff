"""One trial's way through the gateway: what it may do there, what it did, and what that says about how it ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hemra.datasets.toolnames import ToolNames
from hemra.gateway.budget import Budget
from hemra.gateway.conversation import Conversation
from hemra.gateway.loop_guard import LoopGuard
from hemra.gateway.recording import Recording
from hemra.gateway.verdict import Ends

if TYPE_CHECKING:
    from eventlog.schemas.base import EventData
    from eventlog.schemas.runs import Limits
    from eventlog.schemas.trials import LimitFired, Usage
    from hemra.gateway.exchange import Exchange
    from hemra.gateway.normal import Request, SamplingWish

#: Seconds after which a call that waits for others looks whether they have told all.
_LOOK_AGAIN_S = 0.5


@dataclass(frozen=True, kw_only=True)
class ResolvedUpstream:
    """The model's endpoint with its key in hand. The key is in no text that is made of this.

    `connect_s`: seconds until a connection must stand. `idle_s`: seconds of silence, before the answer begins or
    amid it, after which it is given up.
    """

    base_url: str
    dialect: str | None = None
    key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    connect_s: float = 30.0
    idle_s: float = 600.0


class Prices(Protocol):
    """What calls cost; `label` names the table and its date."""

    @property
    def label(self) -> str:
        """Name and date, as they are recorded with every cost."""

    def cost(self, model: str | None, usage: Usage | None) -> float | None:
        """US dollars; null where they are not known."""


class Recorded(Protocol):
    """An answer of a cassette: what it answered with, and `<run>/<trial>/<call>` of where it is from."""

    @property
    def status(self) -> int:
        """HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the answer that say what its body is."""

    @property
    def body(self) -> bytes:
        """The answer, not compressed."""

    @property
    def ended(self) -> str:
        """How it ended then, as in `model.responded`."""

    @property
    def replayed(self) -> str:
        """Where it was recorded."""


class Cassette(Protocol):
    """Answers of a recorded trial. `upstream`: what it has no answer for goes to the model; else it is refused."""

    @property
    def upstream(self) -> bool:
        """Whether a request that was not recorded goes on to the model."""

    @property
    def misses(self) -> list[str]:
        """Why there was no answer, one line for each."""

    def answer(
        self, dialect: str, stream: bool, context: str | None, request: Request | None = None
    ) -> Recorded | None:
        """The answer to a conversation, or null, and why in `misses`. May be slow; called in a thread."""

    def other(self, method: str, path: str) -> Recorded | None:
        """The answer to what asks no model, or null. May be slow; called in a thread."""


@dataclass(frozen=True, kw_only=True)
class ChannelSpec:
    """What a trial may do at the gateway, and where what it does is told.

    - `token`: what its harness gives in the place of a key
    - `upstream`: null only with a cassette that needs no model
    - `model`: the one that the trial is about; calls of others are auxiliary
    - `names`: what its tools are called; `latency_ms`: canonical tool -> milliseconds that its results take longer
    - `forbidden`: whether the task forbids the tool of a name; `strip_tools`: take those out of requests
    - `tells_tools`: false where the harness itself tells its messages and tools: then only calls are recorded
    - `emit`: takes every event; called in the loop, in order
    - `blob`: keeps bytes and says under which digest, for cassettes; called in a thread
    """

    trial: str
    token: str = field(repr=False)
    upstream: ResolvedUpstream | None
    model: str | None
    limits: Limits
    sampling: SamplingWish
    emit: Callable[[EventData], None]
    names: ToolNames = field(default_factory=ToolNames)
    latency_ms: Mapping[str, int] = field(default_factory=dict)
    forbidden: Callable[[str], bool] = lambda _: False
    strip_tools: bool = False
    tells_tools: bool = True
    blob: Callable[[bytes], str] | None = None
    prices: Prices | None = None
    cassette: Cassette | None = None


class Channel:
    """What one trial did at the gateway so far.

    `calls` were sent on to the model (or answered by a cassette), side calls among them; `failed` of them brought no
    whole answer. `usage` sums what whole answers told, `lost_usage` what others told of themselves; null while none
    told any. `cost_usd` is what is known of what they cost. `fired` is the budget that was used up. `refused` calls
    were not passed on, for a budget or the loop guard. `over` is set when the harness goes on asking all the same: it
    must be stopped from outside.
    """

    def __init__(self, spec: ChannelSpec) -> None:
        self.spec = spec
        self.conversation = Conversation(spec.model)
        self.budget = Budget(spec.limits)
        self.guard = LoopGuard()
        self.ends = Ends(spec.limits.wall_seconds)
        self.recording = Recording(self)
        self.fired: LimitFired | None = None
        self.refused = 0
        self.over = asyncio.Event()
        self.freed = asyncio.Event()
        self.open: dict[str, Exchange] = {}
        self.reading = asyncio.Lock()
        self.closed = False
        self._flags: dict[str, None] = {}
        self._numbers = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def calls(self) -> int:
        """Calls to a model that were passed on."""
        return self.budget.sent

    @property
    def failed(self) -> int:
        """Those of them that brought no whole answer."""
        return self.budget.failed

    @property
    def usage(self) -> Usage | None:
        """What whole answers told that they used."""
        return self.budget.usage

    @property
    def turn_usage(self) -> Usage | None:
        """The part of it that the turns used: harnesses do not count what they ask their model on the side."""
        return self.budget.turn_usage

    @property
    def lost_usage(self) -> Usage | None:
        """What answers that broke off told that they used."""
        return self.budget.lost_usage

    @property
    def cost_usd(self) -> float | None:
        """What is known of what all of them cost: by the provider's word, else by the price table."""
        return self.budget.cost_usd

    @property
    def flags(self) -> list[str]:
        """What a reader of the result should know, in the order in which it was seen."""
        return list(self._flags)

    def flag(self, name: str) -> None:
        """Remember a flag."""
        self._flags[name] = None

    def next_call(self) -> str:
        """A new id for a call, unique in this channel."""
        self._numbers += 1
        return f"m{self._numbers}"

    def verdict(self, *, stopped: bool = True) -> tuple[str | None, str | None]:
        """(outcome, reason) as far as the calls say how the trial ended; (None, None) where they do not.

        `stopped`: the harness was ended from outside, so that a call which it left unanswered may have been cut
        short by that. Ask when the channel is closed.
        """
        return self.ends.verdict(stopped=stopped, fired=self.fired is not None)

    def track(self, task: asyncio.Task[None]) -> None:
        """A task that belongs to this channel, until it is done."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def room(self) -> None:
        """Return when a call has ended, or soon: one whose answer is told may be held open by the harness."""
        self.freed.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.freed.wait(), _LOOK_AGAIN_S)

    async def close(self) -> None:
        """Break off what is open, and record its end. Twice does no harm."""
        self.closed = True
        for exchange in list(self.open.values()):
            exchange.stop()
        while pending := [*self._tasks, *(e.task for e in self.open.values() if e.task is not None)]:
            await asyncio.wait(pending)
