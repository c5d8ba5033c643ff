"""A real recorder on a disk that fails when a file says so: `python -m tests.faults.faulty_recorder CONTROL ARGS…`.

CONTROL holds calls that are to fail, each with its error (say, `fdatasync EIO`), and is absent otherwise; ARGS are the
recorder's own.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

from eventlog import recorder

CALLS = ("fdatasync", "fsync", "write", "pwrite", "open", "replace")


def main(control: Path, arguments: list[str]) -> int:
    """Run the recorder."""
    real_open = os.open

    def failing(name: str, call: Any) -> Any:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            try:
                fd = real_open(control, os.O_RDONLY)
            except FileNotFoundError:
                return call(*args, **kwargs)
            wanted = os.read(fd, 100).decode().split()
            os.close(fd)
            if name in wanted:
                number = getattr(errno, wanted[wanted.index(name) + 1])
                raise OSError(number, os.strerror(number))
            return call(*args, **kwargs)

        return wrapped

    for name in CALLS:
        setattr(os, name, failing(name, getattr(os, name)))
    return recorder.main(arguments)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
