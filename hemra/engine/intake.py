"""Takes in what a harness prints: recorded as terminal and artifacts, read as conversation. What it is told by an
interpreter that talks is recorded beside it.

The interpreter gets the bytes as they came, so that its JSON stays JSON; secrets are removed from every
event that it makes. What is recorded and kept as bytes is cleaned as a stream, across chunk borders.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from eventlog.schemas.conversation import NoteRecorded
from hemra.engine.context import TrialLog
from hemra.engine.speech import speech_of
from hemra.recording.terminal import TerminalRecorder

if TYPE_CHECKING:
    from eventlog.blobs import BlobStore
    from eventlog.schemas.base import EventData
    from harnesses.base import Conclusion, Interpreter


class Intake:
    """What one harness process prints, on its way into the record; `hear` is called with every event that it
    tells, and only those that are `wanted` are recorded. `size`: columns and rows of a pty."""

    def __init__(
        self,
        log: TrialLog,
        interpreter: Interpreter,
        blobs: BlobStore,
        size: tuple[int, int] | None = None,
        *,
        hear: Callable[[EventData], None] | None = None,
        wanted: Callable[[EventData], bool] | None = None,
    ) -> None:
        self._log = log
        self._interpreter = interpreter
        self._recorder = TerminalRecorder(log.emit, blobs.writer, size=size)
        self._cleaners = {name: log.redactor.stream() for name in ("stdout", "stderr", "stdin")}
        self.speech = speech_of(interpreter, lambda said: self._record("stdin", said))
        self._open = False
        self._hear = hear
        self._wanted = wanted

    def _emit(self, event: EventData) -> None:
        if self._wanted is not None and not self._wanted(event):
            return
        if self._hear is not None:
            self._hear(event)
        self._log.emit(event)

    def open(self) -> None:
        """The harness was started; the recording begins."""
        self._open = True
        self._recorder.open()
        if self.speech is not None:
            self.speech.begin()

    def ended(self) -> bool:
        """Whether the harness has said that it is done."""
        return self._interpreter.ended

    async def output(self, stream: str, chunk: bytes) -> None:
        """A chunk arrived on `stdout` or `stderr`. Raises LogLost."""
        self._record(stream, chunk)
        for event in self._interpreter.feed(stream, chunk):
            self._emit(event)
        if self.speech is not None:
            await self.speech.heard()

    def conclude(self, exit_code: int | None, exit_signal: int | None) -> Conclusion:
        """The process is gone: record what was held back; what its words add up to. Raises LogLost."""
        for stream, cleaner in self._cleaners.items():
            self._keep(stream, cleaner.flush())
        self._tell_redacted()
        # What can be handed over is, so that `store` may run in a thread beside the recorder's timer.
        self._recorder.flush()
        events, conclusion = self._interpreter.finish(exit_code, exit_signal)
        for event in events:
            self._emit(event)
        return conclusion

    def _tell_redacted(self) -> None:
        counts = {
            stream: dict(cleaner.counts) for stream, cleaner in self._cleaners.items() if cleaner.counts
        }
        if counts:
            total = sum(cleaner.counts.total() for cleaner in self._cleaners.values())
            text = f"credentials were taken out of what the harness printed or was told, in {total} places"
            self._log.emit(
                NoteRecorded(level="warning", code="credentials_redacted", text=text, details=counts)
            )

    def _record(self, stream: str, chunk: bytes) -> None:
        self._keep(stream, self._cleaners[stream].feed(chunk))

    def _keep(self, stream: str, clean: bytes) -> None:
        if not clean:
            return
        try:
            self._recorder.feed(stream, clean)
        except OSError as error:
            raise self._log.lost(error) from error

    def store(self) -> None:
        """Keep all output and end the recording (blocking); OSError when the disk refuses."""
        if self._open:
            self._recorder.close()

    def abandon(self) -> None:
        """Forget what was not stored."""
        self._recorder.abort()
