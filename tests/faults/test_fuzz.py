"""Whatever bytes come: the log returns data or raises its own error, in bounded memory and time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eventlog import anchor as anchors
from tests.faults.fuzz.targets import TARGETS, fresh, use

#: Examples a target in an ordinary run; torture does millions.
EXAMPLES = 60
SEEDS: dict[str, list[bytes]] = {}


def seeds(name: str) -> list[bytes]:
    """A target's seeds, made once."""
    if name not in SEEDS:
        SEEDS[name] = TARGETS[name].seeds()
    return SEEDS[name]


@st.composite
def inputs(draw: st.DrawFn, name: str) -> bytes:
    """Anything, or a seed with pieces flipped, removed, doubled, moved or replaced."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.binary(max_size=600))
    raw = bytearray(draw(st.sampled_from(seeds(name))))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(raw)))
        end = min(len(raw), start + draw(st.sampled_from([0, 1, 2, 4, 8, 30, 200, 5000])))
        piece = bytes(raw[start:end])
        kind = draw(st.sampled_from(["flip", "remove", "double", "replace", "move", "zero"]))
        if kind == "flip" and start < len(raw):
            raw[start] ^= 1 << draw(st.integers(0, 7))
        elif kind == "remove":
            del raw[start:end]
        elif kind == "double":
            raw[start:end] = piece + piece
        elif kind == "replace":
            raw[start:end] = draw(st.binary(max_size=40))
        elif kind == "zero":
            raw[start:end] = bytes(len(piece))
        else:
            del raw[start:end]
            place = draw(st.integers(0, len(raw)))
            raw[place:place] = piece
    return bytes(raw)


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_but_data_or_the_logs_own_error(name: str, quick: Path) -> None:
    """If this failed, some file, bundle or message would be a stack trace, a standstill, or a wrong result."""

    @settings(max_examples=EXAMPLES, deadline=5000, suppress_health_check=list(HealthCheck))
    @given(inputs(name))
    def run(data: bytes) -> None:
        TARGETS[name].run(data, quick / "work")

    run()


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_are_taken(name: str, quick: Path) -> None:
    """If this failed, fuzzing would begin from inputs that are refused at the door."""
    assert seeds(name)
    for seed in seeds(name):
        TARGETS[name].run(seed, quick / "work")


def test_numbers_beyond_all_files(quick: Path) -> None:
    """If this failed, an anchor with a right checksum and a wild offset would be a stack trace in every command."""
    store = fresh(quick / "work")
    path = store.stream_path("run") / anchors.NAME
    mark = anchors.load(path.parent)
    assert mark is not None
    wild = anchors._pack(mark._replace(state=anchors.OPEN, segment=5, offset=1 << 63))
    path.write_bytes(wild * 2)
    use(store)
