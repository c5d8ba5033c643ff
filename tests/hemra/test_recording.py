"""Recording of output: what becomes an event, what becomes an artifact, and that neither loses a byte."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import ArtifactStored, TerminalClosed, TerminalOpened, TerminalOutput
from hemra.recording.terminal import EVENT_BYTES, RECORDED_BYTES, TerminalRecorder


class Blob:
    """A blob in memory."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.state = "open"
        self.digest = ""
        self.size = 0

    def write(self, data: bytes, /) -> None:
        """Add bytes."""
        assert self.state == "open"
        self.content += data

    def commit(self) -> Blob:
        """Make it durable."""
        self.state, self.size, self.digest = "durable", len(self.content), f"sha256:{len(self.content)}"
        return self

    def abort(self) -> None:
        """Forget it."""
        self.state = "forgotten"


class Recording:
    """A recorder with what it emitted and the blobs that it began."""

    def __init__(self, **options: Any) -> None:
        self.events: list[EventData] = []
        self.blobs: list[Blob] = []
        self.recorder = TerminalRecorder(self.events.append, self._blob, **options)
        self.recorder.open()

    def _blob(self) -> Blob:
        self.blobs.append(Blob())
        return self.blobs[-1]

    def output(self, stream: str) -> list[TerminalOutput]:
        """The output events of a stream."""
        return [e for e in self.events if isinstance(e, TerminalOutput) and e.stream == stream]

    def bytes_of(self, stream: str) -> bytes:
        """What the events of a stream say, put together; their offsets must fit."""
        whole = b""
        for event in self.output(stream):
            assert event.offset == len(whole)
            whole += event.data.encode() if isinstance(event.data, str) else event.data
        return whole


def test_an_ordinary_recording() -> None:
    """Opened, output, artifacts, closed: in this order, with sizes that fit."""
    one = Recording()
    one.recorder.feed("stdout", b"hello\n")
    one.recorder.feed("stderr", b"oops\n")
    one.recorder.feed("stdout", b"world\n")
    closed = one.recorder.close()
    assert one.events == [
        TerminalOpened(terminal="harness", kind="pipes"),
        TerminalOutput(terminal="harness", stream="stdout", offset=0, data="hello\nworld\n"),
        TerminalOutput(terminal="harness", stream="stderr", offset=0, data="oops\n"),
        ArtifactStored(name="stdout", blob="sha256:12", size=12, media="application/octet-stream"),
        ArtifactStored(name="stderr", blob="sha256:5", size=5, media="application/octet-stream"),
        TerminalClosed(terminal="harness", stdout_bytes=12, stderr_bytes=5, recorded_bytes=17),
    ]
    assert one.events[-1] == closed


def test_a_terminal_has_a_size_and_silence_has_no_artifact() -> None:
    """A program that prints nothing must not cost two syncs of nothing."""
    one = Recording(size=(100, 30))
    one.recorder.close()
    assert one.events == [
        TerminalOpened(terminal="harness", kind="pty", cols=100, rows=30),
        TerminalClosed(terminal="harness", stdout_bytes=0, stderr_bytes=0, recorded_bytes=0),
    ]
    assert one.blobs == []


def test_a_split_character_is_text_in_one_event() -> None:
    """A character that straddles two events would be unreadable in both."""
    one = Recording()
    content = b"x" * (EVENT_BYTES - 1) + "☕".encode() + b"y" * EVENT_BYTES
    one.recorder.feed("stdout", content)
    one.recorder.close()
    assert all(isinstance(event.data, str) for event in one.output("stdout"))
    assert one.bytes_of("stdout") == content == bytes(one.blobs[0].content)
    assert len(one.output("stdout")[0].data) == EVENT_BYTES - 1


