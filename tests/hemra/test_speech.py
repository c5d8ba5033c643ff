"""What an interpreter that talks says: on its way to the program, recorded, bounded, and over in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from eventlog.blobs import BlobStore
from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import ArtifactStored, TerminalInput, TerminalOutput
from harnesses.base import Conclusion, Launch
from hemra.engine import speech
from hemra.engine.intake import Intake
from hemra.engine.speech import Speech
from tests.hemra.test_engine_intake import KEY, Log


class Talker:
    """Says hello, and to everything that it hears what `answer` makes of it."""

    def __init__(
        self, answer: Callable[[bytes], bytes] = lambda chunk: b"", *, patience: float = 60.0
    ) -> None:
        self.patience = patience
        self.ready = self.ended = self.gave_up = False
        self._answer = answer
        self._said = b"hello"

    def begin(self, launch: Launch) -> None:
        """Not of interest."""

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """Hear."""
        self._said += self._answer(chunk)
        return []

    def say(self) -> bytes:
        """What is to be said."""
        said, self._said = self._said, b""
        return said

    def give_up(self) -> None:
        """It was not ready."""
        self.gave_up = True

    def cancel(self) -> None:
        """The last word."""
        self._said += b"stop" if self.ready else b""

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """Nothing."""
        return [], Conclusion()


def run(talker: Talker, work: Callable[[Speech, list[bytes]], Coroutine[Any, Any, None]]) -> list[bytes]:
    """What was recorded while `work` was done with the talker's speech."""
    recorded: list[bytes] = []

    async def go() -> None:
        said = Speech(talker, lambda: talker.ended, recorded.append)
        try:
            await asyncio.wait_for(work(said, recorded), 10)
        finally:
            said.close()

    asyncio.run(go())
    return recorded


def test_what_is_said_is_read_in_order_and_recorded() -> None:
    """A trial whose questions are not in its record cannot be replayed."""
    talker = Talker(lambda chunk: b"<" + chunk + b">")

    async def work(said: Speech, recorded: list[bytes]) -> None:
        said.begin()
        assert await said.read() == b"hello"
        for chunk in (b"a", b"b"):
            talker.feed("stdout", chunk)
            await said.heard()
        assert await said.read() == b"<a><b>"

    assert run(talker, work) == [b"hello", b"<a>", b"<b>"]


def test_its_end_comes_a_moment_after_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent whose input is closed at its last word exits, and takes with it what it had still to say."""
    monkeypatch.setattr(speech, "LATE_SECONDS", 0.2)
    talker = Talker()

    async def work(said: Speech, recorded: list[bytes]) -> None:
        said.begin()
        await said.read()
        talker.ended = True
        began = asyncio.get_running_loop().time()
        await said.heard()
        assert await said.read() == b""
        assert asyncio.get_running_loop().time() - began >= 0.19

    run(talker, work)


def test_a_program_that_is_never_ready_is_given_up() -> None:
    """A silent program would have all of its trial's time, and look like one whose task took too long."""
    talker = Talker(patience=0.05)

    async def work(said: Speech, recorded: list[bytes]) -> None:
        said.begin()
        await said.over.wait()

    run(talker, work)
    assert talker.gave_up
    ready = Talker(patience=0.05)
    ready.ready = True

    async def watch(said: Speech, recorded: list[bytes]) -> None:
        said.begin()
        await asyncio.sleep(0.15)
        assert not said.over.is_set()

    run(ready, watch)
    assert not ready.gave_up


def test_one_who_reads_nothing_is_heard_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that asks without end and reads no answer would fill our memory."""
    monkeypatch.setattr(speech, "WAITING_BYTES", 1000)
    talker = Talker(lambda chunk: b"x" * 600)

    async def work(said: Speech, recorded: list[bytes]) -> None:
        said.begin()
        talker.feed("stdout", b"?")
        await said.heard()
        talker.feed("stdout", b"?")
        waiting = asyncio.ensure_future(said.heard())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        assert len(await said.read()) == 1205
        await asyncio.wait_for(waiting, 1)
        talker.feed("stdout", b"?")
        talker.feed("stdout", b"?")
        waiting = asyncio.ensure_future(said.heard())
        await asyncio.sleep(0)
        said.close()  # the program is gone
        await asyncio.wait_for(waiting, 1)

    run(talker, work)


def test_a_farewell_waits_for_the_word_that_it_is_over() -> None:
    """An agent asked to stop would be killed before it can say that it has."""
    talker = Talker()
    talker.ready = True

    async def work(said: Speech, recorded: list[bytes]) -> None:
        said.begin()
        parting = asyncio.ensure_future(said.farewell())
        await asyncio.sleep(0.05)
        assert not parting.done()
        assert await said.read() == b"hellostop"
        talker.ended = True
        await said.heard()
        await asyncio.wait_for(parting, 1)

    run(talker, work)


def test_a_farewell_with_nothing_to_say_is_short() -> None:
    """Whatever is ended before it was given its task would cost seconds."""
    talker = Talker()

    async def work(said: Speech, recorded: list[bytes]) -> None:
        said.begin()
        await asyncio.wait_for(said.farewell(), 1)

    run(talker, work)


def test_what_is_said_is_recorded_beside_what_is_printed_and_without_secrets(tmp_path: Path) -> None:
    """A key that we say would be in the log, or the log would not tell who spoke first."""
    log, blobs = Log({"KEY": KEY}), BlobStore(tmp_path / "blobs")
    talker = Talker(lambda chunk: b"the key is " + KEY.encode() + b"\n")

    async def work() -> None:
        intake = Intake(log, talker, blobs)  # type: ignore[arg-type]
        intake.open()
        await intake.output("stdout", b"what is it?\n")
        await intake.output("stdout", b"thanks\n")
        intake.conclude(0, None)
        intake.store()

    asyncio.run(work())
    told = [
        (type(event).__name__, event.data)
        for event in log.events
        if isinstance(event, TerminalInput | TerminalOutput)
    ]
    names = [name for name, _ in told]
    assert names[:3] == ["TerminalInput", "TerminalOutput", "TerminalInput"]
    said = "".join(data for name, data in told if name == "TerminalInput")
    assert said == "hello" + "the key is [redacted:KEY]\n" * 2
    assert {event.name for event in log.of(ArtifactStored)} == {"stdout", "stdin"}
