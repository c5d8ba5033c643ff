"""Takes a request in: its body as a whole, and what it says, both within the memory that its trial may hold."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Protocol

from aiohttp import web

from hemra.gateway.asked import Asked
from hemra.gateway.memory import FIRST, HEAVIEST, LARGEST_REQUEST, LIGHT, MIB, Held, weigh

#: Seconds in which a body must have come once there is room for it, and more for every MiB: until then others may have
#: to wait.
BODY_S, MIB_S = 60.0, 1.0
#: A body that is larger, or packed, is read in a thread: other trials need not wait for it.
_LARGE = 256 << 10


class TooLarge(Exception):
    """A request is larger than the gateway takes."""


class TooSlow(Exception):
    """The body of a request did not come in time."""


class Reading(Protocol):
    """Reads a request, up to so many bytes by `weigh`: `Asked.weight` says whether it took more."""

    def __call__(self, body: bytes, *, most: int) -> Asked: ...


async def body_of(request: web.Request, held: Held, waits: Callable[[], None]) -> bytes:
    """The body, for which room was taken before it is let in. Raises TooLarge and TooSlow. `waits` is called where
    room had to be waited for."""
    length = request.content_length
    if length is not None and length > LARGEST_REQUEST:
        raise TooLarge
    content = request.content
    if length is None and content.is_eof():
        length = content.total_bytes
    if await held.take(FIRST if length is None else length):
        waits()
    if content.is_eof():
        return content.read_nowait(-1)
    try:
        async with asyncio.timeout(_time_for(held)) as limit:
            body = io.BytesIO()
            while chunk := await content.readany():
                size = body.tell() + len(chunk)
                if size > LARGEST_REQUEST:
                    raise TooLarge
                if size > held.size:
                    limit.reschedule(None)
                    if await held.take(LARGEST_REQUEST):
                        waits()
                    limit.reschedule(asyncio.get_running_loop().time() + _time_for(held))
                body.write(chunk)
    except TimeoutError:
        raise TooSlow from None
    held.keep(body.tell())
    return body.getvalue()


def _time_for(held: Held) -> float:
    return BODY_S + MIB_S * held.size / MIB


async def read_within(
    held: Held, reading: Reading, body: bytes, *, packed: bool, waits: Callable[[], None]
) -> Asked:
    """What a body says. What it takes is known only when it is unpacked: it is read within little room first."""
    if not packed and len(body) <= _LARGE:
        if await held.take(min(weigh(body), HEAVIEST)):
            waits()
        return _settled(held, reading(body, most=HEAVIEST))
    for most in (LIGHT, HEAVIEST):
        if await held.take(most):
            waits()
        asked = await asyncio.to_thread(reading, body, most=most)
        if asked.weight <= most:
            break
        held.free()
    return _settled(held, asked)


def _settled(held: Held, asked: Asked) -> Asked:
    held.keep(asked.weight if asked.request is not None else 0)
    return asked
