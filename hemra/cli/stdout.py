"""The process's stdout, whose errors say that it was stdout: a full disk behind `>` is not the store's."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from hemra.errors import HemraError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class StdoutFailed(HemraError, OSError):
    """What was to be printed could not be written."""


class _Raw(io.FileIO):
    """The descriptor. A reader that went away (BrokenPipeError) is no failure, and is told as it is."""

    def write(self, content: ReadableBuffer, /) -> int:
        try:
            return super().write(content)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StdoutFailed(f"cannot write to stdout: {error.strerror}") from error


def name_its_errors() -> None:
    """Put a stream of the same kind in the place of sys.stdout, unless another has been put there already."""
    stream = sys.stdout
    if stream is not sys.__stdout__ or not isinstance(stream, io.TextIOWrapper):
        return
    unbuffered = isinstance(stream.buffer, io.RawIOBase)
    try:
        stream.flush()
        raw = _Raw(stream.fileno(), "w", closefd=False)
    except OSError:
        return  # closed, or no descriptor behind it: the first write says so
    sys.stdout = io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw),  # type: ignore[arg-type, unused-ignore]
        encoding=stream.encoding, errors=stream.errors, line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )  # fmt: skip
