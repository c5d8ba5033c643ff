"""What the log's tests share: a store in a temporary folder and small events."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventlog.envelope import Event, encode
from eventlog.payloads import needs
from eventlog.schemas.conversation import ToolCalled
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store at a path with a space and a non-ASCII letter."""
    return Store.open(tmp_path / "störe with space", create=True)


def line(text: str = "x", trial: str | None = None) -> bytes:
    """One producer's line."""
    return encode(
        ToolCalled(call=text, name="terminal", arguments=None), source="test", trial=trial, blobs=None
    )


def incoming(producer: int, first: int, count: int) -> Incoming:
    """`count` lines of a producer, whose `call` tells producer and number."""
    lines = [line(f"{producer}:{first + i}") for i in range(count)]
    return Incoming(producer.to_bytes(16, "big"), first, lines)


def filled(store: Store, name: str = "run", commits: int = 5, size: int = 4) -> list[str]:
    """A stream with `commits` group commits of `size` events in one live segment; returns the calls in order."""
    with StreamWriter.open(store, name, create=True) as writer:
        for index in range(commits):
            writer.commit([incoming(1, 1 + index * size, size)])
    return [f"1:{n}" for n in range(1, commits * size + 1)]


def named_blobs(event: Event) -> set[str]:
    """Digests of the blobs that an event names itself."""
    return {need.digest for need in needs(event)}
