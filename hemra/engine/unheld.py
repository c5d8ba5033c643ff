"""What a task asks for and nobody holds in this trial: each field by its name in task.yaml, and why.

Every other field is held: by the engine (fixture, instruction, prepare.py, variants, services, world, verifier,
absent files, the limit of turns where turns are told) or by the sandbox (the limits and the network that it says
it enforces). version, title, difficulty and tags are for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from hemra.engine.judge import tells_tools
from hemra.engine.limits import BUDGET, NAMES
from hemra.sandboxes.base import HELD_AS

if TYPE_CHECKING:
    from eventlog.schemas.runs import Limits
    from eventlog.schemas.trials import Enforcement
    from harnesses.base import Harness
    from hemra.datasets.model import Task

_UNSEEN = {
    "turns": "this harness does not tell its turns",
    "tokens": "counted as the harness tells them and flagged; it is not stopped for them",
}
_NOT_TOLD = "this harness does not tell which tools it calls"
_OF_SERVERS = "of the tools that the task's MCP servers bring, the harness offers all"
_AFTER = "calls are recorded as the harness tells them and flagged, not prevented"
_IF_TOLD = "calls that the harness tells are flagged, not prevented, and nobody says that it tells all"
_BY_TELLING = {True: _AFTER, False: _NOT_TOLD, None: _IF_TOLD}


def unheld(
    task: Task,
    harness: Harness,
    limits: Limits,
    enforcement: Mapping[str, Enforcement],
    *,
    quotas: bool = False,
) -> dict[str, str]:
    """Reason by name: limits by the names of the record, other fields by those of task.yaml, with a dot for parts.
    `quotas`: whether the sandbox gives folders a size of their own."""
    found = _limits(harness, limits, enforcement)
    spec, enforces, traits = task.spec, harness.enforces, harness.traits
    gateway = traits.upstream is not None
    stripped = gateway and traits.strip_tools
    if spec.network != "full" and not _held(enforcement, "network"):
        found["network"] = f"{spec.network} was asked for: {_by(enforcement, 'network')}"
    for folder in () if quotas else spec.quota_kb:
        found[f"quota_kb.{folder}"] = "a plain folder: this sandbox gives no folder a size of its own"
    for name, tools in (("allowed_tools", spec.allowed_tools), ("forbidden_tools", spec.forbidden_tools)):
        if not tools or (stripped and name == "forbidden_tools"):
            continue
        if name not in enforces:
            found[name] = _BY_TELLING[tells_tools(harness)]
        elif spec.mcp_servers:
            found[name] = _OF_SERVERS
    for name in spec.mcp_servers if traits.mcp_transports is None else ():
        found[f"mcp_servers.{name}"] = "this kind of harness does not say whether it takes MCP servers"
    for part, value in msgspec.structs.asdict(spec.sampling).items():
        if value is not None and f"sampling.{part}" not in enforces and not gateway:
            found[f"sampling.{part}"] = "this harness decides by itself how its model samples"
    for tool, milliseconds in spec.latency_ms.items():
        if milliseconds and "latency_ms" not in enforces and not gateway:
            found[f"latency_ms.{tool}"] = "only a harness can delay its own tools, and this one does not"
    return found


def _limits(harness: Harness, limits: Limits, enforcement: Mapping[str, Enforcement]) -> dict[str, str]:
    found = {}
    for name in NAMES:
        if getattr(limits, name) is None or name in harness.enforces:
            continue
        if name == "turns" or name in BUDGET:
            if harness.traits.upstream is not None or (name == "turns" and harness.records_tools):
                continue
            found[name] = _UNSEEN.get(
                name, "only the model gateway can hold it, and this harness has no upstream"
            )
        elif not _held(enforcement, HELD_AS[name]):
            found[name] = _by(enforcement, HELD_AS[name])
    return found


def _held(enforcement: Mapping[str, Enforcement], name: str) -> bool:
    held = enforcement.get(name)
    return held is not None and held.status != "not enforced"


def _by(enforcement: Mapping[str, Enforcement], name: str) -> str:
    held = enforcement.get(name)
    return (held.by if held is not None else None) or "this sandbox does not hold it"
