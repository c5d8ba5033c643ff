"""Where a bundle is written: a file that appears when it is whole, or what can only be written into."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from eventlog.disk import replacing
from eventlog.errors import BundleError


def place_of(out: Path) -> Path | None:
    """The regular file that `out` is, will be, or leads to; None for a FIFO, a device, or whatever else is there."""
    with _naming(out):
        try:
            kind = out.stat().st_mode
        except FileNotFoundError:
            kind = stat.S_IFREG
        return Path(os.path.realpath(out)) if stat.S_ISREG(kind) else None


@contextlib.contextmanager
def writing(out: Path, place: Path | None) -> Iterator[BinaryIO]:
    """`out`, whose regular file is `place`, for writing. What is no regular file is written into and never replaced.

    A new file has the mode that the umask leaves, one that is replaced keeps its own. Raises BundleError.
    """
    with _naming(out):
        if place is None:
            with out.open("wb") as file:
                yield file
            return
        with replacing(place, mode=0o666) as file:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(place.stat().st_mode))
            yield file


@contextlib.contextmanager
def _naming(out: Path) -> Iterator[None]:
    """What the disk or the reader refuses is an error that says what was to be written."""
    try:
        yield
    except BrokenPipeError:
        raise BundleError(
            f"{out} was closed before the whole bundle was written: what its reader has is no bundle"
        ) from None
    except OSError as error:
        raise BundleError(f"cannot write {out}: {error.strerror or error}") from error
