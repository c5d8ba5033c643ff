"""Every dialect, streamed and not, through the real gateway: recorded once, given again byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from eventlog.reader import read
from eventlog.schemas.conversation import ModelResponded
from hemra.gateway.cassette import Cassette
from tests.gateway.conftest import Rig, Trial
from tests.gateway.recordings import Recording
from tests.tools.wire import PATHS, Reply, request, serving

SCRIPT = """
turns:
  - reasoning: I think.
    text: I shall.
    calls: [{action: terminal, arguments: {command: "echo 'ü \\\\\\"x\\\\\\"'"}}]
usage: {input: 30, output: 9, cache_read: 10, reasoning: 2}
faults:
  - {kind: FAULT, status: 429, retry_after: 7, turn: 1, times: 1}
"""


class Recorder:
    """Writes what a trial at a gateway tells into a recorded run."""

    def __init__(self, path: Path) -> None:
        self.run = Recording(path)
        self.run.start("0001")

    def options(self) -> dict[str, Any]:
        """What a channel is to be admitted with."""
        return {"emit": lambda event: self.run.event(event, "0001"), "blob": self.run.keep}

    def player(self) -> Any:
        """The cassette of it."""
        self.run.finish("0001")
        self.run.end()
        return Cassette.load(self.run.store, self.run.run).player("alpha", "t/a", 1)


def header(reply: Reply, name: str) -> str | None:
    """The value of a header, whatever the case of its name."""
    return {key.lower(): value for key, value in reply.headers.items()}.get(name)


def told(trial: Trial) -> list[tuple[Any, ...]]:
    """What was recorded of the answers that does not depend on the clock."""
    return [
        (a.status, a.ended, a.digest, a.bytes, a.usage, a.finish_reason, a.calls, a.message)
        for a in trial.answers
    ]


@pytest.mark.parametrize("fault", ["status", "cut"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", list(PATHS))
def test_answers_and_failures_are_given_again_byte_for_byte(
    rig: Rig, tmp_path: Path, dialect: str, stream: bool, fault: str
) -> None:
    """A harness would see another answer, another failure, or another moment at which it breaks off."""
    recorder = Recorder(tmp_path)
    with serving(SCRIPT.replace("FAULT", fault)) as server:
        recording = rig.admit(server.base, **recorder.options())
        first = [recording.ask(dialect, stream=stream) for _ in range(3)]
        recording.close()
    then = told_by(recorder)
    cassette = recorder.player()
    replaying = rig.admit(None, cassette=cassette)
    again = [replaying.ask(dialect, stream=stream) for _ in range(3)]
    replaying.close()
    assert [(r.status, r.body, r.whole) for r in again] == [(r.status, r.body, r.whole) for r in first]
    for name in ("content-type", "retry-after"):
        assert [header(r, name) for r in again] == [header(r, name) for r in first]
    assert header(again[0], "retry-after") == ("7" if fault == "status" else None)
    assert told(replaying) == then
    assert [a.replayed for a in replaying.answers] == [f"{recorder.run.run}/0001/m{i}" for i in (1, 2, 3)]
    assert cassette.misses == []


def told_by(recorder: Recorder) -> list[tuple[Any, ...]]:
    """The same of what stands in the recorded run."""
    recorder.run.commit()
    events = [
        msgspec.convert(event.data, ModelResponded)
        for event in read(recorder.run.store, recorder.run.run, types=("model.responded",))
    ]
    return [
        (a.status, a.ended, a.digest, a.bytes, a.usage, a.finish_reason, a.calls, a.message) for a in events
    ]


def test_a_miss_is_refused_in_the_dialects_own_form(rig: Rig, tmp_path: Path) -> None:
    """A client would take a miss for a broken server and ask again, or show its user nothing."""
    recorder = Recorder(tmp_path)
    recorder.run.record("0001", "m1", request("chat", "Do it."), {}, context="sha256:x")
    cassette = recorder.player()
    for dialect in PATHS:
        trial = rig.admit(None, cassette=cassette)
        reply = trial.ask(dialect, text="Do something else.")
        trial.close()
        assert reply.status == 400
        assert "has no answer for this conversation" in str(reply.json["error"]["message"])
        assert (trial.answers[0].ended, trial.answers[0].replayed) == ("refused", None)
        assert "cassette_miss" in trial.channel.flags
