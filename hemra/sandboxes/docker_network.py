"""The network of one trial: none, or a bridge of its own, so that trials do not see each other."""

from __future__ import annotations

import asyncio
import time

import docker

from hemra.sandboxes.base import SandboxError, SandboxSpec
from hemra.sandboxes.docker_engine import PATIENCE_SECONDS, STORE_LABEL, Engine, said

_NO_POOL = (
    "non-overlapping IPv4 address pool",
    "fully subnetted",
    "no available network",
    "no more addresses",
)
_PAUSE_SECONDS = 0.5
#: How long a trial waits for an address pool when no other trial's network could give one back.
ALONE_SECONDS = 30.0


class Network:
    """From `create` to `remove`. With `none` or `gateway` there is nothing to be made."""

    def __init__(self, engine: Engine, spec: SandboxSpec, labels: dict[str, str]) -> None:
        self._engine = engine
        self._spec = spec
        self._labels = labels
        self._id = ""

    async def create(self) -> str:
        """Its name for the container. While other trials hold all address pools it waits. Raises SandboxError."""
        if self._spec.network != "full":
            return "none"
        deadline = time.monotonic() + ALONE_SECONDS
        while True:
            try:
                self._id = await self._engine.call(self._create)
            except docker.errors.APIError as error:
                if not any(words in said(error) for words in _NO_POOL):
                    raise SandboxError(f"the engine makes no network: {said(error)}", infra=True) from error
                if await self._engine.call(_of_trials):
                    deadline = time.monotonic() + ALONE_SECONDS
                elif time.monotonic() > deadline:
                    raise SandboxError(
                        f"the engine has no addresses left for a network: {said(error)}; remove networks that are "
                        "not used (docker network prune), or give it more (default-address-pools)",
                        infra=True,
                    ) from error
            else:
                return self._id
            await asyncio.sleep(_PAUSE_SECONDS)

    def _create(self, api: docker.APIClient) -> str:
        spec = self._spec
        name = f"hemra-{spec.run}-{spec.trial}.{spec.try_no}"
        found: str = api.create_network(name, driver="bridge", labels=self._labels, check_duplicate=False)[
            "Id"
        ]
        return found

    async def remove(self) -> None:
        """Remove it, if it is there. Raises SandboxError."""
        if not self._id:
            return
        number, self._id = self._id, ""
        try:
            await self._engine.call(lambda api: remove_network(api, number), patience=PATIENCE_SECONDS)
        except BaseException:
            self._id = number
            raise


def _of_trials(api: docker.APIClient) -> bool:
    return bool(api.networks(filters={"label": STORE_LABEL}))


def remove_network(api: docker.APIClient, number: str) -> None:
    """Remove a network; no error when it is gone. SandboxError. Blocks."""
    try:
        api.remove_network(number)
    except docker.errors.NotFound:
        return
    except docker.errors.APIError as error:
        raise SandboxError(f"network {number[:12]} cannot be removed: {said(error)}") from error
