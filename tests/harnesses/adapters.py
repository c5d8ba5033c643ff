"""What the tests of the adapters share: an adapter as its file makes it, its samples, and what no reader may do."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import MessageRecorded, NoteRecorded, ToolCalled, ToolReturned
from harnesses.agent import AgentHarness
from harnesses.base import Conclusion, Dialect, GatewayAddress, Interpreter
from harnesses.file import check

H = TypeVar("H", bound=AgentHarness)
SAMPLES = Path(__file__).parent / "samples"
#: A value of every type that JSON has, for places where another one is expected.
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    "",
    "text",
    [],
    ["x", {}],
    {},
    {"type": "text"},
    2**70,
    float("nan"),
)


def gateway(dialect: Dialect = "chat") -> GatewayAddress:
    """Where a trial reaches its model."""
    return GatewayAddress(root="http://127.0.0.1:4000/t/0001", token="trial-token", dialect=dialect)


def made(adapter: type[H], folder: Path, environment: dict[str, str] | None = None, **fields: Any) -> H:
    """An adapter whose program is `agent`, with what its file says beside that."""
    usual = {
        "name": "a", "kind": "k", "command": ["agent"], "model": "test-model",
        "upstream": {"base_url": "http://127.0.0.1:9/v1"},
    }  # fmt: skip
    return adapter(check(usual | fields), folder, environment or {})


def sample(name: str) -> bytes:
    """What a real program printed, shortened where it is marked so."""
    return (SAMPLES / name).read_bytes()


def lines(*told: Any) -> bytes:
    """Lines of JSON."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in told)


def read(
    interpreter: Interpreter, stdout: bytes, exit_code: int | None = 0, exit_signal: int | None = None
) -> tuple[list[EventData], Conclusion]:
    """Events and conclusion of a process that printed this."""
    events = interpreter.feed("stdout", stdout)
    rest, conclusion = interpreter.finish(exit_code, exit_signal)
    return events + rest, conclusion


def messages(events: list[EventData]) -> list[tuple[str, Any, Any, bool]]:
    """(role, text, reasoning, final) of every message."""
    return [(e.role, e.text, e.reasoning, e.final) for e in events if isinstance(e, MessageRecorded)]


def calls(events: list[EventData]) -> list[tuple[str, str, Any, int | None]]:
    """(id, name, arguments, turn) of every tool call."""
    return [(e.call, e.name, e.arguments, e.turn) for e in events if isinstance(e, ToolCalled)]


def results(events: list[EventData]) -> list[tuple[str, str | None, bool | None, Any]]:
    """(id, name, ok, result) of every tool result."""
    return [(e.call, e.name, e.ok, e.result) for e in events if isinstance(e, ToolReturned)]


def notes(events: list[EventData]) -> dict[str, list[str]]:
    """Texts of the notes by their code."""
    found: dict[str, list[str]] = {}
    for event in events:
        if isinstance(event, NoteRecorded):
            found.setdefault(event.code, []).append(event.text)
    return found


def as_data(events: list[EventData]) -> list[tuple[str, Any]]:
    """Events so that they can be compared."""
    return [(type(event).__name__, msgspec.to_builtins(event)) for event in events]


def same_in_any_pieces(make: Callable[[], Interpreter], content: bytes, seed: int) -> None:
    """A reader must find the same in a stream however its chunks fall."""
    whole, said = read(make(), content)
    chance = random.Random(seed)
    for size in (1, 7, 4096):
        interpreter, events, at = make(), [], 0
        while at < len(content):
            length = max(1, chance.randrange(2 * size))
            events += interpreter.feed("stdout", content[at : at + length])
            at += length
        rest, conclusion = interpreter.finish(0, None)
        assert (as_data(events + rest), conclusion) == (as_data(whole), said)


def survives(make: Callable[[], Interpreter], content: bytes, seed: int) -> None:
    """Whatever becomes of its lines, a reader goes on to the end, keeps counts and tells one answer at most."""
    chance = random.Random(seed)
    rows = content.splitlines(keepends=True)
    for _ in range(60):
        mixed = list(rows)
        chance.shuffle(mixed)
        mixed = [_bent(row, chance) for row in mixed[: chance.randrange(len(mixed) + 1)]]
        cut = b"".join(mixed)
        cut = cut[: chance.randrange(len(cut) + 1)] + chance.randbytes(chance.choice((0, 0, 50)))
        code = chance.choice((0, 1, 143, None))
        events, conclusion = read(make(), cut, code)
        assert sum(isinstance(e, MessageRecorded) and e.final for e in events) <= 1
        assert conclusion.recognised >= 0
        assert conclusion.unrecognised >= 0
        assert conclusion.outcome != "completed"
        json.dumps(as_data(events))
        usage = conclusion.usage
        assert usage is None or all(value is None or value >= 0 for value in msgspec.structs.astuple(usage))


def _bent(row: bytes, chance: random.Random) -> bytes:
    """A line as it is, with a value of it replaced, or with bytes of it changed."""
    kind = chance.randrange(4)
    if kind == 0:
        return row
    if kind == 1 and row.strip():
        at = chance.randrange(len(row))
        return row[:at] + bytes(chance.randrange(256) for _ in range(3)) + row[at + 1 :]
    try:
        told = json.loads(row)
    except ValueError:
        return row
    for _ in range(kind):
        bend(told, chance)
    return json.dumps(told).encode() + b"\n"


def bend(told: Any, chance: random.Random) -> None:
    """Put an odd value in the place of one that is somewhere in there."""
    place = told
    while isinstance(place, dict | list) and place:
        key: Any = chance.choice(list(place)) if isinstance(place, dict) else chance.randrange(len(place))
        if not isinstance(place[key], dict | list) or not place[key] or chance.random() < 0.3:
            place[key] = copy.deepcopy(chance.choice(ODD))
            return
        place = place[key]
