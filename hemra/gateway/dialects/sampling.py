"""Puts what a task asks of the decoding into a request's body."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from hemra.gateway.normal import SamplingWish


def put(
    body: dict[str, Any], wish: SamplingWish, fields: Collection[str]
) -> tuple[dict[str, Any], list[str]]:
    """Put the wish into `body`, in place, where the dialect has a field of that name; the value that the harness put
    there itself is replaced. Returns what was sent, and the names that are not among `fields`."""
    wanted = {name: value for name, value in msgspec.structs.asdict(wish).items() if value is not None}
    sent = {name: value for name, value in wanted.items() if name in fields}
    body.update(sent)
    return sent, [name for name in wanted if name not in fields]