def test_bytes_that_are_no_text_stay_bytes() -> None:
    """What was printed must be restorable, readable or not."""
    one = Recording()
    one.recorder.feed("stdout", b"ok \xff\xfe \xf0\x9f\x98")
    one.recorder.close()
    assert [event.data for event in one.output("stdout")] == [b"ok \xff\xfe \xf0\x9f\x98"]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_events_end_at_their_cap_and_artifacts_do_not(stream: str) -> None:
    """A program that prints for hours must fill neither the log nor our memory."""
    one = Recording()
    for _ in range(40):
        one.recorder.feed(stream, "é".encode() * 32768)
        assert sum(len(each.waiting) for each in one.recorder._streams.values()) <= EVENT_BYTES + 65536
    one.recorder.feed("stdout" if stream == "stderr" else "stderr", b"late")
    closed = one.recorder.close()
    assert closed.recorded_bytes == RECORDED_BYTES
    assert len(one.bytes_of(stream)) == RECORDED_BYTES
    assert max(len(event.data.encode()) for event in one.output(stream)) <= EVENT_BYTES
    assert len(one.blobs[0].content) == 40 * 65536
    assert bytes(one.blobs[1].content) == b"late"
    assert (closed.stdout_bytes + closed.stderr_bytes) == 40 * 65536 + 4


def test_what_waits_is_handed_over_within_a_moment() -> None:
    """Whoever follows a run sees a prompt that has no newline while the program waits."""

    async def go() -> None:
        one = Recording()
        one.recorder.feed("stdout", "password: ☕".encode()[:-1])
        assert one.output("stdout") == []
        await asyncio.sleep(0.25)
        assert [event.data for event in one.output("stdout")] == ["password: "]
        one.recorder.feed("stdout", "☕".encode()[-1:])
        await asyncio.sleep(0.25)
        assert [event.data for event in one.output("stdout")] == ["password: ", "☕"]
        one.recorder.close()
        await asyncio.sleep(0.15)
        assert len(one.output("stdout")) == 2

    asyncio.run(go())


def test_many_small_writes_become_few_events() -> None:
    """An event a byte would make the log a hundred times the output."""

    async def go() -> None:
        one = Recording()
        for number in range(300):
            one.recorder.feed("stdout" if number % 2 else "stderr", b".")
            await asyncio.sleep(0.001)
        one.recorder.close()
        assert len(one.bytes_of("stdout")) == len(one.bytes_of("stderr")) == 150
        assert len(one.output("stdout")) + len(one.output("stderr")) <= 20

    asyncio.run(go())


def test_what_is_given_up_leaves_no_blob() -> None:
    """A trial that breaks must not leave half an artifact behind, nor a timer that fires later."""

    async def go() -> None:
        one = Recording()
        one.recorder.feed("stdout", b"x")
        one.recorder.abort()
        one.recorder.abort()
        assert [blob.state for blob in one.blobs] == ["forgotten"]
        await asyncio.sleep(0.15)
        assert one.output("stdout") == []

    asyncio.run(go())


def test_a_full_disk_is_told() -> None:
    """An artifact that cannot be written must not be taken for one that was."""

    class Full(Blob):
        def write(self, data: bytes, /) -> None:
            raise OSError(28, "No space left on device")

    recorder = TerminalRecorder(lambda _: None, Full)
    with pytest.raises(OSError, match="No space left"):
        recorder.feed("stdout", b"x")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=40) | st.text().map(str.encode))
    )
)
def test_no_byte_is_lost_or_changed(chunks: list[tuple[str, bytes]]) -> None:
    """Whatever falls where: the events of a stream, and its artifact, are its bytes in order."""
    one = Recording()
    for stream, chunk in chunks:
        one.recorder.feed(stream, chunk)
    one.recorder.close()
    for stream in ("stdout", "stderr"):
        expected = b"".join(chunk for name, chunk in chunks if name == stream)
        assert one.bytes_of(stream) == expected
    stored = [event.name for event in one.events if isinstance(event, ArtifactStored)]
    assert set(stored) == {stream for stream, _ in chunks}
