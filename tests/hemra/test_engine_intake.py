"""What a harness prints: read as it came, recorded and kept without secrets."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from eventlog.blobs import BlobStore
from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import ArtifactStored, MessageRecorded, TerminalClosed, TerminalOutput
from hemra.engine.intake import Intake
from hemra.secrets import Redactor

KEY = "sk-test-0123456789abcdef"


class Log:
    """Keeps what is emitted, cleaned as the real one does."""

    def __init__(self, secrets: dict[str, str]) -> None:
        self.redactor = Redactor(secrets)
        self.events: list[EventData] = []

    def emit(self, data: EventData) -> None:
        """Keep it."""
        self.events.append(self.redactor.clean_struct(data))

    def lost(self, error: Exception) -> Exception:
        """The disk refused."""
        return RuntimeError(f"lost: {error}")

    def text(self, stream: str) -> bytes:
        """All recorded bytes of a stream; offsets must be dense."""
        out = b""
        for event in self.events:
            if isinstance(event, TerminalOutput) and event.stream == stream:
                assert event.offset == len(out)
                out += event.data.encode() if isinstance(event.data, str) else event.data
        return out

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of one type."""
        return [event for event in self.events if isinstance(event, kind)]


class Interpreter:
    """Remembers what it was fed and says it all as one message at the end."""

    ended = False

    def __init__(self) -> None:
        self.fed: list[bytes] = []

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """Remember."""
        self.fed.append(chunk)
        return []

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], str]:
        """Everything."""
        text = b"".join(self.fed).decode("utf-8", "surrogateescape")
        return [MessageRecorded(role="assistant", text=text, final=True)], "said"


def take(
    tmp_path: Path, chunks: list[tuple[str, bytes]], **secrets: str
) -> tuple[Log, Interpreter, dict[str, bytes]]:
    """What `chunks` leave behind: the log, the interpreter, the artifacts."""
    log, interpreter, blobs = Log(secrets), Interpreter(), BlobStore(tmp_path)

    async def feed() -> None:
        intake = Intake(log, interpreter, blobs)  # type: ignore[arg-type]
        intake.open()
        for stream, chunk in chunks:
            await intake.output(stream, chunk)
        assert intake.conclude(0, None) == "said"
        await asyncio.to_thread(intake.store)
        intake.abandon()

    asyncio.run(feed())
    return log, interpreter, {event.name: blobs.get(event.blob) for event in log.of(ArtifactStored)}


def test_secrets_reach_neither_log_nor_artifact(tmp_path: Path) -> None:
    """A key that a harness prints in two halves would be published."""
    chunks = [("stdout", b"key=" + KEY[:7].encode()), ("stderr", b"x"), ("stdout", KEY[7:].encode() + b"!")]
    log, interpreter, artifacts = take(tmp_path, chunks, FAKE_KEY=KEY)
    assert log.text("stdout") == b"key=[redacted:FAKE_KEY]!"
    assert artifacts == {"stdout": b"key=[redacted:FAKE_KEY]!", "stderr": b"x"}
    [message] = log.of(MessageRecorded)
    assert KEY not in message.text
    # The interpreter reads what was really printed: cleaned first, a numeric key would break its JSON.
    assert b"".join(interpreter.fed) == f"key={KEY[:7]}x{KEY[7:]}!".encode()


@pytest.mark.parametrize("data", ["café ☕ 😀 end".encode(), b"ok \xff\xfe bad", b"a\x00b", b"\xf0\x9f"])
def test_bytes_are_kept_exactly(tmp_path: Path, data: bytes) -> None:
    """Output that is split inside a character, or is no text at all, would be lost or changed."""
    chunks = [("stdout", data[i : i + 1]) for i in range(len(data))]
    log, _, artifacts = take(tmp_path, chunks, FAKE_KEY=KEY)
    assert log.text("stdout") == data
    assert artifacts == {"stdout": data}
    [closed] = log.of(TerminalClosed)
    assert (closed.stdout_bytes, closed.stderr_bytes, closed.recorded_bytes) == (len(data), 0, len(data))


def test_a_beginning_of_a_secret_that_never_comes_is_kept(tmp_path: Path) -> None:
    """The last bytes of an output that look like the start of a key would be lost."""
    log, _, artifacts = take(tmp_path, [("stdout", b"it was sk-test-0123")], FAKE_KEY=KEY)
    assert log.text("stdout") == artifacts["stdout"] == b"it was sk-test-0123"


def test_a_full_disk_is_told_as_a_lost_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills while output is kept would look like a fault of the harness."""

    def refuse(self: object) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(BlobStore, "writer", refuse)
    with pytest.raises(RuntimeError, match=r"lost: .*No space left"):
        take(tmp_path, [("stdout", b"x")])
