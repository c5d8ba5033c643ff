"""The model behind a trial: the run's gateway, a try's channel in it, and what that channel says of the try."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import msgspec

from harnesses.base import GatewayAddress
from hemra.datasets.toolnames import mcp_prefix
from hemra.engine.mcp import names_of
from hemra.engine.request import MISS_ERROR, MISS_UPSTREAM

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from eventlog.schemas.base import EventData
    from eventlog.schemas.runs import RunPlanned
    from eventlog.schemas.trials import LimitFired, Usage
    from eventlog.store import Store
    from harnesses.base import Conclusion, Harness
    from hemra.engine.context import Job
    from hemra.gateway.cassette import Cassette, TrialCassette
    from hemra.gateway.channel import Channel, ResolvedUpstream
    from hemra.gateway.prices import PriceTable
    from hemra.gateway.server import Gateway
    from hemra.sandboxes.base import Endpoint, Sandbox
    from hemra.secrets import Redactor


@dataclass(frozen=True, kw_only=True)
class RunGateway:
    """The gateway of a run, and where it passes the calls of each harness (by name) on to."""

    server: Gateway
    upstreams: Mapping[str, ResolvedUpstream | None]
    prices: PriceTable | None = None
    blob: Callable[[bytes], str] | None = None
    cassette: Callable[[Job], TrialCassette | None]

    def keys(self) -> dict[str, dict[str, str]]:
        """What must not be recorded, by harness and by the name that stands in its place."""
        return {
            name: {f"upstream.key of {name}": upstream.key}
            for name, upstream in self.upstreams.items()
            if upstream is not None and upstream.key is not None
        }


@contextlib.asynccontextmanager
async def open_gateway(
    store: Store, planned: RunPlanned, harnesses: Mapping[str, Harness]
) -> AsyncIterator[RunGateway | None]:
    """The gateway for as long as the run needs it; None where no harness does. Raises HemraError for a key that is
    not to be had: none is needed where a cassette answers everything."""
    wanted = {
        name: upstream for name, each in harnesses.items() if (upstream := each.traits.upstream) is not None
    }
    if not wanted:
        yield None
        return
    from hemra.gateway.keys import resolved
    from hemra.gateway.prices import PriceTable
    from hemra.gateway.server import Gateway

    offline = planned.cassette is not None and planned.cassette.miss == MISS_ERROR
    upstreams = {name: None if offline else resolved(upstream) for name, upstream in wanted.items()}
    server = await Gateway.start()
    gateway = RunGateway(
        server=server, upstreams=upstreams,
        prices=PriceTable.of_record(planned.prices) if planned.prices else None,
        blob=(lambda body: store.blobs.put(body).digest) if planned.record_cassette else None,
        cassette=partial(cassette_for, store, planned),
    )  # fmt: skip
    try:
        yield gateway
    finally:
        await server.close()


@lru_cache(maxsize=4)
def _loaded(store: Path, reference: str) -> Cassette:
    from eventlog.store import Store
    from hemra.gateway.cassette import Cassette

    return Cassette.load(Store.open(store), reference)


def cassette_for(store: Store, planned: RunPlanned, job: Job) -> TrialCassette | None:
    """The answers for a new try of a job; None where the run is not answered from a cassette.

    Raises NotFound, UsageError and HemraError as `Cassette.load` does.
    """
    wanted = planned.cassette
    if wanted is None:
        return None
    reference = wanted.run if wanted.trial is None else f"{wanted.run}/{wanted.trial}"
    player = _loaded(store.path, reference).player
    return player(job.harness.name, job.task.id, job.attempt, upstream=wanted.miss == MISS_UPSTREAM)


class Served:
    """The model of one try. Without a gateway for its harness everything here is empty."""

    def __init__(self, gateway: RunGateway | None, job: Job) -> None:
        self._gateway = gateway if gateway is not None and job.harness.name in gateway.upstreams else None
        self._job = job
        self._channel: Channel | None = None
        self._cassette: TrialCassette | None = None

    @property
    def reach(self) -> list[Endpoint]:
        """Where the try reaches its model on this machine."""
        return [] if self._gateway is None else [self._gateway.server.endpoint]

    @property
    def tells_conversation(self) -> bool:
        """Whether the gateway, not the harness, tells what was said and which tools were called."""
        return self._gateway is not None and not self._job.harness.records_tools

    def admit(
        self, sandbox: Sandbox, emit: Callable[[EventData], None], redactor: Redactor
    ) -> GatewayAddress | None:
        """Open the try's channel. Returns where its programs reach it."""
        if self._gateway is None:
            return None
        from hemra.gateway.channel import ChannelSpec
        from hemra.gateway.normal import SamplingWish

        gateway, job = self._gateway, self._job
        keep = gateway.blob
        self._cassette = cassette = gateway.cassette(job)
        if cassette is not None:
            cassette.at(workspace=sandbox.inside(sandbox.workspace), home=sandbox.inside(sandbox.home))
        names = names_of(job.task, job.harness)
        forbidden = {names.canonical(tool) for tool in job.task.spec.forbidden_tools}
        token = secrets.token_urlsafe(24)
        self._channel = gateway.server.admit(
            ChannelSpec(
                trial=job.trial, token=token, upstream=gateway.upstreams[job.harness.name],
                model=job.harness.definition.get("model"), limits=job.limits,
                sampling=SamplingWish(**msgspec.structs.asdict(job.task.spec.sampling)),
                names=names,
                latency_ms={names.canonical(tool): delay for tool, delay in job.task.spec.latency_ms.items()},
                forbidden=lambda name: names.canonical(name) in forbidden,
                strip_tools=job.harness.traits.strip_tools,
                tells_tools=self.tells_conversation, emit=emit, prices=gateway.prices, cassette=cassette,
                blob=None if keep is None else lambda body: keep(redactor.clean_bytes(body)),
            )
        )  # fmt: skip
        place = sandbox.address(gateway.server.endpoint)
        return GatewayAddress(
            root=f"http://{place}/t/{job.trial}", token=token, dialect=job.harness.traits.spoken
        )

    @property
    def over(self) -> list[asyncio.Event]:
        """Set when the harness is to be stopped: it goes on asking although its budget is spent."""
        return [] if self._channel is None else [self._channel.over]

    @property
    def turns(self) -> int | None:
        """How many turns it took by the gateway's count; null for none."""
        return None if self._channel is None else int(self._channel.budget.made()["turns"]) or None

    @property
    def fired(self) -> LimitFired | None:
        """The budget that was spent."""
        return None if self._channel is None else self._channel.fired

    def endpoint(self, *, stopped: bool) -> tuple[str | None, str | None]:
        """(outcome, reason) as far as its calls say how the try ended. `stopped`: the harness was ended from outside,
        so that a call which it left unanswered may have been cut short by that."""
        return (None, None) if self._channel is None else self._channel.verdict(stopped=stopped)

    @property
    def sound(self) -> bool:
        """Whether its calls were served, the last one included."""
        return self._channel is not None and self._channel.ends.sound

    @property
    def missed(self) -> str | None:
        """Which request the cassette had no answer for, where the try was refused for that."""
        if self._channel is None or "cassette_miss" not in self._channel.flags:
            return None
        assert self._cassette is not None
        return f"the cassette has no answer: {self._cassette.misses[-1]}"

    @property
    def refused(self) -> bool:
        """Whether we refused it a call: what it then says of its endpoint is about us."""
        return self._channel is not None and self._channel.refused > 0

    def usage(self, said: Conclusion | None) -> Usage | None:
        """What the try used: by the gateway's record where calls passed it, else by the harness's own word."""
        if self._channel is not None and self._channel.calls:
            return self._channel.usage
        return said.usage if said else None

    def flags(self, said: Conclusion | None) -> list[str]:
        """What a reader of the try should know of its calls."""
        if self._channel is None:
            return []
        found = list(self._channel.flags)
        if not self._channel.calls:
            found.append("no_model_calls")
        elif self._untold():
            found.append("mcp_not_offered")
        told, seen = said.usage if said else None, (self._channel.usage, self._channel.turn_usage)
        if told is not None and all(sums is not None and _differ(told, sums) for sums in seen):
            found.append("usage_disagrees")
        return found

    def _untold(self) -> bool:
        """Whether the task brings an MCP server of whose tools the model was offered none: the harness did not take it,
        or the server did not start."""
        assert self._channel is not None
        names = names_of(self._job.task, self._job.harness)
        offered = [names.canonical(name) for name in self._channel.conversation.offered]
        servers = map(mcp_prefix, self._job.task.spec.mcp_servers)
        return any(not any(tool.startswith(prefix) for tool in offered) for prefix in servers)

    async def close(self) -> None:
        """End what is still under way; everything of it is recorded on return."""
        if self._gateway is not None and self._channel is not None:
            await self._gateway.server.dismiss(self._channel)


def _differ(told: Usage, seen: Usage) -> bool:
    """Whether the harness told other sums than were served. What one side does not tell differs from nothing."""
    pairs = [(told.input_tokens, seen.input_tokens), (told.output_tokens, seen.output_tokens)]
    return any(left is not None and right is not None and left != right for left, right in pairs)
