"""Removes containers and networks of trials whose process died. They are found by label, and by nothing else."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import docker

from hemra.sandboxes.base import SandboxError
from hemra.sandboxes.docker_container import remove_container
from hemra.sandboxes.docker_engine import (
    FOLDER_LABEL,
    RUN_LABEL,
    STORE_LABEL,
    TRIAL_LABEL,
    EngineGone,
    address_problem,
    engine,
)
from hemra.sandboxes.docker_network import remove_network
from hemra.sandboxes.scratch import owner_lives


def reclaim(store: str, run: str | None = None) -> list[str]:
    """Remove what trials of `store` (with `run`, of that run) left in the engine; a line for each thing.

    A trial whose process lives holds the lock of its folder, and is left alone. No engine: nothing to be removed.
    Blocks. Raises SandboxError when something cannot be removed.
    """
    found = engine()
    if not store or address_problem(found.address) is not None:
        return []
    with contextlib.suppress(EngineGone):
        return found.blocking(lambda api: _reclaim(api, store, run))
    return []


def _reclaim(api: docker.APIClient, store: str, run: str | None) -> list[str]:
    wanted = [f"{STORE_LABEL}={store}", *([f"{RUN_LABEL}={run}"] if run is not None else [])]
    lines, problems = [], []
    for what, items, remove in (
        ("container", api.containers(all=True, filters={"label": wanted}), remove_container),
        ("network", api.networks(filters={"label": wanted}), remove_network),
    ):
        for item in items:
            if not _abandoned(item):
                continue
            marks = item["Labels"]
            name = f"{what} {item['Id'][:12]} of run {marks.get(RUN_LABEL)}, trial {marks.get(TRIAL_LABEL)}"
            try:
                remove(api, item["Id"])
                lines.append(name)
            except SandboxError as error:
                problems.append(f"{name}: {error}")
    if problems:
        raise SandboxError("; ".join(problems))
    return lines


def _abandoned(item: dict[str, Any]) -> bool:
    folder = (item.get("Labels") or {}).get(FOLDER_LABEL)
    return folder is not None and not owner_lives(Path(folder))
