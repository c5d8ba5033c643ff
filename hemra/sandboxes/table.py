"""The enforcement table: what each sandbox holds on this machine, as claimed and as shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Enforcement
from hemra.sandboxes.base import Network, SandboxSpec
from hemra.sandboxes.registry import open_sandbox
from hemra.sandboxes.shown import Shown
from hemra.sandboxes.verdicts import Verdict, allowed


@dataclass(frozen=True)
class Held:
    """What a sandbox claims with a network, what a probe showed, and what is therefore recorded of a trial."""

    claims: dict[str, Enforcement]
    verdicts: list[Verdict]
    recorded: dict[str, Enforcement]
    problems: list[str]


def claims_of(ref: str, network: Network) -> dict[str, Enforcement]:
    """What a sandbox claims; none is made for it."""
    spec = SandboxSpec(
        run="table", trial="0000", try_no=1, limits=Limits(), network=network, root=Path(gettempdir())
    )
    return open_sandbox(ref, spec).enforcement()


async def held(ref: str, network: Network, *, anew: bool = False) -> Held:
    """The table of one sandbox. A probe is carried out where none is remembered, and always with `anew`."""
    shown = Shown()
    verdicts = await shown.of(ref, network, anew=anew)
    claims = claims_of(ref, network)
    return Held(claims, verdicts, allowed(claims, verdicts), shown.problems)
