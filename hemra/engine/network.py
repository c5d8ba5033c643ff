"""The network of a trial: what the run, its task, its harness and the model behind that ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast, get_args

from hemra.datasets.mcp import loopback_of
from hemra.sandboxes.base import Network

if TYPE_CHECKING:
    from harnesses.base import Harness, Needs
    from hemra.datasets.model import Task
    from hemra.engine.plan import Plan

NETWORKS: tuple[Network, ...] = get_args(Network)
_FEW = 3


def network_of(needs: Needs, task: Task, *, gateway: bool, asked: str | None = None) -> Network:
    """The network of a trial: what the run asks for; else what the harness file says; else all of it where the task
    wants that, or where the harness calls a model by itself and there is no gateway; else what the trial was given
    and nothing else."""
    said = asked or needs.network
    if said is not None:
        return cast(Network, said)
    if task.spec.network == "full" or (needs.model and not gateway):
        return "full"
    return "gateway"


def with_whole_network(plan: Plan) -> list[str]:
    """Names of the plan's harnesses that are given the whole network for some of its tasks, without the run's asking
    for that."""
    if plan.request.network is not None:
        return []
    return [
        chosen.harness.name
        for chosen in plan.harnesses
        for traits in [chosen.harness.traits]
        if any(
            network_of(traits.needs, task, gateway=traits.upstream is not None) == "full"
            for task in plan.tasks
        )
    ]


def conflicts(asked: str | None, harnesses: Sequence[Harness], tasks: Sequence[Task]) -> list[str]:
    """What cannot be had together with the network that the run asks for, one line each."""
    if asked is None:
        return []
    if asked not in NETWORKS:
        return [f"--network {asked}: there are {', '.join(NETWORKS)}"]
    return [
        *(line for harness in harnesses for line in _of_harness(asked, harness)),
        *_of_tasks(
            asked,
            "need all of the network (network: full)",
            [task for task in tasks if asked != "full" and task.spec.network == "full"],
        ),
        *_of_tasks(
            asked,
            "bring services outside the sandbox (services.web, or a url of mcp_servers)",
            [task for task in tasks if asked == "none" and _reaches_out(task)],
        ),
    ]


def _reaches_out(task: Task) -> bool:
    """Whether its trials reach something on this machine that is not in their sandbox."""
    return task.spec.services.web is not None or bool(loopback_of(task.spec))


def _of_harness(asked: str, harness: Harness) -> list[str]:
    own = harness.traits.needs.network
    if own is not None and own != asked:
        return [
            f"harness {harness.name}: its file says network: {own}, and this run --network {asked}; "
            "take one of them out"
        ]
    if asked == "none" and harness.traits.upstream is not None:
        return [
            f"harness {harness.name} reaches its model through the gateway, which --network none cuts off; "
            "use --network gateway"
        ]
    return []


def _of_tasks(asked: str, what: str, tasks: Sequence[Task]) -> list[str]:
    if not tasks:
        return []
    names = ", ".join(task.id for task in tasks[:_FEW])
    more = f" and {len(tasks) - _FEW} more" if len(tasks) > _FEW else ""
    return [
        f"--network {asked}: {len(tasks)} tasks {what}: {names}{more}; choose other tasks, or no --network"
    ]


def remarks(asked: str | None, harnesses: Sequence[Harness], tasks: Sequence[Task]) -> list[str]:
    """What a person should know of the network that the run asks for."""
    found = []
    opened = [task for task in tasks if task.spec.network != "full"] if asked == "full" else []
    if opened:
        found.append(f"--network full: {len(opened)} tasks ask for less, and their trials get all of it")
    for harness in harnesses if asked in ("none", "gateway") else ():
        needs = harness.traits.needs
        if needs.model and needs.network is None and harness.traits.upstream is None:
            found.append(
                f"--network {asked}: harness {harness.name} names no upstream, so a model outside this machine's "
                "sandbox is out of its reach"
            )
    return found
