"""The event log: segments, recorder, bus, reader, tail, blobs, bundles, verify. Knows nothing of agents.

The public names are below, and `follow.follow`, `seal.seal` and `verify.verify` in the modules of their names.
Each is imported when it is first used, so that importing `eventlog` is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eventlog.bundle import export, import_
    from eventlog.client import Client
    from eventlog.envelope import Event
    from eventlog.errors import LogError
    from eventlog.reader import read, read_lines, resolve, stream_state
    from eventlog.schemas.base import EventData
    from eventlog.store import Store
    from eventlog.stream import StreamWriter

__all__ = [
    "Client",
    "Event",
    "EventData",
    "LogError",
    "Store",
    "StreamWriter",
    "export",
    "import_",
    "read",
    "read_lines",
    "resolve",
    "stream_state",
]

_HOMES = {
    "Client": "eventlog.client",
    "Event": "eventlog.envelope",
    "EventData": "eventlog.schemas.base",
    "LogError": "eventlog.errors",
    "Store": "eventlog.store",
    "StreamWriter": "eventlog.stream",
    "export": "eventlog.bundle",
    "import_": "eventlog.bundle",
    "read": "eventlog.reader",
    "read_lines": "eventlog.reader",
    "resolve": "eventlog.reader",
    "stream_state": "eventlog.reader",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'eventlog' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value
